"""What `tongs tool new` writes, and which wishes do not go together."""

from __future__ import annotations

import re

import pytest

from tongs.authoring.scaffold import KINDS, LANGUAGES, Wanted, scaffold
from tongs.core.errors import ErrorCode, ToolError

EVERYTHING = [
    *(Wanted("my-tool", "yaml", None, language) for language in ("bash", "python")),
    *(Wanted("my-tool", "executable", None, language) for language in LANGUAGES),
    *(Wanted("my-tool", "manifest", "command", language) for language in LANGUAGES),
    *(
        Wanted("my-tool", "manifest", kind, local=local)
        for kind in KINDS
        for local in (True, False)
    ),
]


@pytest.mark.parametrize("wanted", EVERYTHING)
def test_nothing_stands_for_something_else_in_what_is_written(wanted: Wanted) -> None:
    for file in scaffold(wanted).files:
        assert not re.search(r"@[A-Z]+@", file.text), file.path
        assert max(map(len, file.text.splitlines())) <= 100
        assert file.text.endswith("\n")


@pytest.mark.parametrize(
    ("wanted", "paths"),
    [
        (Wanted("t"), ["t.yaml"]),
        (Wanted("t", language="node"), ["t"]),
        (Wanted("t", "executable"), ["t"]),
        (Wanted("t", "manifest"), ["t/tool.yml", "t/count.sh"]),
        (Wanted("t", kind="http"), ["t/tool.yml"]),
        (Wanted("t", kind="python"), ["t/tool.yml", "tools/t.py"]),
        (Wanted("3.t-x", kind="python", local=False), ["3.t-x/tool.yml", "3.t-x/_3_t_x.py"]),
    ],
)
def test_each_wish_has_its_files(wanted: Wanted, paths: list[str]) -> None:
    assert [file.path for file in scaffold(wanted).files] == paths


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted("t", "yaml", "http"),
        Wanted("t", "executable", "command"),
        Wanted("t", "yaml", None, "node"),
        Wanted("t", "manifest", "http", "bash"),
        Wanted("t", "manifest", "python", "node"),
    ],
)
def test_wishes_that_do_not_go_together_are_refused(wanted: Wanted) -> None:
    with pytest.raises(ToolError) as refused:
        scaffold(wanted)

    assert refused.value.code is ErrorCode.INVALID_ARGUMENTS
    assert refused.value.hint
