"""A confined tool that fails is told what was off, and which line would grant it."""

from __future__ import annotations

import pytest
import yaml

from tongs.core.call import Caller, CallerKind
from tongs.core.execution import Place
from tongs.core.permissions import Limits, Permissions, Secret
from tongs.core.record import replace
from tongs.core.scope import Scope
from tongs.core.tool import Origin, Tool
from tongs.policy.confined import Confined, Ending, explain_failure
from tongs.policy.permissions import from_tags
from tongs.schema.check_document import check_document
from tongs.schema.document import parse

PLACE = Place("/p/src", "/p", "/home/me", "/home/me/.tongs")
FILE = "/p/.tongs/tools/t.yaml"
ORIGIN = Origin(path=FILE, project="/p")
READER = Tool("t", tags=("read",), origin=ORIGIN)
DECLARED = Tool("t", permissions=Permissions(read=("data",)), origin=ORIGIN)
WALLS = ("network", "fs.read", "fs.write", "limits")
COULD_NOT_RESOLVE = "curl: (6) Could not resolve host: api.example.org"
COULD_READ = "network was off; it could read /p/data and write nothing"


def explained(
    stderr: str = "",
    tool: Tool = DECLARED,
    may: Permissions | None = None,
    *,
    enforced: tuple[str, ...] = WALLS,
    place: Place = PLACE,
    **more: object,
) -> Confined:
    if may is None:
        own = tool.permissions
        may = from_tags(tool, place) if own is None else own.resolved("/p", "/home/me")
    ending = Ending(stderr, exit_code=1)
    found = explain_failure(tool, may, enforced, ending, place=place, **more)  # type: ignore[arg-type]  # passed on
    assert found is not None
    for line in found.grants:
        assert_loads(line, tool)
    return found


def assert_loads(line: str, tool: Tool) -> None:
    """What the person is told to write is accepted where it belongs."""
    if line.startswith("tools:"):
        assert check_document(parse(line.encode(), "config.yml"), "config") == []
    else:
        text = f"name: {tool.name}\nbash: x\n{line}\n"
        assert check_document(parse(text.encode(), "t.yaml"), "tool.yaml") == []


def test_tool_that_nothing_confined_is_not_explained() -> None:
    ending = Ending(COULD_NOT_RESOLVE, exit_code=6)

    found = explain_failure(READER, Permissions(), ("limits", "tree-kill"), ending, place=PLACE)

    assert found is None


def test_failure_of_another_kind_still_says_what_was_off() -> None:
    found = explained("error: 3 tests failed")

    assert found == Confined(COULD_READ)
    assert found.hint == ""


@pytest.mark.parametrize(
    ("tool", "may", "enforced", "sentence"),
    [
        (
            READER,
            Permissions(read=("/p",), scratch=("/p",)),
            WALLS,
            (
                "network was off; it could read /p, where nothing it writes is kept,"
                " and write nothing (from its tag `read`)"
            ),
        ),
        (
            replace(READER, tags=()),
            Permissions(network=True, write=("/p",), read=("/p",)),
            WALLS,
            "network was on; it could read /p and write /p (from having no security tag)",
        ),
        (
            DECLARED,
            Permissions(network=("a", "*.b", "c:*", "d"), read=("/a", "/b", "/c", "/d", "/e")),
            WALLS,
            (
                'network reached only a, "*.b", "c:*" and 1 more;'
                " it could read /a, /b, /c and 2 more and write nothing"
            ),
        ),
        (DECLARED, Permissions(network=()), ("network",), "network was off"),
        (DECLARED, Permissions(), ("fs.read",), "it could read nothing"),
        (DECLARED, Permissions(write=("/w",)), ("fs.write",), "it could write /w"),
    ],
)
def test_sentence_names_what_was_enforced(
    tool: Tool, may: Permissions, enforced: tuple[str, ...], sentence: str
) -> None:
    assert explained("", tool, may, enforced=enforced).sentence == sentence


def test_host_that_could_not_be_reached_is_in_the_line() -> None:
    found = explained(COULD_NOT_RESOLVE)

    assert found == Confined(
        COULD_READ,
        ("permissions: {network: [api.example.org], fs: {read: [data]}}",),
        FILE,
        ("network",),
    )
    assert found.hint == f"to grant it, write in {FILE}: {found.grants[0]}"


@pytest.mark.parametrize(
    ("stderr", "network"),
    [
        ("Network is unreachable", "true"),
        ("Error: connect ECONNREFUSED 127.0.0.1:8000", "true"),
        ("Could not resolve host: localhost", "true"),
        ("Error: connect ECONNREFUSED api.example.org:8000", '["api.example.org:8000"]'),
    ],
)
def test_line_names_the_whole_network_where_no_list_would_do(stderr: str, network: str) -> None:
    assert explained(stderr, replace(DECLARED, permissions=Permissions())).grants == (
        f"permissions: {{network: {network}}}",
    )


def test_host_is_added_to_the_list_that_is_there() -> None:
    tool = replace(DECLARED, permissions=Permissions(network=("*.other.org",)))

    assert explained(COULD_NOT_RESOLVE, tool).grants == (
        'permissions: {network: ["*.other.org", api.example.org]}',
    )


@pytest.mark.parametrize("network", [True, ("*.example.org",)])
def test_network_that_was_granted_is_not_blamed(network: bool | tuple[str, ...]) -> None:
    tool = replace(DECLARED, permissions=Permissions(network=network))

    assert explained(COULD_NOT_RESOLVE, tool).grants == ()
    assert explained(COULD_NOT_RESOLVE, enforced=("fs.read",)).grants == ()


def test_block_for_a_tagged_tool_repeats_what_the_tag_gives() -> None:
    found = explained(COULD_NOT_RESOLVE, READER)

    assert found.grants == ("permissions: {network: [api.example.org], fs: {read: [.]}}",)
    assert found.otherwise == ", or add the tag `network`"
    assert found.hint.endswith(f"{found.grants[0]}, or add the tag `network`")


@pytest.mark.parametrize(
    ("stderr", "folders"),
    [
        ("touch: cannot touch '/p/out/x': Read-only file system", "out"),
        ("touch: cannot touch 'x': Read-only file system", "src"),
        ("bash: line 1: ../out/x: Read-only file system", "out"),
        ("cp: cannot create regular file '/p/x': Permission denied", "."),
        ("PermissionError: [Errno 13] Permission denied: '/p/data/x'", "data"),
        ("touch: cannot touch '/home/me/x': No such file or directory", "~/x"),
        ("touch: cannot touch '/home/me/d/x': No such file or directory", "~/d"),
        ("tee: /srv/x/y: Permission denied\nmkdir: cannot create directory ‘/a/b’: EROFS", "/a"),
    ],
)
def test_folder_that_could_not_be_written_is_in_the_line(stderr: str, folders: str) -> None:
    found = explained(stderr)

    assert found.grants[0].endswith(f"write: [{folders}]}}}}")
    assert "fs.write" in found.causes
    assert found.otherwise == ""


def test_reader_that_writes_into_the_project_may_take_the_tag() -> None:
    inside = explained("touch: cannot touch '/p/out/x': Permission denied", READER)
    outside = explained("touch: cannot touch '/srv/out/x': Permission denied", READER)

    assert inside.grants == ("permissions: {fs: {read: [.], write: [out]}}",)
    assert inside.otherwise == ", or add the tag `write`"
    assert outside.otherwise == ""


def test_file_that_was_out_of_sight_is_in_the_line() -> None:
    tool = replace(DECLARED, permissions=Permissions(secrets=(Secret("K", required=False),)))

    found = explained("cat: /home/me/notes.txt: No such file or directory", tool)

    assert found.grants == (
        "permissions: {fs: {read: [~/notes.txt]}, secrets: {K: {required: false}}}",
    )
    assert found.causes == ("fs.read",)


@pytest.mark.parametrize(
    "stderr",
    [
        "cat: /p/data/none: No such file or directory",
        "touch: cannot touch '/p/data/none/x': No such file or directory",
        "cat: /usr/share/none: No such file or directory",
        "ls: cannot open directory '/': Permission denied",
        "cat: /home/me/.tongs/state/trust.json: No such file or directory",
        "ls: cannot access '/home/me': No such file or directory",
    ],
)
def test_what_is_really_missing_or_never_granted_has_no_line(stderr: str) -> None:
    assert explained(stderr).grants == ()


def test_walls_that_do_not_stand_are_not_blamed() -> None:
    stderr = "cat: /srv/x: Permission denied\ntouch: cannot touch '/srv/x': Permission denied"

    assert explained(stderr, enforced=("network",)).grants == ()


def test_protected_path_is_named_although_nothing_grants_it() -> None:
    stderr = "touch: cannot touch '/p/.git/hooks/x': Read-only file system"
    may = Permissions(write=("/p",))

    found = explained(stderr, may=may, enforced=(*WALLS, "protected-paths"))

    assert found.sentence.endswith("; /p/.git/hooks/x is protected from every tool")
    assert found.grants == ()
    assert "protected" not in explained(stderr, may=may).sentence
    other = explained(
        "touch: cannot touch '/q/x': Read-only file system",
        may=may,
        enforced=(*WALLS, "protected-paths"),
    )
    assert "protected" not in other.sentence


def test_unix_sockets_are_said_to_be_closed() -> None:
    found = explained("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.")

    assert found == Confined(
        f"{COULD_READ}; unix sockets, as those of docker or an ssh agent, are closed to every tool",
        causes=("unix-sockets",),
    )


def test_limit_that_was_reached_is_named_and_doubled() -> None:
    tool = replace(DECLARED, limits={"cpu": 5.0, "memory": 3 * 1024**2, "output": 1001})

    found = explained("MemoryError", tool, limits=Limits(memory=3 * 1024**2))
    many = explained("bash: fork: Resource temporarily unavailable\nToo many open files")

    assert found.sentence == f"{COULD_READ}; memory was limited to 3MiB"
    assert found.grants == ("limits: {cpu: 5s, memory: 6MiB, output: 1001}",)
    assert found.causes == ("memory",)
    assert many.grants == ("limits: {processes: 512, open_files: 2048}",)


def test_processor_time_that_nobody_limited_is_not_blamed() -> None:
    ending = Ending(signal=24)

    found = explain_failure(DECLARED, Permissions(), WALLS, ending, place=PLACE)

    assert found is not None
    assert found.causes == ()


@pytest.mark.parametrize(
    ("origin", "where"),
    [
        (Origin(Scope.USER, "/home/me/.tongs/tools/t.yaml"), "/home/me/.tongs/config.yml"),
        (Origin(Scope.GLOBAL, "/etc/tongs/tools/t.yaml"), "/home/me/.tongs/config.yml"),
        (
            Origin(path="/p/.cycod/tools/t.yaml", family="cycod", project="/p"),
            "/home/me/.tongs/config.yml",
        ),
    ],
)
def test_tool_that_is_not_ones_own_is_granted_more_in_the_config(
    origin: Origin, where: str
) -> None:
    tool = replace(READER, origin=origin)

    found = explained(f"{COULD_NOT_RESOLVE}\nMemoryError", tool)

    assert found.where == where
    assert found.otherwise == ""
    assert found.grants == (
        "tools: {t: {permissions: {network: [api.example.org]}, limits: {memory: 4GiB}}}",
    )
    assert explained("MemoryError", tool).grants == ("tools: {t: {limits: {memory: 4GiB}}}",)


def test_inline_tool_is_changed_in_the_file_it_stands_in() -> None:
    origin = Origin(Scope.USER, "/home/me/.tongs/tools/outer.yaml")
    tool = replace(DECLARED, private=True, origin=origin)

    assert explained(COULD_NOT_RESOLVE, tool).where == "/home/me/.tongs/tools/outer.yaml"
    nowhere = replace(tool, origin=Origin())
    assert explained(COULD_NOT_RESOLVE, nowhere).where == "the definition"


def test_limits_of_the_caller_are_named_with_the_callers_line() -> None:
    caller = Caller(CallerKind.TOOL, "outer", ceiling=Permissions(read=("/p",)))

    found = explained(COULD_NOT_RESOLVE, caller=caller)
    own = explained("cat: /p/x: Permission denied", caller=caller)

    assert found.sentence == f"{COULD_READ}; its caller outer may not do it either"
    assert found.grants == ("permissions: {network: [api.example.org]}",)
    assert found.where == "the definition of outer, too"
    assert own.where == FILE


def test_hostile_names_are_written_so_that_they_stay_names() -> None:
    stderr = "cat: '/srv/a, b: {c}\u3164#': Permission denied"

    (line,) = explained(stderr).grants

    assert line.isascii()
    assert yaml.safe_load(line) == {
        "permissions": {"fs": {"read": ["data", "/srv/a, b: {c}\u3164#"]}}
    }


def test_relative_paths_start_where_the_process_did() -> None:
    tool = replace(DECLARED, working_directories=("sub", "other"))
    stderr = "touch: cannot touch 'd/x': Read-only file system"
    may = Permissions(read=("/p/data",))
    known = Ending(stderr, exit_code=1, cwd="/srv")

    told = explain_failure(tool, may, WALLS, known, place=PLACE)

    assert explained(stderr, tool).grants[0].endswith("write: [sub/d]}}")
    assert explained(stderr, place=Place("/q", "/p", "/home/me")).grants[0].endswith("[d]}}")
    assert told is not None
    assert told.grants[0].endswith("write: [/srv/d]}}")


@pytest.mark.parametrize("name", ["true", "No", "1.5", "a.b-c", "_x"])
def test_name_of_a_tool_stays_a_text(name: str) -> None:
    tool = Tool(name, tags=("read",), origin=Origin(Scope.USER, "/u/x.yaml"))

    (line,) = explained(COULD_NOT_RESOLVE, tool).grants

    assert list(yaml.safe_load(line)["tools"]) == [name]
