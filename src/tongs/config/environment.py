"""The environment: what Tongs itself was started with, and what a tool's process gets of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_KEPT = ("PATH", "HOME", "USER", "LANG", "TZ")

# Names that make a program load, run or trust something else. A value of theirs never comes from a
# model; the author of a tool may write one down.
_CODE_PREFIXES = (
    "LD_",
    "DYLD_",
    "PYTHON",
    "GIT_",
    "BASH_FUNC_",
    "PERL5",
    "RUBY",
    "JAVA_",
    "NPM_CONFIG_",
    "PIP_",
    "TONGS_",
)
_CODE_NAMES = frozenset(
    {
        "_JAVA_OPTIONS",
        "BASH_ENV",
        "BASHOPTS",
        "BROWSER",
        "CDPATH",
        "EDITOR",
        "ENV",
        "GCONV_PATH",
        "GLIBC_TUNABLES",
        "IFS",
        "JDK_JAVA_OPTIONS",
        "LESSCLOSE",
        "LESSOPEN",
        "LOCPATH",
        "LUA_INIT",
        "NLSPATH",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PAGER",
        "PATH",
        "PERLLIB",
        "PROMPT_COMMAND",
        "PS4",
        "SHELLOPTS",
        "SSH_ASKPASS",
        "SUDO_ASKPASS",
        "VISUAL",
        "ZDOTDIR",
    }
)


def host_environment() -> dict[str, str]:
    """A copy of the environment Tongs was started with, its PATH without relative folders.

    These are others in each project, and whoever wrote it could have put a `bash` there.
    """
    found = dict(os.environ)
    if "PATH" in found:
        folders = filter(os.path.isabs, found["PATH"].split(os.pathsep))
        found["PATH"] = os.pathsep.join(folders) or os.defpath
    return found


@contextmanager
def temporarily(variables: Mapping[str, str]) -> Iterator[None]:
    """The environment of this process with other values for a moment: for opening a runtime in a
    test. Other threads see them, too."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def without(prefixes: tuple[str, ...]) -> Iterator[None]:
    """The environment of this process without some variables for a moment: what is imported or made
    meanwhile cannot read them. Other threads do not see them either."""
    taken = {name: value for name, value in os.environ.items() if name.startswith(prefixes)}
    for name in taken:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        os.environ.update(taken)


def uses_native(env: Mapping[str, str]) -> bool:
    """Whether the compiled fork server may start processes; the one in Python does the same."""
    return env.get("TONGS_NATIVE") != "0"


def base_environment(env: Mapping[str, str], scratch: str) -> dict[str, str]:
    """What every tool's process gets, and nothing else; TMPDIR is the call's own scratch."""
    kept = {name: env[name] for name in _KEPT if name in env}
    kept |= {name: value for name, value in env.items() if name.startswith("LC_")}
    kept.setdefault("PATH", os.defpath)
    kept["TMPDIR"] = scratch
    return kept


def forbidden_from_model(name: str) -> bool:
    """Whether a variable of this name could turn a model's text into code."""
    upper = name.upper()
    return upper in _CODE_NAMES or upper.startswith(_CODE_PREFIXES)


def columns(env: Mapping[str, str]) -> int | None:
    """The width a person asked for with COLUMNS."""
    written = env.get("COLUMNS", "")
    width = int(written) if written.isascii() and written.isdigit() and len(written) < 6 else 0
    return width or None


def editor(env: Mapping[str, str]) -> str | None:
    """The person's editor, as a command."""
    return env.get("VISUAL") or env.get("EDITOR") or None
