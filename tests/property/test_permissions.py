"""`within` is a partial order and `meet` its greatest lower bound."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tongs.core.permissions import Permissions, Secret

_paths = st.lists(
    st.sampled_from(["/", "/a", "/a/b", "/a/b/c", "/ab", "/c"]), max_size=3, unique=True
).map(tuple)
_hosts = st.lists(st.sampled_from(["h1", "h2", "h3"]), max_size=2, unique=True).map(tuple)
_secrets = st.lists(st.sampled_from(["K", "L"]), max_size=2, unique=True).map(
    lambda names: tuple(Secret(name) for name in names)
)
permissions = st.builds(
    Permissions,
    network=st.one_of(st.booleans(), _hosts),
    read=_paths,
    write=_paths,
    secrets=_secrets,
)


@settings(derandomize=True)
@given(permissions)
def test_everything_is_within_itself(one: Permissions) -> None:
    assert one.within(one)


@settings(derandomize=True, max_examples=500)
@given(permissions, permissions, permissions)
def test_within_is_transitive(a: Permissions, b: Permissions, c: Permissions) -> None:
    if a.within(b) and b.within(c):
        assert a.within(c)


@settings(derandomize=True, max_examples=500)
@given(permissions, permissions)
def test_meet_is_within_both(a: Permissions, b: Permissions) -> None:
    assert a.meet(b).within(a)
    assert a.meet(b).within(b)


@settings(derandomize=True, max_examples=500)
@given(permissions, permissions, permissions)
def test_nothing_larger_than_the_meet_is_within_both(
    a: Permissions, b: Permissions, c: Permissions
) -> None:
    if c.within(a) and c.within(b):
        assert c.within(a.meet(b))
