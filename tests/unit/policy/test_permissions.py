"""What a call may touch follows from its block, its tags, the config and its caller."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.execution import Place
from tongs.core.permissions import Bound, Grants, Permissions, Secret
from tongs.core.record import replace
from tongs.core.tool import Origin, Tool
from tongs.policy.permissions import effective, from_tags

PLACE = Place("/work/p/src", "/work/p")
CALL = ToolCall()


def test_read_tool_may_read_the_project_and_nothing_it_writes_survives() -> None:
    assert from_tags(Tool("t", tags=("read",)), PLACE) == Permissions(
        read=("/work/p",), scratch=("/work/p",)
    )


def test_tool_without_security_tag_may_write_the_project() -> None:
    assert from_tags(Tool("t"), PLACE) == Permissions(read=("/work/p",), write=("/work/p",))


def test_network_needs_a_tag_that_says_so() -> None:
    assert from_tags(Tool("t", tags=("read", "api")), PLACE).network is True
    assert from_tags(Tool("t", tags=("read", "github")), PLACE).network is False


def test_system_folder_is_never_taken_for_a_project() -> None:
    assert from_tags(Tool("t"), Place("/etc")) == Permissions()
    assert from_tags(Tool("t"), Place("/")) == Permissions()


@pytest.mark.parametrize("root", ["/home/me", "/home", "/srv/homes", "/home/me/.tongs"])
def test_folder_around_a_home_or_the_users_folder_is_never_taken_for_a_project(root: str) -> None:
    place = Place(root, home="/srv/homes/me" if "srv" in root else "/home/me")
    place = replace(place, user_folder="/home/me/.tongs")

    assert from_tags(Tool("t"), place) == Permissions()


def test_static_working_directory_counts_like_the_project() -> None:
    place = Place("/work/p/src", "/work/p", "/home/me", "/home/me/.tongs")
    folders = ("~/data", "/srv/x", "sub", "../q", "~/data/in")
    origin = Origin(project="/work/p")

    for tags, expected in (
        (("read",), {"read": (), "scratch": ()}),
        (("write",), {"read": (), "write": ()}),
        ((), {"read": (), "write": ()}),
    ):
        granted = ("/work/p", "/home/me/data", "/srv/x", "/work/q")
        tool = Tool("t", tags=tags, working_directories=folders, origin=origin)
        assert from_tags(tool, place) == Permissions(**dict.fromkeys(expected, granted))


def test_relative_working_directory_of_a_users_tool_starts_where_the_caller_is() -> None:
    tool = Tool("t", tags=("read",), working_directories=("../other",))

    assert from_tags(tool, PLACE).read == ("/work/p",)
    assert from_tags(tool, Place("/work/p/src", "/work/p/src")).read == (
        "/work/p/src",
        "/work/p/other",
    )


@pytest.mark.parametrize(
    "folder",
    [
        *("/", "/etc", "//etc", "/etc/cron.d", "/usr/local/bin", "/proc/1", "/root", "/var"),
        *("~", "~/", "~/.ssh", "~/.config/x", "~/.tongs/state", "/home", "/data/../home/me"),
        *("../..", "../../..", "/opt/tongs", "/opt/tongs/state"),
    ],
)
def test_working_directory_a_stranger_should_not_have_grants_nothing(folder: str) -> None:
    place = Place("/home/me/p", "/home/me/p", "/home/me", "/opt/tongs")
    tool = Tool("t", working_directories=(folder,), origin=Origin(project="/home/me/p"))

    assert from_tags(tool, place) == from_tags(replace(tool, working_directories=()), place)


def test_persons_own_tool_may_work_in_a_hidden_folder_of_the_home() -> None:
    place = Place("/work/p", "/work/p", "/home/me", "/home/me/.tongs")

    own = from_tags(Tool("t", tags=("read",), working_directories=("~/.config/x",)), place)
    tongs = from_tags(Tool("t", tags=("read",), working_directories=("~/.tongs/tools",)), place)

    assert own.read == ("/work/p", "/home/me/.config/x")
    assert tongs.read == ("/work/p",)


def test_link_that_an_earlier_call_may_have_made_is_never_followed(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".ssh").mkdir(parents=True)
    project.mkdir()
    (project / "cache").symlink_to(home / ".ssh")
    place = Place(str(project), str(project), str(home), str(home / ".tongs"))
    origin = Origin(project=str(project))
    tool = Tool("t", tags=("read",), working_directories=("cache",), origin=origin)
    asking = Tool("t", permissions=Permissions(read=("cache",), write=("cache",)), origin=origin)
    ceiling = Permissions(write=(str(project),))
    nested = ToolCall(caller=Caller(CallerKind.TOOL, "outer", ceiling=ceiling))

    assert from_tags(tool, place).read == (str(project),)
    # As it was written; the sandbox then refuses a path that leads through a link.
    written = str(project / "cache")
    assert effective(asking, CALL, place, None) == Permissions(read=(written,), write=(written,))
    assert effective(asking, nested, place, None) == Permissions(write=(written,), read=(written,))


def test_tilde_of_a_block_is_the_home_that_the_place_knows() -> None:
    tool = Tool("t", permissions=Permissions(read=("~/x",)))

    place = Place("/work/p", "/work/p", "/home/me")
    assert effective(tool, CALL, place, None).read == ("/home/me/x",)


def test_grant_to_write_ends_the_scratch_it_covers() -> None:
    tool = Tool("t", tags=("read",))

    part = effective(tool, CALL, PLACE, Grants(Permissions(write=("out",))))
    whole = effective(tool, CALL, PLACE, Grants(Permissions(write=(".",))))

    assert part == Permissions(read=("/work/p",), write=("/work/p/out",), scratch=("/work/p",))
    assert whole == Permissions(read=("/work/p",), write=("/work/p",))


def test_nested_reader_keeps_its_scratch_under_a_caller_that_writes() -> None:
    caller = Caller(CallerKind.TOOL, "outer", ceiling=Permissions(write=("/work/p",)))

    inner = effective(Tool("t", tags=("read",)), ToolCall(caller=caller), PLACE, None)

    assert inner == Permissions(read=("/work/p",), scratch=("/work/p",))


def test_nested_writer_under_a_reader_writes_only_scratch() -> None:
    reader = from_tags(Tool("t", tags=("read",)), PLACE)
    caller = Caller(CallerKind.TOOL, "outer", ceiling=reader)

    inner = effective(Tool("t", tags=("write",)), ToolCall(caller=caller), PLACE, None)

    assert inner == reader


def test_declared_block_replaces_the_tags() -> None:
    tool = Tool("t", tags=("run",), permissions=Permissions(read=("data",)))

    assert effective(tool, CALL, PLACE, None) == Permissions(read=("/work/p/data",))


def test_paths_of_a_project_tool_start_at_its_project() -> None:
    tool = Tool("t", permissions=Permissions(read=(".",)), origin=Origin(project="/other"))

    assert effective(tool, CALL, PLACE, None).read == ("/other",)


def test_grant_of_the_config_adds() -> None:
    tool = Tool("t", permissions=Permissions(network=("a",)))
    grants = Grants(Permissions(network=("b",), write=("out",), secrets=(Secret("K"),)))

    assert effective(tool, CALL, PLACE, grants) == Permissions(
        network=("a", "b"), write=("/work/p/out",), secrets=(Secret("K"),)
    )


def test_grant_of_the_whole_network_covers_hosts() -> None:
    tool = Tool("t", permissions=Permissions(network=("a",)))

    assert effective(tool, CALL, PLACE, Grants(Permissions(network=True))).network is True


def test_nested_call_gets_no_more_than_its_caller() -> None:
    ceiling = Permissions(read=("/work/p/src",))
    caller = Caller(CallerKind.TOOL, "outer", ceiling=ceiling)

    inner = effective(Tool("t", tags=("run", "api")), ToolCall(caller=caller), PLACE, None)

    assert inner == Permissions(read=("/work/p/src",))


def test_the_ceiling_of_a_config_that_the_tool_uses_holds_over_every_grant() -> None:
    ceiling = Permissions(network=("a.example",), read=("docs",), secrets=(Secret("K"),))
    tool = Tool("t", tags=("read",), bound=Bound(ceilings=(ceiling,)))
    grants = Grants(Permissions(network=True, write=("/work/p/out",), secrets=(Secret("S"),)))

    assert effective(tool, CALL, PLACE, grants) == Permissions(
        network=("a.example",), read=("/work/p/docs",), scratch=("/work/p/docs",)
    )
