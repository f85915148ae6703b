"""What a tool needs to be installed (`requires`): looked for before its first run.

    jq               a program on the tool's PATH
    git>=2.30        one whose `--version` names at least this number
    python:pandas    a package of the Python that the tool would use; a version may follow, too

A version is asked for in the sandbox, without any permission: `--version` of a program that a
stranger named is still a program that runs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Command, Completed, Event, Policy, Sandbox, Session, Waiter, World
from tongs.core.permissions import Limits, Permissions
from tongs.core.record import dataclass
from tongs.output import decoded

if TYPE_CHECKING:
    from tongs.core.tool import Tool

# Seconds for one `--version`, and what it may use.
PATIENCE = 5.0
LIMITS = Limits(memory=1024**3, processes=64, file_size=1024**2, output=64 * 1024)

# As in the schemas.
_WRITTEN = re.compile(
    r"(?P<python>python:)?(?P<name>[A-Za-z0-9_][A-Za-z0-9_.+-]*)"
    r"(?: *(?P<operator>>=|==|>|<=|<) *(?P<version>[0-9][0-9A-Za-z.+-]*))?"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_COMPARED: Mapping[str, Callable[[list[int], list[int]], bool]] = {
    ">=": lambda found, wanted: found >= wanted,
    "==": lambda found, wanted: found == wanted,
    ">": lambda found, wanted: found > wanted,
    "<=": lambda found, wanted: found <= wanted,
    "<": lambda found, wanted: found < wanted,
}

# Nothing of the package is imported: that would run it.
_ASK_PYTHON = """
import importlib.metadata as metadata, importlib.util, json, sys
name = sys.argv[1]
module = name.replace("-", "_").partition(".")[0]
version = None
try:
    version = metadata.version(name)
except metadata.PackageNotFoundError:
    try:
        known = importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        known = False
    owners = getattr(metadata, "packages_distributions", dict)().get(module) if known else None
    version = metadata.version(owners[0]) if owners else "" if known else None
print(json.dumps(version))
"""

# Packages that are not called like their program.
_PACKAGES = {"rg": "ripgrep", "node": "nodejs", "convert": "imagemagick", "magick": "imagemagick"}
_INSTALLERS = (
    ("apt", "apt install"),
    ("dnf", "dnf install"),
    ("apk", "apk add"),
    ("pacman", "pacman -S"),
    ("brew", "brew install"),
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One entry of `requires`, read."""

    text: str
    name: str
    is_package: bool
    operator: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Lack:
    """A requirement that is not met: what was found instead, and what to type."""

    requirement: str
    found: str
    hint: str

    def __str__(self) -> str:
        return f"{self.requirement} ({self.found})"


def parsed(text: str) -> Requirement:
    """Raises ValueError for what the schemas would refuse."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is no requirement, such as jq, git>=2.30 or python:pandas")
    return Requirement(
        text,
        match["name"],
        match["python"] is not None,
        match["operator"] or "",
        match["version"] or "",
    )


def absent(tool: Tool, world: World) -> list[Lack]:
    """The programs that are nowhere on the PATH. Starts nothing, so no version is looked at."""
    wanted = [parsed(text) for text in tool.requires]
    return [
        _nowhere(each, world)
        for each in wanted
        if not each.is_package and program(each.name, world) is None
    ]


def program(name: str, world: World) -> str | None:
    """Where a program lies, as the tool itself would find it."""
    configured = world.interpreters.get(name)
    if configured and os.sep in configured:
        return configured if os.access(configured, os.X_OK) else None
    name = configured or name
    for folder in world.environment.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if folder and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


class Requirements:
    """Looks once per process at what a definition requires, and again where it was not met."""

    def __init__(self, sandbox: Sandbox, world: World) -> None:
        self._sandbox = sandbox
        self._world = world
        self._met: set[tuple[str, tuple[str, ...]]] = set()

    async def check(self, tool: Tool, waiter: Waiter) -> None:
        """Raise ToolError naming everything that is missing."""
        key = (tool.origin.digest, tool.requires)
        if not tool.requires or key in self._met:
            return
        if lacks := await self.missing(tool, waiter):
            raise _refusal(tool, lacks)
        self._met.add(key)

    async def missing(self, tool: Tool, waiter: Waiter) -> list[Lack]:
        """Everything that is required and not there."""
        lacks = absent(tool, self._world)
        known = {lack.requirement for lack in lacks}
        wanted = [parsed(text) for text in tool.requires if text not in known]
        asked = [each for each in wanted if each.is_package or each.operator]
        if not asked:
            return lacks
        python = _python(tool, self._world)
        session = self._sandbox.open(_policy(tool), waiter)
        try:
            for each in asked:
                lacks += [found] if (found := await self._ask(each, python, session)) else []
        finally:
            session.close()
        order = {text: number for number, text in enumerate(tool.requires)}
        return sorted(lacks, key=lambda lack: order[lack.requirement])

    async def _ask(self, wanted: Requirement, python: str | None, session: Session) -> Lack | None:
        if not wanted.is_package:
            path = program(wanted.name, self._world)
            said = await self._run((path or wanted.name, "--version"), session)
            return self._compared(wanted, _first_number(said), "")
        if python is None:
            hint = _install("python3", self._world)
            return Lack(wanted.text, "there is no Python on the PATH", hint)
        said = await self._run((python, "-c", _ASK_PYTHON, wanted.name), session)
        hint = f"{python} -m pip install '{wanted.name}{wanted.operator}{wanted.version}'"
        version = _answer(said)
        if version is None:
            return Lack(wanted.text, f"not installed for {python}", hint)
        return self._compared(wanted, version, hint) if wanted.operator else None

    async def _run(self, argv: tuple[str, ...], session: Session) -> Completed | None:
        environment = {**self._world.environment, "TMPDIR": session.scratch}
        command = Command(argv, environment, "/", timeout=PATIENCE)
        try:
            return await session.run(command, _ignore)
        except ToolError as error:
            if error.code is not ErrorCode.EXECUTION_ERROR:
                raise
            return None  # it cannot be started there

    def _compared(self, wanted: Requirement, found: str, hint: str) -> Lack | None:
        hint = hint or _install(wanted.name, self._world)
        if not found:
            return Lack(wanted.text, "its version could not be told", hint)
        if _holds(found, wanted):
            return None
        return Lack(wanted.text, f"{found} is installed", hint)


def _refusal(tool: Tool, lacks: Sequence[Lack]) -> ToolError:
    return ToolError(
        ErrorCode.UNSUPPORTED_PLATFORM,
        f"{tool.name} was not run: it requires {', '.join(map(str, lacks))}",
        details={
            "missing": [
                {"requirement": lack.requirement, "found": lack.found, "hint": lack.hint}
                for lack in lacks
            ]
        },
        hint=_together(lacks),
    )


def _together(lacks: Sequence[Lack]) -> str:
    """The hints with one line for each installer: they differ in their last word."""
    lines: dict[str, list[str]] = {}
    for lack in lacks:
        line, _, package = lack.hint.rpartition(" ")
        lines.setdefault(line, []).append(package)
    return "; ".join(f"{line} {' '.join(dict.fromkeys(names))}" for line, names in lines.items())


def _policy(tool: Tool) -> Policy:
    """Nothing but the interpreter that answers for its packages, where it lies with the project."""
    call_id = f"requires-{tool.origin.digest[:12]}"
    return Policy(Permissions(), LIMITS, "/", call_id, programs=tool.programs)


def _python(tool: Tool, world: World) -> str | None:
    """The interpreter that the tool would use."""
    venv = getattr(tool.plan, "venv", None)
    if venv is not None:
        inside = os.path.join(venv, "bin", "python")
        return inside if os.access(inside, os.X_OK) else None
    if "python" in world.interpreters:
        return program("python", world)
    return program("python3", world) or program("python", world)


def _first_number(said: Completed | None) -> str:
    """The version a program names: the first number of its answer; empty where it has none."""
    if said is None or said.timed_out:
        return ""
    for text in (decoded(said.stdout), decoded(said.stderr)):
        if (match := _NUMBER.search(text)) is not None:
            return match[0]
    return ""


def _answer(said: Completed | None) -> str | None:
    if said is None or said.exit_code != 0:
        return None
    try:
        version = json.loads(said.stdout)
    except ValueError:
        return None
    return version if isinstance(version, str) else None


def _holds(found: str, wanted: Requirement) -> bool:
    ours, theirs = _numbers(found), _numbers(wanted.version)
    size = max(len(ours), len(theirs))
    padded = [numbers + [0] * (size - len(numbers)) for numbers in (ours, theirs)]
    return _COMPARED[wanted.operator](*padded)


def _numbers(version: str) -> list[int]:
    match = _NUMBER.search(version)
    return [int(part[:9]) for part in match[0].split(".")] if match else []


def _nowhere(wanted: Requirement, world: World) -> Lack:
    return Lack(wanted.text, "not on the PATH", _install(wanted.name, world))


def _install(name: str, world: World) -> str:
    """The line that usually helps here."""
    package = _PACKAGES.get(name, name)
    for installer, line in _INSTALLERS:
        if program(installer, world) is not None:
            return f"{line} {package}"
    return f"put on the PATH: {package}"


def _ignore(event: Event) -> None:
    """Nobody watches this."""
