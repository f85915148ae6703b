"""Permissions form a partial order with a meet; deny is the default."""

from __future__ import annotations

from tongs.core.permissions import Bound, Limits, Permissions, Secret, shorter, stricter

NOTHING = Permissions()


def test_nothing_is_granted_by_default() -> None:
    assert NOTHING.within(NOTHING)
    assert not Permissions(network=True).within(NOTHING)
    assert not Permissions(read=("/a",)).within(NOTHING)
    assert not Permissions(secrets=(Secret("K"),)).within(NOTHING)


def test_block_of_a_definition_becomes_permissions() -> None:
    data = {
        "network": ["api.example.org"],
        "fs": {"read": ["."], "write": ["out"]},
        "secrets": {"KEY": {"type": "string", "required": False}, "OTHER": None},
    }

    assert Permissions.from_data(data) == Permissions(
        network=("api.example.org",),
        read=(".",),
        write=("out",),
        secrets=(Secret("KEY", required=False), Secret("OTHER", required=True)),
    )


def test_empty_host_list_is_no_network() -> None:
    assert Permissions(network=()).within(NOTHING)
    assert Permissions(network=()).meet(Permissions(network=True)).within(NOTHING)


def test_relative_paths_start_at_the_base() -> None:
    written = Permissions(read=(".", "/etc", "//a//b"), write=("../x",), scratch=("s",))

    assert written.resolved("/work/project", "/home/me") == Permissions(
        read=("/work/project", "/etc", "/a/b"), write=("/work/x",), scratch=("/work/project/s",)
    )


def test_tilde_is_the_home_directory_of_the_person_and_of_nobody_else() -> None:
    resolved = Permissions(read=("~", "~/x", "~root", "a~")).resolved("/p", "/home/me")

    assert resolved.read == ("/home/me", "/home/me/x", "/p/~root", "/p/a~")


def test_nothing_to_resolve_leaves_the_rest_alone() -> None:
    permissions = Permissions(network=("a",), secrets=(Secret("K"),))

    assert permissions.resolved("/p", "/home/me") is permissions


def test_scratch_is_read_and_no_definition_can_ask_for_it() -> None:
    scratch = Permissions(scratch=("/a/b",))

    assert scratch.within(Permissions(read=("/a",)))
    assert scratch.within(Permissions(scratch=("/a",)))
    assert not scratch.within(NOTHING)
    assert Permissions(read=("/a/b/c",)).within(scratch)
    assert not Permissions(write=("/a/b",)).within(scratch)
    assert Permissions.from_data({"fs": {"read": ["x"], "scratch": ["y"]}}) == Permissions(
        read=("x",)
    )


def test_scratch_stands_on_the_wire_only_where_there_is_some() -> None:
    assert Permissions(read=("/a",), secrets=(Secret("K"),)).to_wire() == {
        "network": False,
        "fs": {"read": ["/a"], "write": []},
        "secrets": ["K"],
    }
    assert Permissions(network=("h",), read=("/a",), scratch=("/a",)).to_wire() == {
        "network": ["h"],
        "fs": {"read": ["/a"], "write": [], "scratch": ["/a"]},
        "secrets": [],
    }


def test_scratch_of_one_side_stays_scratch_where_the_other_may_read() -> None:
    scratch = Permissions(read=("/a",), scratch=("/a",))

    assert scratch.meet(Permissions(write=("/a/w",))) == Permissions(
        read=("/a/w",), scratch=("/a/w",)
    )
    assert Permissions(read=("/a/r",)).meet(scratch) == Permissions(
        read=("/a/r",), scratch=("/a/r",)
    )
    assert scratch.meet(Permissions(read=("/b",))) == NOTHING


def test_path_is_covered_by_its_folder_but_not_by_a_similar_name() -> None:
    ceiling = Permissions(read=("/a/b",))

    assert Permissions(read=("/a/b/c",)).within(ceiling)
    assert not Permissions(read=("/a/bc",)).within(ceiling)
    assert Permissions(read=("/etc",)).within(Permissions(read=("/",)))


def test_what_may_be_written_may_be_read() -> None:
    assert Permissions(read=("/a",)).within(Permissions(write=("/a",)))
    assert not Permissions(write=("/a",)).within(Permissions(read=("/a",)))


def test_meet_keeps_the_smaller_of_each() -> None:
    left = Permissions(network=True, read=("/a",), write=("/a/w",), secrets=(Secret("K"),))
    right = Permissions(network=("h",), read=("/a/r",), write=("/a",), secrets=())

    assert left.meet(right) == Permissions(
        network=("h",), read=("/a",), write=("/a/w",), secrets=()
    )


def test_two_conflict_where_one_may_change_what_the_other_may_see() -> None:
    reads, writes = Permissions(read=("/a/b",)), Permissions(write=("/a",))
    assert reads.conflicts(writes)
    assert writes.conflicts(reads)
    assert writes.conflicts(Permissions(write=("/a/x",)))
    assert not reads.conflicts(Permissions(read=("/a",)))
    assert not writes.conflicts(Permissions(read=("/ab",), write=("/c",)))
    assert not writes.conflicts(NOTHING)


def test_two_conflict_where_both_may_reach_a_host() -> None:
    one = Permissions(network=("api.example.org",))
    assert one.conflicts(Permissions(network=True))
    assert one.conflicts(Permissions(network=("*.example.org",)))
    assert not one.conflicts(Permissions(network=("example.net",)))
    assert not one.conflicts(NOTHING)


def test_hosts_meet_by_name() -> None:
    assert Permissions(network=("a", "b")).meet(Permissions(network=("b",))).network == ("b",)
    assert Permissions(network=("a",)).meet(Permissions(network=("b",))).network is False
    assert not Permissions(network=True).within(Permissions(network=("a",)))


def test_secret_is_required_if_one_side_requires_it() -> None:
    left = Permissions(secrets=(Secret("L", required=False), Secret("K", required=False)))
    right = Permissions(secrets=(Secret("K"), Secret("K", required=False)))

    assert left.meet(right) == right.meet(left) == Permissions(secrets=(Secret("K"),))


def test_untrusted_limits_only_tighten() -> None:
    limits = Limits(memory=100, cpu=None).tightened({"memory": 500, "cpu": 3.0, "output": 10})

    assert limits == Limits(memory=100, cpu=3.0, output=10)


def test_two_bounds_take_what_either_takes() -> None:
    one = Bound({"memory": 5, "cpu": 1.0}, 3.0, (Permissions(),), ("a", "b"), "best-effort")
    other = Bound({"memory": 7, "output": 2}, None, (Permissions(network=True),), ("b",), "strict")

    assert one.meet(other) == Bound(
        limits={"memory": 5, "cpu": 1.0, "output": 2},
        timeout=3.0,
        ceilings=(Permissions(), Permissions(network=True)),
        denied=("a", "b"),
        enforcement="strict",
    )
    assert one.meet(Bound()) == one
    assert Bound().meet(Bound()) == Bound()


def test_the_shorter_time_and_the_stricter_word_win() -> None:
    assert (shorter(None, None), shorter(1.0, None), shorter(2.0, 1.0)) == (None, 1.0, 1.0)
    assert stricter("off", "best-effort") == "best-effort"
    assert stricter("strict", "off") == "strict"
