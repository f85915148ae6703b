"""A value that a program would take for an option that runs code is refused; others pass."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tongs.template import shell, words
from tongs.template.values import Slot, ValueRefused

SLOTS = {
    "A": Slot("A"),
    "N": Slot("N", "integer"),
    "E": Slot("E", closed=True),
}

GUARDED = [
    "ssh {A} uptime",
    "ssh -v {A}",
    "ssh -p 22 '{A}'",
    'ssh -o{N} "{A}x"',
    "X=1 ssh {A}",
    "sudo -u me ssh {A}",
    "xargs -n1 ssh {A}",
    "/usr/bin/ssh {A}",
    "python3.11 {A}",
    "git clone {A}",
    "git log {A}",
    "tar xf x.tar {A}",
    "sed -n 1p x {A}",
    "find {A} -name x",
    "curl -s {A}",
    "curl -s {URL:A}",
    "echo $(ssh {A})",
    "wget -q '{A}'",
]
FREE = [
    "ssh -- {A}",
    "ssh -p {A} host",
    "echo {A}",
    "grep {A} x",
    "git commit -m {A}",
    "git commit --message {A}",
    "git log -- {A}",
    "python3 x.py {A}",
    "tar xf {A}",
    "find . -name {A}",
    "curl -s https://x/{A}",
    "curl --data {A} https://x",
    "curl -d {A} https://x",
    "ssh {E}",
    "ssh {N}",
    "bash x.sh {A} {A}",
    "awk -v x={A} 1 y",
]


@pytest.mark.parametrize("text", GUARDED)
def test_value_like_an_option_is_refused_where_options_run_code(text: str) -> None:
    template = shell.compile(text, SLOTS)

    template.render({"A": "host", "N": 1})
    with pytest.raises(ValueRefused, match="may not begin with `-`"):
        template.render({"A": "-oProxyCommand=x", "N": 1})


@pytest.mark.parametrize("text", FREE)
def test_value_like_an_option_passes_elsewhere(text: str) -> None:
    shell.compile(text, SLOTS).render({"A": "-x", "N": -1, "E": "-x"})


def test_same_holds_without_a_shell() -> None:
    template = words.compile("ssh {A} uptime", SLOTS)

    assert template.render({"A": "host"}) == ["ssh", "host", "uptime"]
    with pytest.raises(ValueRefused):
        template.render({"A": "-oProxyCommand=x"})
    assert words.compile("ssh -- {A}", SLOTS).render({"A": "-x"}) == ["ssh", "--", "-x"]
    assert words.compile("git commit -m '{A} {A}'", SLOTS).render({"A": "-"})[-1] == "- -"


@pytest.mark.parametrize(
    ("command", "value"),
    [
        (["python3"], "-cimport os; os.mkdir('canary')"),
        (["sed", "-n", "1p", "/etc/hostname"], "--expression=1e mkdir canary"),
        (
            ["tar", "cf", "/dev/null", "--checkpoint=1", "file"],
            "--checkpoint-action=exec=mkdir canary",
        ),
        (["curl", "-s"], "-ocanary"),
    ],
)
def test_control_such_an_option_does_what_its_value_says(
    tmp_path: Path, command: list[str], value: str
) -> None:
    (tmp_path / "file").write_text("x")

    target = ["file:///etc/hostname"] if command[0] == "curl" else []
    subprocess.run([*command, value, *target], cwd=tmp_path, capture_output=True, check=False)

    assert (tmp_path / "canary").exists()
