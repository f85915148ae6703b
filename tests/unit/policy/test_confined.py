"""A confined tool that fails is told what was off, and which line would grant it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml

from tongs.core.call import Caller, CallerKind
from tongs.core.errors import ToolError
from tongs.core.execution import Place
from tongs.core.permissions import Limits, Permissions, Secret
from tongs.core.record import replace
from tongs.core.scope import Scope
from tongs.core.tool import Origin, Tool
from tongs.policy import grants
from tongs.policy.confined import Confined, explain_failure
from tongs.policy.permissions import from_tags
from tongs.policy.symptoms import Ending
from tongs.sandbox.host import Host
from tongs.sandbox.roots import found_roots
from tongs.schema.check_document import check_document
from tongs.schema.document import parse

PLACE = Place("/p/src", "/p", "/home/me", "/home/me/.tongs")
FILE = "/p/.tongs/tools/t.yaml"
ORIGIN = Origin(path=FILE, project="/p")
READER = Tool("t", tags=("read",), origin=ORIGIN)
DECLARED = Tool("t", permissions=Permissions(read=("data",)), origin=ORIGIN)
WALLS = ("network", "fs.read", "fs.write", "limits")
TIER_A = (*WALLS, "metadata", "stat", "scratch-view")
TIER_B = (*WALLS, "metadata")
COULD_NOT_RESOLVE = "curl: (6) Could not resolve host: api.example.org"
COULD_READ = "network was off; it could read /p/data and write nothing"


def explained(
    stderr: str = "",
    tool: Tool = DECLARED,
    may: Permissions | None = None,
    *,
    enforced: tuple[str, ...] = TIER_A,
    place: Place = PLACE,
    exists: Callable[[str], bool] = lambda _path: True,
    ending: Ending | None = None,
    **more: object,
) -> Confined:
    if may is None:
        own = tool.permissions
        may = from_tags(tool, place) if own is None else own.resolved("/p", "/home/me")
    ending = ending or Ending(stderr, exit_code=1)
    found = explain_failure(tool, may, enforced, ending, place=place, exists=exists, **more)  # type: ignore[arg-type]  # passed on
    assert found is not None
    for line in found.grants:
        assert_loads(line, tool)
    return found


def assert_loads(line: str, tool: Tool) -> None:
    """What the person is told to write is accepted where it belongs."""
    if line.startswith(("tools:", "security:")):
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
            TIER_A,
            (
                "network was off; it could read /p, where nothing it writes is kept,"
                " and write nothing (from its tag `read`)"
            ),
        ),
        (
            READER,
            Permissions(read=("/p",), scratch=("/p",)),
            TIER_B,
            "network was off; it could read /p and write nothing (from its tag `read`)",
        ),
        (
            replace(READER, tags=()),
            Permissions(network=True, write=("/p",), read=("/p",)),
            WALLS,
            "network was on; it could read and write /p (from having no security tag)",
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


def test_sentence_leaves_out_what_does_not_exist_and_was_not_granted() -> None:
    may = Permissions(read=("/p/data", "/p/gone"), write=("/p/gone/too",))

    found = explained(
        "cat: /p/gone/x: No such file", may=may, exists=lambda path: "gone" not in path
    )

    assert found == Confined(COULD_READ)


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


@pytest.mark.parametrize("stderr", ["", "Tunnel connection failed: 403 Forbidden", "MemoryErr"])
def test_host_that_the_list_refused_is_in_the_line_whatever_the_program_says(stderr: str) -> None:
    tool = replace(DECLARED, permissions=Permissions(network=("other.org",)))
    refused = ("127.0.0.1:80", "a.org:443", "b.org:8443", "[2001:db8::7]:443", "other.org:444")

    def line(*hosts: str) -> tuple[str, ...]:
        return explained(tool=tool, ending=Ending(stderr, 1, refused=hosts)).grants

    assert line("a.org:443") == ("permissions: {network: [other.org, a.org]}",)
    assert line("127.0.0.1:80") == ('permissions: {network: [other.org, "127.0.0.1"]}',)
    assert line("a.org:80", "a.org:443") == ("permissions: {network: [other.org, a.org]}",)
    assert line(*refused) == (
        'permissions: {network: [other.org, "b.org:8443", "[2001:db8::7]", "other.org:444"]}',
    )


@pytest.mark.parametrize("host", ["a;$(x):443", "'a", "a b:1", "", "a:123456", "-- x"])
def test_what_is_no_host_is_not_repeated(host: str) -> None:
    tool = replace(DECLARED, permissions=Permissions(network=("other.org",)))

    assert explained(tool=tool, ending=Ending(exit_code=1, refused=(host,))).hint == ""


def test_list_that_the_config_gave_is_not_opened_by_a_tag() -> None:
    may = Permissions(network=("other.org",), read=("/p",))
    ending = Ending(exit_code=1, refused=("a.org:443",))

    assert explained(tool=READER, may=may, ending=ending).otherwise == ""


def test_host_that_is_listed_and_refused_needs_the_word_of_a_person() -> None:
    tool = replace(DECLARED, permissions=Permissions(network=("localhost:*", "[::1]:9")))
    ending = Ending(exit_code=22, refused=("localhost:9", "localhost:8", "[::1]:9"))

    found = explained(tool=tool, ending=ending)

    assert found.grants == ('security: {allow_private_hosts: [localhost, "::1"]}',)
    assert (found.where, found.causes) == ("/home/me/.tongs/config.yml", ("network",))


@pytest.mark.parametrize("network", [True, ("*.example.org",)])
def test_network_that_was_granted_is_not_blamed(network: bool | tuple[str, ...]) -> None:
    tool = replace(DECLARED, permissions=Permissions(network=network))

    assert explained(COULD_NOT_RESOLVE, tool).grants == ()
    assert explained(COULD_NOT_RESOLVE, enforced=("fs.read",)).grants == ()


def test_block_for_a_tagged_tool_repeats_what_the_tag_gives() -> None:
    found = explained(COULD_NOT_RESOLVE, READER)

    assert found.grants == ("permissions: {network: [api.example.org], fs: {read: [.]}}",)
    assert found.otherwise == "add the tag `network`"
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
        (
            "tee: /srv/x/y: Permission denied\nmkdir: cannot create directory ‘/a/b’: EROFS",
            "/a, /srv/x",
        ),
        ("bash: line 1: /srv/x/y: Permission denied", "/srv/x"),
        ("chmod: changing permissions of '/p/data': Read-only file system", "data"),
    ],
)
def test_folder_that_could_not_be_written_is_in_the_line(stderr: str, folders: str) -> None:
    found = explained(stderr)

    assert found.grants[0].endswith(f"write: [{folders}]}}}}")
    assert "fs.write" in found.causes
    assert found.otherwise == ""


def test_reader_that_writes_into_the_project_may_take_the_tag() -> None:
    may = Permissions(read=("/p",))
    inside = explained("touch: cannot touch '/p/out/x': Permission denied", READER, may)
    outside = explained("touch: cannot touch '/srv/out/x': Permission denied", READER, may)

    assert inside.grants == ("permissions: {fs: {read: [.], write: [out]}}",)
    assert inside.otherwise == "add the tag `write`"
    assert outside.otherwise == ""


@pytest.mark.parametrize("scope", [Scope.LOCAL, Scope.USER])
def test_reader_without_a_view_of_its_own_is_told_of_the_tag_and_of_the_view(scope: Scope) -> None:
    tool = replace(READER, origin=replace(ORIGIN, scope=scope))

    found = explained("touch: cannot touch 'new': Permission denied", tool, enforced=TIER_B)

    assert found.hint.endswith(
        ", or add the tag `write`;"
        " to write without keeping it needs user namespaces: `tongs doctor`"
    )
    assert "write: [src]" in found.grants[0]


def test_view_that_was_asked_for_by_hand_is_told_of_without_a_tag() -> None:
    may = Permissions(scratch=("/p",))

    found = explained("touch: cannot touch '/p/x': Permission denied", may=may, enforced=TIER_B)

    assert found.otherwise == "to write without keeping it needs user namespaces: `tongs doctor`"


def test_write_that_a_view_of_its_own_takes_is_not_blamed() -> None:
    assert explained("touch: cannot touch '/p/x': Permission denied", READER).grants == ()


def test_file_that_was_out_of_sight_is_in_the_line() -> None:
    tool = replace(DECLARED, permissions=Permissions(secrets=(Secret("K", required=False),)))

    found = explained("cat: /home/me/notes.txt: No such file or directory", tool)

    assert found.grants == (
        "permissions: {fs: {read: [~/notes.txt]}, secrets: {K: {required: false}}}",
    )
    assert found.causes == ("fs.read",)


def test_refused_path_was_to_be_read_if_it_exists_where_names_can_be_asked() -> None:
    stderr = "bash: line 1: /srv/d/x: Permission denied"

    there = explained(stderr, enforced=TIER_B)
    new = explained(stderr, enforced=TIER_B, exists=lambda path: path != "/srv/d/x")

    assert there.grants == ("permissions: {fs: {read: [data, /srv/d/x]}}",)
    assert new.grants == ("permissions: {fs: {read: [data], write: [/srv/d]}}",)


@pytest.mark.parametrize(
    "stderr", ["cat: /srv/x: No such file", "touch: cannot touch '/a/b': ENOENT"]
)
def test_missing_path_is_just_missing_where_names_can_be_asked(stderr: str) -> None:
    assert explained(stderr, enforced=TIER_B).grants == ()


def test_program_that_could_not_be_read_is_in_the_line_in_every_tier() -> None:
    ending = Ending(unread=("/srv/bin/x",))

    for enforced in (TIER_A, TIER_B):
        assert explained(enforced=enforced, ending=ending).grants == (
            "permissions: {fs: {read: [data, /srv/bin/x]}}",
        )


NO_METADATA = "; without a write list, modes and times of files cannot be changed here"
WRITE_LIST = "give it a write list; to do without needs user namespaces: `tongs doctor`"


@pytest.mark.parametrize(
    "stderr",
    [
        "touch: setting times of '/tmp/t-0/t-1/tmp/x': Operation not permitted",
        "gzip: /tmp/t-0/t-1/tmp/s.gz: Operation not permitted",
        "tar: a/b: Cannot utime: Operation not permitted",
        "chmod: changing permissions of 'gone': Operation not permitted",
        "chmod: changing permissions of '/srv/d/x': Operation not permitted",
    ],
)
def test_modes_and_times_that_cannot_be_changed_are_told_as_such(stderr: str) -> None:
    found = explained(
        enforced=TIER_B,
        exists=lambda path: not path.endswith("gone"),
        ending=Ending(stderr, 1, scratch="/tmp/t-0/t-1/tmp"),
    )

    assert found == Confined(COULD_READ + NO_METADATA, otherwise=WRITE_LIST)
    assert found.hint == WRITE_LIST


def test_mode_of_a_file_it_can_see_is_a_matter_of_writing_it() -> None:
    stderr = "chmod: changing permissions of 'run.sh': Operation not permitted"

    found = explained(stderr, READER, enforced=TIER_B)

    assert found.sentence.endswith(f"(from its tag `read`){NO_METADATA}")
    assert found.grants == ("permissions: {fs: {read: [.], write: [src]}}",)
    assert found.otherwise.startswith("add the tag `write`; ")


def test_mode_that_is_refused_elsewhere_is_an_ordinary_refusal() -> None:
    stderr = "chmod: changing permissions of '/p/data/x': Operation not permitted"

    for enforced in (WALLS, TIER_A):
        assert explained(stderr, enforced=enforced).grants == (
            "permissions: {fs: {read: [data], write: [data]}}",
        )


def test_own_temporary_folder_is_never_in_a_line() -> None:
    stderr = "bash: line 1: /tmp/x: Permission denied\ntouch: cannot touch '/tmp/d/y': EROFS"

    ending = Ending(stderr, 1, scratch="/tmp")
    granted = explained(may=Permissions(read=("/tmp/d",)), ending=ending)

    assert explained(ending=ending).grants == ()
    assert granted.grants == ("permissions: {fs: {read: [data], write: [/tmp/d]}}",)


def test_of_proc_nothing_is_granted() -> None:
    found = explained("cat: /proc/self/status: Permission denied", enforced=TIER_B)

    assert found == Confined(f"{COULD_READ}; of /proc every tool can read only parts")


@pytest.mark.parametrize(
    ("stderr", "path"),
    [
        ("bash: line 1: /etc/x: Permission denied", "/etc/x"),
        ("mkdir: cannot create directory '/new': Permission denied", "/new"),
        ("chmod: changing permissions of '/home/me': Read-only file system", "/home/me"),
        (
            "tee: /home/me/.tongs/tools/x.yaml: Read-only file system",
            "/home/me/.tongs/tools/x.yaml",
        ),
        ("cat: /home/me/.tongs/state/audit: No such file", "/home/me/.tongs/state/audit"),
    ],
)
def test_what_nothing_can_grant_is_told_as_such(stderr: str, path: str) -> None:
    found = explained(stderr)

    assert found == Confined(f"{COULD_READ}; {path} cannot be granted to any tool")


def test_new_file_that_no_line_can_name_is_told_as_such() -> None:
    stderr = "touch: cannot touch '/home/me/x': Permission denied"

    new = explained(stderr, enforced=TIER_B, exists=lambda path: path != "/home/me/x")

    assert new == Confined(f"{COULD_READ}; what does not exist cannot be granted: /home/me/x")
    assert explained(stderr, enforced=TIER_B).grants[0].endswith("write: [~/x]}}")


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/proc", "/root"),
        *("/run", "/sbin", "/sys", "/usr", "/var", "/proc/self", "/h/me", "/h/me/.tongs/tools"),
        *("/h/me/.tongs/state", "/srv", "/opt", "/tmp", "/h", "/h/me/work"),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_what_nothing_can_grant_is_what_the_sandbox_refuses(path: str, write: bool) -> None:
    user = "/h/me/.tongs"
    host = Host(home="/h/me", state=f"{user}/state", authority=(user,))
    wanted = Permissions(write=(path,)) if write else Permissions(read=(path,))
    try:
        found_roots(wanted, host)
        refused = False
    except ToolError as error:
        refused = "symbolic link" not in error.message

    # To write a path is to write in the folder around it, where that is one of these.
    inside = f"{path.rstrip('/')}/x" if write else path
    place = Place("/p", None, "/h/me", user)
    in_home = write and path == "/h/me"
    assert grants.to_nobody(inside, place, write=write) == (refused and not in_home)


def test_person_whose_home_is_a_system_folder_can_grant_what_is_in_it() -> None:
    home = "/root"
    root = Place("/p", None, home, f"{home}/.tongs")

    assert not grants.to_nobody(f"{home}/x", root, write=True)
    assert grants.to_nobody(home, root, write=True)
    assert grants.to_nobody(f"{home}/x", Place("/p"), write=True)


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
    assert "protected" not in explained(stderr, may=may, enforced=WALLS).sentence
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

    assert found.sentence == f"{COULD_READ}; limits.memory was 3MiB"
    assert found.grants == ("limits: {cpu: 5s, memory: 6MiB, output: 1001}",)
    assert found.causes == ("memory",)
    assert many.grants == ("limits: {processes: 512, open_files: 2048}",)


@pytest.mark.parametrize("enforced", [WALLS, ("limits",)])
def test_limit_that_the_whole_tree_has_passed_is_the_one_to_blame(
    enforced: tuple[str, ...],
) -> None:
    ending = Ending(COULD_NOT_RESOLVE, signal=9, exceeded="processes")

    found = explained(enforced=enforced, ending=ending, limits=Limits(processes=4))

    walls = f"{COULD_READ}; " if enforced == WALLS else ""
    assert found == Confined(
        f"{walls}limits.processes was 4", ("limits: {processes: 8}",), FILE, ("processes",)
    )


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
    own = explained("cat: /p/x: Permission denied", caller=caller, enforced=TIER_B)

    assert found.sentence == f"{COULD_READ}; its caller outer may not do it either"
    assert found.grants == ("permissions: {network: [api.example.org]}",)
    assert found.where == "the definition of outer, too"
    assert own.where == FILE


def test_hostile_names_are_written_so_that_they_stay_names() -> None:
    stderr = "cat: '/srv/a, b: {c}\u3164#': Permission denied"

    (line,) = explained(stderr, enforced=TIER_B).grants

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
