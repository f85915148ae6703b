"""Whatever stands in a config, it is refused with a reason or it is read."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tongs.config.named import SETTINGS, problems_of
from tongs.core.errors import DefinitionInvalid
from tongs.core.tool import Origin
from tongs.formats import yaml
from tongs.formats.yaml_steps import Host
from tongs.schema.document import parse

WORDS = st.sampled_from(
    [
        *(*SETTINGS, "profiles", "auto_deny", "enforcement", "max_permissions", "memory", "t"),
        *("timeout", "strict", "5s", "1MiB", "x", "fs", "network", "permissions", "", "a.b"),
    ]
)
VALUES = st.recursive(
    st.one_of(WORDS, st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=8,
)


@given(config=st.dictionaries(WORDS, VALUES, max_size=4))
def test_an_inline_config_is_read_or_refused_with_its_file(config: dict[str, object]) -> None:
    data = {"with": {"config": config}, "bash": "echo {config.x} {config.t.timeout}", "name": "t"}
    try:
        document = parse(json.dumps(data, ensure_ascii=False).encode(), "f.yaml")
        tool = yaml.load(document, Origin(), Host())
    except DefinitionInvalid as invalid:
        files = {problem.file for problem in invalid.problems}
    else:
        files = {"f.yaml"}
        assert tool.plan.constants.keys() <= {"config.x", "config.t.timeout"}
    assert files == {"f.yaml"}


@given(config=VALUES)
def test_a_named_config_is_read_or_refused(config: object) -> None:
    try:
        document = parse(json.dumps(config, ensure_ascii=False).encode(), "c.yml")
    except DefinitionInvalid:
        return
    assert all(problem.file == "c.yml" for problem in problems_of(document))
