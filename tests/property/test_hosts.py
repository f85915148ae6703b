"""What the schemas, the permissions and the sandbox take for a host is one thing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import examples

from tongs.core import hosts
from tongs.core.network import within
from tongs.schema.files import load

_ENTRY = load("tool.yaml")["$defs"]["permissions"]["properties"]["network"]["items"]["pattern"]
_SECURITY = load("config")["properties"]["security"]["properties"]
_GRANT = _SECURITY["allow_private_hosts"]["items"]["pattern"]

_labels = st.text("ab1-_x", min_size=1, max_size=4)
_names = st.lists(_labels, min_size=1, max_size=3).map(".".join)
_numbers = st.lists(st.integers(0, 300).map(str), min_size=3, max_size=5).map(".".join)
_sixes = st.sampled_from(("[::1]", "[2001:db8::7]", "[::ffff:192.0.2.7]"))
_hosts = st.one_of(_names, _names.map("*.".__add__), _numbers, _sixes)
_ports = st.one_of(st.just(""), st.just(":*"), st.integers(0, 70000).map(":{}".format))
_entries = st.builds(str.__add__, _hosts, _ports)


def test_the_three_lists_of_hosts_have_one_grammar() -> None:
    blocks = [load("config")["$defs"]["permissions"], _SECURITY["max_permissions"]]

    assert [block["properties"]["network"]["items"]["pattern"] for block in blocks] == [_ENTRY] * 2


@examples(700)
@given(_entries)
def test_what_the_schema_takes_the_sandbox_takes_too(entry: str) -> None:
    if re.search(_ENTRY, entry):
        hosts.parse(entry)
    else:
        with pytest.raises(ValueError, match="is no host"):
            hosts.parse(entry)


@examples(1000)
@given(st.one_of(_names, _numbers, st.sampled_from(("::1", "[fd00::1]", "10.0.0.0/8", "fd00::/8"))))
def test_what_may_be_private_is_the_same_for_both(entry: str) -> None:
    if re.search(_GRANT, entry):
        hosts.parse_grant(entry)
    else:
        with pytest.raises(ValueError, match="is no"):
            hosts.parse_grant(entry)


@examples(700)
@given(_entries, _names, st.sampled_from((22, 80, 443, 8080)))
def test_permissions_and_sandbox_agree_on_what_an_entry_means(
    entry: str, name: str, port: int
) -> None:
    wanted = f"{name}:{port}"
    if not (re.search(_ENTRY, entry) and re.search(_ENTRY, wanted)):
        return

    allowed = hosts.allowed([hosts.parse(entry)], hosts.canonical(name), port)

    assert allowed == within((wanted,), (entry,))
