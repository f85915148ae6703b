"""A rule that allows `ls` allows nothing else: what bash really runs is never covered."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.unit.policy.commands import AGENT, SHELL, place

from tongs.core.call import ToolCall
from tongs.core.execution import Place
from tongs.policy.configured import compile_rule
from tongs.policy.looking import Look


@pytest.fixture
def at(tmp_path: Path) -> Place:
    return place(tmp_path)


def allows(at: Place, command: str, *patterns: str) -> bool:
    rule = compile_rule({"when": {"command": list(patterns)}, "decision": "allow"}, look=Look(at))
    return rule.check(ToolCall("1", "shell", {"command": command}, AGENT), SHELL) is not None


def run(at: Place, command: str) -> str:
    done = subprocess.run(
        [str(shutil.which("bash")), "-c", command],
        cwd=at.cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return done.stdout + done.stderr


EVALUATIONS = [
    "x='a[$(echo EVAL >&2)]'; z=${b[x]}; ls",
    "x='a[$(echo EVAL >&2)]'; z=${b[$x]}; ls",
    "x='a[$(echo EVAL >&2)]'; y=x; z=${b[y]}; ls",
    "x=('a[$(echo EVAL >&2)]'); z=${b[x]}; ls",
    "x='a[$(echo EVAL >&2)]'; y=abc; z=${y:0:x}; ls",
    "x='a[$(echo EVAL >&2)]'; y=abc; z=${y:x}; ls",
    "x='a[$(echo EVAL >&2)]'; set -- a b; z=${@:x}; ls",
    "x='a[$(echo EVAL >&2)]'; y=(a b); z=${y[@]:x}; ls",
    "x='a[$(echo EVAL >&2)]'; b=(1); z=${#b[x]}; ls",
    "b=(1); z=${#b[$(echo EVAL >&2)]}; ls",
    "x=y; z=${!x:-$(echo EVAL >&2)}; ls",
    "x='a[$(echo EVAL >&2)]'; declare -i y; y=x; ls",
    "x='a[$(echo EVAL >&2)]'; declare -i y=x; ls",
    "x='a[$(echo EVAL >&2)]'; b[x]=1; ls",
    "x='a[$(echo EVAL >&2)]'; b=([x]=1); ls",
    "x='a[$(echo EVAL >&2)]'; read 'b[x]' <<< 1; ls",
    "x='a[$(echo EVAL >&2)]'; unset 'b[x]'; b=(1); unset 'b[x]'; ls",
    "printf -v 'b[$(echo EVAL >&2)]' 1; ls",
    "mapfile -c 1 -C 'echo EVAL; :' b <<< x; ls",
    "compgen -W '$(echo EVAL >&2)'; ls",
    "compgen -C 'echo EVAL' x; ls",
]
BUILTINS = ("ls", "set", "declare", "read", "unset", "printf", "mapfile", "compgen")


@pytest.mark.parametrize("command", EVALUATIONS)
def test_what_bash_evaluates_on_the_way_is_not_allowed(at: Place, command: str) -> None:
    assert "EVAL" in run(at, command)
    assert not allows(at, command, *BUILTINS)


@pytest.mark.parametrize(
    "command",
    [
        "x=3; b=(1 2 3 4); z=${b[x]}; ls",
        "x=1; y=abc; z=${y:0:x}; z=${y: -1}; z=${y:-d}; ls",
        "declare -i y; y=3+4; ls",
    ],
)
def test_plain_numbers_do_not_stand_in_the_way(at: Place, command: str) -> None:
    assert allows(at, command, *BUILTINS)


CHANGES = [
    "PATH=$PWD/build; ls",
    "PATH=$PWD/build:$PATH && ls",
    "declare -g PATH=$PWD/build; ls",
    "for PATH in $PWD/build; do ls; done",
    "read PATH <<< $PWD/build; ls",
    "printf -v PATH %s $PWD/build; ls",
    "((PATH=5)); ls",
    "unset PATH; : ${PATH:=$PWD/build}; ls",
    "{ PATH=$PWD/build; }; ls",
    "if true; then PATH=$PWD/build; fi; ls",
    "eval 'PATH=$PWD/build'; ls",
]


@pytest.mark.parametrize("command", CHANGES)
def test_program_found_elsewhere_is_not_the_one_allowed(at: Place, command: str) -> None:
    for folder in (Path(at.cwd, "build"), Path(at.cwd, "5")):
        folder.mkdir(exist_ok=True)
        (folder / "ls").write_text(f"#!{shutil.which('sh')}\necho OTHER\n")
        (folder / "ls").chmod(0o755)

    assert "OTHER" in run(at, command)
    assert not allows(at, command, *BUILTINS, ":", "true", "eval")


@pytest.mark.parametrize(
    "command",
    [
        "HOME=/; ls",
        "GIT_DIR=x; ls",
        "LD_PRELOAD=x; ls",
        "http_proxy=x; ls",
        "export small=1; ls",
        "declare -x small=1; ls",
        "set -a; small=1; ls",
        "set -o allexport; small=1; ls",
        "unset HOME; ls",
        "IFS=/; ls",
    ],
)
def test_changed_environment_is_not_allowed(at: Place, command: str) -> None:
    assert not allows(at, command, *BUILTINS, "export")


def test_variable_of_the_script_alone_does_not_stand_in_the_way(at: Place) -> None:
    assert allows(at, "x=1; for f in a b; do ls $f $x; done", "ls")


@pytest.mark.parametrize(
    "command",
    [
        "git -c diff.external='echo EVAL' diff",
        "git -C / status",
        "git --git-dir=x status",
        "git --work-tree / status",
        "git --exec-path=. status",
        "git --config-env=alias.x=Y x",
        "git -p -c alias.x=y x",
        "git grep -O'echo EVAL' x",
        "git grep -nOvim x",
        "git grep --open=vim x",
        "git rebase --exec='echo EVAL' HEAD",
        "git rebase -ix 'echo EVAL' HEAD",
        "git rebase --ex 'echo EVAL' HEAD",
        "git difftool --extcmd='echo EVAL'",
        "git filter-branch --tree-filter 'echo EVAL'",
        "git config alias.x '!echo EVAL'",
        "git clone 'ext::sh -c echo'",
        "git fetch --upload-pack='echo EVAL' x",
        "git clone -u 'echo EVAL' x y",
        "git clone --config a.b=c x",
        "git push --receive-pack=x y",
        "git log --output=x",
        "git diff --outp x",
        "git submodule foreach 'echo EVAL'",
        "git bisect run true",
        "git x",
    ],
)
def test_allowed_git_runs_no_other_program(at: Place, command: str) -> None:
    assert not allows(at, command, "git", "sh", "echo", "true")


@pytest.mark.parametrize(
    "command",
    [
        "git",
        "git status -s",
        "git --no-pager log --oneline -p",
        "git commit -am x",
        "git push -u o b",
    ],
)
def test_allowed_git_does_what_git_does(at: Place, command: str) -> None:
    assert allows(at, command, "git")


def test_what_an_allowance_itself_names_is_allowed(at: Place) -> None:
    assert allows(at, "git -C sub status", "git -C sub")
    assert allows(at, "git config --list", "git config")
    assert not allows(at, "git -C sub log --output=x", "git -C sub log")


def test_settings_of_git_really_run(at: Place) -> None:
    start = "git init -q . && echo a > f && git add f && echo b > f"
    for command in ("git -c diff.external='echo EVAL;:' diff", "git grep -O'echo EVAL' b"):
        assert "EVAL" in run(at, f"{start}; {command}")
