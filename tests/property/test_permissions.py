"""`within` is a preorder and `meet` its greatest lower bound; host lists mean sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import examples

from tongs.core.network import Network, meet, within
from tongs.core.permissions import Permissions, Secret, covered

PATHS = ("/", "/a", "/a/b", "/a/b/c", "/ab", "/c")
NAMES = ("a.org", "b.a.org", "c.b.a.org", "ba.org", "192.0.2.7")
PORTS = (22, 80, 443, 8080)

_paths = st.lists(st.sampled_from(PATHS), max_size=3, unique=True).map(tuple)
_entries = st.builds(
    str.__add__,
    st.sampled_from((*NAMES, "*.a.org", "*.b.a.org", "*.2.7")),
    st.sampled_from(("", ":*", *(f":{port}" for port in PORTS))),
)
_hosts = st.lists(_entries, max_size=4).map(tuple)
networks = st.one_of(st.booleans(), _hosts)
_secrets = st.lists(
    st.builds(Secret, st.sampled_from(["K", "L"]), required=st.booleans()), max_size=2
).map(tuple)
permissions = st.builds(
    Permissions,
    network=networks,
    read=_paths,
    write=_paths,
    secrets=_secrets,
    scratch=_paths,
)


def reaches(network: Network) -> set[tuple[str, int]]:
    """What a list means, found by asking for every name and port there is in this test."""
    pairs = {(name, port) for name in NAMES for port in PORTS}
    return {(name, port) for name, port in pairs if within((f"{name}:{port}",), network)}


def rights(one: Permissions, path: str) -> tuple[bool, bool, bool]:
    """Whether a path may be read, looks writable, and is written for good."""
    return (
        covered(path, one.readable),
        covered(path, one.scratch),
        covered(path, one.write),
    )


@given(permissions)
def test_everything_is_within_itself(one: Permissions) -> None:
    assert one.within(one)


@examples(500)
@given(permissions, permissions, permissions)
def test_within_is_transitive(a: Permissions, b: Permissions, c: Permissions) -> None:
    if a.within(b) and b.within(c):
        assert a.within(c)


@examples(500)
@given(permissions, permissions)
def test_meet_is_within_both(a: Permissions, b: Permissions) -> None:
    assert a.meet(b).within(a)
    assert a.meet(b).within(b)


@examples(500)
@given(permissions, permissions, permissions)
def test_nothing_larger_than_the_meet_is_within_both(
    a: Permissions, b: Permissions, c: Permissions
) -> None:
    if c.within(a) and c.within(b):
        assert c.within(a.meet(b))


@examples(500)
@given(permissions, permissions, permissions)
def test_meet_depends_on_neither_order_nor_grouping(
    a: Permissions, b: Permissions, c: Permissions
) -> None:
    assert a.meet(b) == b.meet(a)
    assert a.meet(b).meet(c) == a.meet(b.meet(c))


@examples(500)
@given(permissions, permissions)
def test_meet_with_itself_changes_nothing(a: Permissions, b: Permissions) -> None:
    both = a.meet(b)

    assert both.meet(both) == both
    assert a.within(a.meet(a))


@examples(500)
@given(permissions, permissions, st.sampled_from((*PATHS, "/a/b/c/d", "/x")))
def test_meet_cuts_every_path_alike(a: Permissions, b: Permissions, path: str) -> None:
    (a_read, a_scratch, a_write), (b_read, b_scratch, b_write) = rights(a, path), rights(b, path)
    read = a_read and b_read

    assert rights(a.meet(b), path) == (read, read and (a_scratch or b_scratch), a_write and b_write)


@examples(500)
@given(networks, networks)
def test_hosts_of_the_meet_are_those_of_both(a: Network, b: Network) -> None:
    assert reaches(meet(a, b)) == reaches(a) & reaches(b)


@examples(500)
@given(networks, networks)
def test_list_within_another_reaches_nothing_more(a: Network, b: Network) -> None:
    if within(a, b):
        assert reaches(a) <= reaches(b)


@examples(500)
@given(networks, networks)
def test_lists_that_lie_within_each_other_are_written_alike(a: Network, b: Network) -> None:
    assert (within(a, b) and within(b, a)) == (meet(a, a) == meet(b, b))


@examples(500)
@given(permissions, permissions)
def test_what_lies_within_each_other_means_the_same(a: Permissions, b: Permissions) -> None:
    """The third law of a partial order: equal by what they allow, not by how they are written."""
    if a.within(b) and b.within(a):
        assert a.meet(a).meet(b) == b.meet(b).meet(a)
        for path in (*PATHS, "/a/b/c/d", "/x"):
            assert rights(a, path)[::2] == rights(b, path)[::2]
        assert reaches(a.network) == reaches(b.network)
        assert {s.name for s in a.secrets} == {s.name for s in b.secrets}


@examples(500)
@given(permissions, permissions)
def test_nothing_is_beyond_a_ceiling_exactly_where_all_is_within(
    a: Permissions, b: Permissions
) -> None:
    assert (a.beyond(b) == Permissions()) == a.within(b)


@examples(500)
@given(permissions, permissions)
def test_what_is_beyond_is_asked_for_and_not_allowed(a: Permissions, b: Permissions) -> None:
    beyond = a.beyond(b)

    assert beyond.within(a)
    assert beyond.beyond(b) == beyond
