"""Fetch the JSON Schema Test Suite, which the source archive of the package `jsonschema` carries.

    python tools/schema_suite.py FOLDER

pip finds the archive in the machine's own index; uv.lock says which version and holds its hash, so
an archive that is another one is refused. Of its content only the cases of draft 2020-12, the
documents they refer to and the suite's licence are kept.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path, PurePosixPath

LOCK = Path(__file__).resolve().parent.parent / "uv.lock"
PACKAGE = "jsonschema"
KEPT = ("tests/draft2020-12", "remotes", "LICENSE")


def requirement(lock: str) -> str:
    """The locked version of the package, with the hash of its source archive alone."""
    packages = tomllib.loads(lock)["package"]
    package = next(each for each in packages if each["name"] == PACKAGE)
    return f"{PACKAGE}=={package['version']} --hash={package['sdist']['hash']}\n"


def fetched(folder: Path) -> Path:
    """The source archive, below `folder`."""
    wanted = folder / "requirements.txt"
    wanted.write_text(requirement(LOCK.read_text(encoding="utf-8")), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "-q"]
    options = ["--no-deps", "--no-binary", PACKAGE, "--require-hashes", "-r", str(wanted)]
    subprocess.run([*pip, "download", *options, "-d", str(folder)], check=True)
    return next(folder.glob("*.tar.gz"))


def unpack(archive: Path, into: Path) -> None:
    """Write the kept files of `archive` below `into`, without the folders above them."""
    with tarfile.open(archive) as files:
        for member in files:
            name = str(PurePosixPath(*PurePosixPath(member.name).parts[2:]))
            inside = PurePosixPath(member.name).parts[1:2] == ("json",)
            if inside and any(name == kept or name.startswith(f"{kept}/") for kept in KEPT):
                files.extract(member.replace(name=name, deep=False), into, filter="data")


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    target = Path(arguments[0])
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        suite = Path(scratch, "suite")
        unpack(fetched(Path(scratch)), suite)
        shutil.rmtree(target, ignore_errors=True)
        suite.rename(target)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
