"""Permissions form a partial order with a meet; deny is the default."""

from __future__ import annotations

from tongs.core.permissions import Limits, Permissions, Secret

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
    resolved = Permissions(read=(".", "/etc"), write=("../x",)).resolved("/work/project")

    assert resolved.read == ("/work/project", "/etc")
    assert resolved.write == ("/work/x",)


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
        network=("h",), read=("/a", "/a/w", "/a/r"), write=("/a/w",), secrets=()
    )


def test_hosts_meet_by_name() -> None:
    assert Permissions(network=("a", "b")).meet(Permissions(network=("b",))).network == ("b",)
    assert Permissions(network=("a",)).meet(Permissions(network=("b",))).network is False
    assert not Permissions(network=True).within(Permissions(network=("a",)))


def test_untrusted_limits_only_tighten() -> None:
    limits = Limits(memory=100, cpu=None).tightened({"memory": 500, "cpu": 3.0, "output": 10})

    assert limits == Limits(memory=100, cpu=3.0, output=10)
