"""Nothing that a tool starts can decide in place of the person (SEMANTICS 37).

Every command is either one of authority, with arguments that work for a person, or named here as
one that decides nothing. A new command that is neither fails the first test.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from shutil import copy

import pytest
from tests.acceptance.conftest import TONGS, Place, Run, Show

import tongs as package
from tongs.surfaces.cli.commands import AUTHORITY, COMMANDS

Words = tuple[str, ...]

SERVERS = Path(__file__).parents[1] / "data" / "mcp" / "mcp.json"
SERVER = Path(__file__).parents[1] / "small_mcp_server.py"
PETSTORE = Path(__file__).parents[1] / "data" / "openapi" / "pets.yaml"

# A line for each command of authority: `tongs WORDS ARGUMENTS` works outside of a call. What stands
# in braces is the id of something that waits, or was decided.
BY_A_PERSON: dict[Words, str] = {
    ("tool", "add"): "new --description d --bash 'echo hi' --user",
    ("tool", "remove"): "mine --user",
    ("tool", "new"): "fresh --user",
    ("tool", "import"): f"--openapi {PETSTORE} --operation getPet --name pet --user",
    ("tool", "create"): "say --from say.yml --creator claude",
    ("mcp", "serve"): "",  # ends with its input
    ("mcp", "install"): "cursor",
    ("mcp", "import"): f"{SERVERS} --yes --user",
    ("mcp", "add"): "fresh -- python3 server.py tools.json",
    ("mcp", "inspect"): "small",
    ("mcp", "pin"): "small --yes",
    ("mcp", "remove"): "small",
    ("trust",): "other --yes",
    ("review",): "made --yes",
    ("chat",): "--list",
    ("approvals", "list"): "",
    ("approvals", "revoke"): "{remembered}",
    ("approvals", "pending"): "",
    ("approvals", "approve"): "{first}",
    ("approvals", "deny"): "{second}",
    ("config", "set"): "limits.memory 1GiB",
    ("config", "init"): "--local",
    ("audit", "head"): "",
}

# These show, check or run something, and leave every decision as it was.
DECIDE_NOTHING: set[Words] = {
    *(("tool", word) for word in ("list", "get", "run", "test", "validate")),
    *(("config", word) for word in ("list", "get", "path")),
    *(("sandbox", word) for word in ("run", "explain")),
    *(("rules", word) for word in ("list", "test", "explain", "check")),
    *(("audit", word) for word in ("list", "show", "stats", "export", "verify")),
    *(("trash", word) for word in ("list", "restore", "empty")),
    ("tools", "export"),
    ("mcp", "list"),
    *((word,) for word in ("run", "models")),
    *((word,) for word in ("lint", "schema", "doctor", "completion", "help", "__complete")),
}

ASKS = "approval: {required: true, reason: look}\ntags: [read]\n"
SAY = """description: says it
kind: command
exec: {command: {entrypoint: echo, args: [hi]}}
permissions: {network: false, fs: {read: [], write: []}, secrets: {}}
"""


# Keys that let a person decide for good, each after what it answers.
ALWAYS = [("[d]eny", "A"), ("(empty: back): ", "1"), ("[u]ser", "u"), ("until when", "")]


@pytest.fixture
def ids(place: Place, tongs: Run, screen: Show) -> dict[str, str]:
    """Two questions that wait, and one decision that is remembered."""
    place.tool("asks", "bash: echo {N}\nparameters: {N: {}}\n" + ASKS, scope="user")
    place.tool("loud", "bash: echo loud\n" + ASKS, scope="user")
    for number in ("1", "2"):
        assert tongs("tool", "run", "asks", f"N={number}", "--wait", "0s").code == 3
    shown = screen("tool", "run", "loud")
    for question, typed in ALWAYS:
        shown.wait_for(question)
        shown.type(f"{typed}\n")
    assert shown.end() == 0
    first, second = (q["id"] for q in json.loads(tongs("approvals", "pending", "--json").stdout))
    (decision,) = json.loads(tongs("approvals", "list", "--json").stdout)
    return {"first": first, "second": second, "remembered": decision["id"]}


@pytest.fixture
def scene(place: Place, tongs: Run) -> Place:
    """A project in which every one of the commands has something to do."""
    place.tool("other", "bash: echo other\n")
    place.tool("mine", "bash: echo mine\n", scope="user")
    (place.project / "say.yml").write_text(SAY)
    copy(SERVER, place.project / "server.py")
    (place.project / "tools.json").write_text("[]")
    small = "mcp: {servers: {small: {command: python3 server.py tools.json}}}\n"
    (place.user / "config.yml").write_text(small)
    assert tongs("tool", "create", "made", "--from", "say.yml", "--creator", "claude").code == 0
    return place


@pytest.fixture
def inside(place: Place, tongs: Run, limited: Run, tier: str) -> Run:
    """`inside("echo hi")`: a line of bash in a call that may write to the whole project."""
    # All that the command needs to run, in there.
    needed = [sys.prefix, sys.base_prefix, str(Path(package.__file__).parents[1]), str(PETSTORE)]
    permissions = {"fs": {"read": needed, "write": ["."]}}

    def run(script: str) -> str:
        definition = {
            "bash": script,
            "environment": {key: place.env[key] for key in ("TONGS_HOME", "TONGS_GLOBAL")},
            "permissions": permissions,
            "timeout": 50_000,
        }
        place.tool("inside", json.dumps(definition), scope="user")
        done = (limited if tier == "B" else tongs)("tool", "run", "inside", "--json")
        result = json.loads(done.stdout)
        walls = "namespaces" if tier == "A" else "landlock"
        assert result["error"] is None, (walls, result)
        assert ("stat" in result["metadata"]["notEnforced"]) == (tier == "B")
        return str(result["output"])

    return run


def test_every_command_is_known_to_decide_or_not_to() -> None:
    assert set(COMMANDS) - AUTHORITY == DECIDE_NOTHING, "is the new one of authority?"
    assert set(BY_A_PERSON) == AUTHORITY, "a command of authority needs arguments that work"


@pytest.mark.parametrize("tier", ["A", pytest.param("B", marks=pytest.mark.full)])
def test_no_command_of_authority_works_inside_of_a_call(
    scene: Place, tongs: Run, inside: Run, ids: dict[str, str], tier: str
) -> None:
    lines = {
        words: f"{' '.join(words)} {BY_A_PERSON[words].format(**ids)}"
        for words in sorted(AUTHORITY)
    }
    script = "\n".join(
        f"{shlex.quote(TONGS)} {line} >out 2>&1; echo $? $(grep -c 'started by one' out)"
        for line in lines.values()
    )

    answers = dict(zip(lines, inside(script).splitlines(), strict=True))

    # 3 is "denied", and each says why.
    assert answers == dict.fromkeys(lines, "3 1")
    assert tongs("tool", "run", "other").code == 3
    assert tongs("tool", "run", "made", "--yes").code == 3

    for words, line in lines.items():
        done = tongs(*shlex.split(line))
        assert done.code == 0, (words, done)
    assert tongs("tool", "run", "other").stdout == "other\n"
    assert tongs("tool", "run", "made", "--yes").stdout == "hi\n"


@pytest.mark.parametrize("tier", ["A", "B"])
def test_no_file_that_decides_can_be_written_inside_of_a_call(
    scene: Place, tongs: Run, inside: Run, tier: str
) -> None:
    state, user = scene.state, scene.user
    files = [
        *(state / name for name in ("trust.json", "approvals.yml", "approvals.db", "new")),
        state / "mcp" / "pins.json",
        *(state / "audit").iterdir(),
        *(user / name for name in ("config.yml", "tools/mine.yaml", "tools/new.yaml")),
        scene.glob / "config.yml",
    ]
    before = {path: path.read_bytes() if path.exists() else None for path in files}
    script = "\n".join(
        f"(echo evil >> {shlex.quote(str(path))}) 2>/dev/null && echo {shlex.quote(str(path))}"
        for path in files
    )

    written = inside(f"{script}\ntrue")

    after = {path: path.read_bytes() if path.exists() else None for path in files}
    record = dict.fromkeys((state / "audit").iterdir())  # the call itself is recorded
    assert written == ""
    assert {**after, **record} == {**before, **record}
    assert tongs("audit", "verify").code == 0
    # The same by the person.
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write("evil\n")
    assert tongs("audit", "verify").code != 0


@pytest.mark.parametrize("tier", ["A", "B"])
def test_what_a_call_writes_into_the_project_gives_it_nothing(
    scene: Place, tongs: Run, inside: Run, tier: str
) -> None:
    script = """
    echo 'security: {auto_approve: ["*"], enforcement: off}' > .tongs/config.yml
    echo 'bash: echo evil' > .tongs/tools/new.yaml
    sed -i s/hi/evil/ .tongs/tools/made/tool.yml
    true
    """
    tongs("review", "made", "--yes")

    inside(script)

    # In tier A it is not even written; in tier B nothing of it counts.
    assert (scene.project / ".tongs/config.yml").exists() == (tier == "B")
    refused = tongs("tool", "run", "new")
    assert refused.code == (3 if tier == "B" else 2)
    assert "evil" not in refused.stdout
    changed = tongs("tool", "run", "made", "--yes")
    assert (changed.code, changed.stdout) == ((3, "") if tier == "B" else (0, "hi\n"))
    listed = json.loads(tongs("config", "list", "--json").stdout)
    assert '"off"' not in json.dumps(listed["settings"])


def test_no_permission_opens_the_folder_of_the_person(place: Place, tongs: Run) -> None:
    beside = place.home / "beside"
    beside.mkdir()
    written = {}
    for folder in (place.user, place.state, beside):
        definition = {
            "bash": f"echo evil > {shlex.quote(str(folder / 'config.yml'))}",
            "permissions": {"fs": {"write": [str(folder)]}},
        }
        place.tool("greedy", json.dumps(definition), scope="user")
        done = tongs("tool", "run", "greedy")
        written[folder] = (done.code, (folder / "config.yml").exists())

    assert written == {place.user: (1, False), place.state: (1, False), beside: (0, True)}
