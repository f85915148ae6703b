"""The block `custom_tools` of config.yml (seed 003): each key changes what happens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.acceptance.conftest import Place, Run
from tests.acceptance.test_seed_003 import SEED, described, executable, put

Configure = Callable[..., None]


@pytest.fixture
def configure(place: Place, tongs: Run) -> Configure:
    """Write `custom_tools` into the user's config, or into the project's, trusted or not."""

    def write(block: str, *, scope: str = "user") -> None:
        path = (place.user if scope == "user" else place.project / ".tongs") / "config.yml"
        path.write_text(block if block.startswith("tools:") else f"custom_tools: {{{block}}}\n")
        if scope == "trusted":
            tongs("trust", "--yes", str(path))

    return write


def names(tongs: Run) -> list[str]:
    return [one["name"] for one in json.loads(tongs("tool", "list", "--json").stdout)]


def test_executables_can_be_switched_off_even_by_a_stranger(
    place: Place, tongs: Run, configure: Configure
) -> None:
    put(SEED / "hello", place.home / ".kodelet" / "tools")
    place.tool("plain", "tags: [read]\nbash: echo hi\n", scope="user")
    before = names(tongs)
    configure("enabled: false", scope="untrusted")
    by_project = names(tongs)
    configure("enabled: true", scope="untrusted")
    configure("enabled: false")

    assert (before, by_project) == (["hello", "plain"], ["plain"])
    assert names(tongs) == ["plain"]
    assert tongs("tool", "run", "hello", "name=A").code == 2


def test_the_folder_of_the_user_can_be_moved_but_not_by_a_stranger(
    place: Place, tongs: Run, configure: Configure
) -> None:
    put(SEED / "hello", place.home / "my-tools")
    inside = put(SEED / "git_info", place.project / "innocent")
    configure("global_dir: ~/my-tools")
    moved = names(tongs)
    configure(f"global_dir: {inside.parent}", scope="untrusted")

    assert moved == ["hello"]
    assert names(tongs) == ["hello"]
    assert tongs("tool", "run", "hello", "name=A").stdout == "Hello, A!\n"


def test_the_folder_of_the_project_can_be_moved_but_not_by_a_stranger(
    place: Place, tongs: Run, configure: Configure
) -> None:
    put(SEED / "hello", place.project / "kodelet-tools")
    put(SEED / "git_info", place.project / "other")
    before = names(tongs)
    configure("local_dir: ./other", scope="untrusted")
    ignored = names(tongs)
    configure("local_dir: ./other", scope="trusted")
    trusted = names(tongs)
    configure("local_dir: ./kodelet-tools")
    configure("local_dir: other", scope="untrusted")

    assert (before, ignored, trusted) == (["hello"], ["hello"], ["git_info"])
    assert names(tongs) == ["hello"]


def test_the_time_of_executables_is_a_duration_that_a_stranger_only_shortens(
    place: Place, tongs: Run, configure: Configure
) -> None:
    executable(place.user / "tools/slow", described("slow", "sleep 20"))

    def stopped() -> tuple[str, bool]:
        result = json.loads(tongs("tool", "run", "slow", "--json").stdout)
        return result["error"]["code"], result["metadata"]["durationMs"] < 10_000

    configure("timeout: 500ms")
    configure("timeout: 1h", scope="untrusted")
    longer = stopped()
    configure("timeout: 30s")
    configure("timeout: 400ms", scope="untrusted")

    assert longer == stopped() == ("TIMEOUT", True)


def test_the_output_of_executables_is_cut_where_the_config_says(
    place: Place, tongs: Run, configure: Configure
) -> None:
    executable(place.user / "tools/loud", described("loud", "printf %0100d 0"))

    def size() -> int:
        return len(json.loads(tongs("tool", "run", "loud", "--json").stdout)["output"])

    whole = size()
    configure("max_output_size: 40")
    cut = size()
    configure("max_output_size: 1MiB", scope="untrusted")
    wider = size()
    configure("max_output_size: 10", scope="untrusted")

    assert (whole, cut, wider, size()) == (100, 40, 40, 10)


def test_variables_reach_executables_only_by_the_persons_word(
    place: Place, tongs: Run, configure: Configure
) -> None:
    executable(place.user / "tools/show", described("show", 'echo "[$TOKEN]"'))
    place.tool("yaml", 'tags: [read]\nbash: echo "[$TOKEN]"\n', scope="user")

    def seen(name: str = "show") -> str:
        return tongs("tool", "run", name, env={"TOKEN": "secret"}).stdout

    before = seen()
    configure("env_whitelist: [PATH, TOKEN]", scope="untrusted")
    stranger = seen()
    configure("env_whitelist: [PATH, TOKEN]", scope="trusted")
    trusted = seen()
    configure("env_whitelist: []", scope="untrusted")
    configure("env_whitelist: [PATH, TOKEN]")

    assert (before, stranger, trusted, seen()) == ("[]\n", "[]\n", "[secret]\n", "[secret]\n")
    assert seen("yaml") == "[]\n"


def test_the_prefix_is_accepted_where_a_tool_is_named(
    place: Place, tongs: Run, configure: Configure
) -> None:
    put(SEED / "hello", place.home / ".kodelet" / "tools")

    def works(name: str) -> bool:
        return tongs("tool", "run", name, "name=A").stdout == "Hello, A!\n"

    before = works("custom_tool_hello"), works("my_hello")
    configure("prefix: my_", scope="untrusted")
    stranger = works("my_hello")
    configure("prefix: my_")

    assert (before, stranger) == ((True, False), False)
    assert works("my_hello")
    assert works("custom_tool_hello")


def test_one_executable_has_variables_and_time_of_its_own(
    place: Place, tongs: Run, configure: Configure
) -> None:
    executable(place.user / "tools/show", described("show", 'echo "$A $B"'))
    executable(place.user / "tools/slow", described("slow", "sleep 20"))
    own = "tools: {show: {envs: {A: x, B: null}}, slow: {timeout: 300ms}}\n"

    def seen() -> str:
        return tongs("tool", "run", "show", env={"B": "inherited"}).stdout

    configure(own, scope="untrusted")
    stranger = seen()
    configure(own)
    slow = json.loads(tongs("tool", "run", "slow", "--json").stdout)

    assert (stranger, seen()) == (" \n", "x inherited\n")
    assert slow["error"]["code"] == "TIMEOUT"
    assert slow["metadata"]["durationMs"] < 10_000


def test_a_profile_sets_them_too(place: Place, tongs: Run, configure: Configure) -> None:
    put(SEED / "hello", place.home / ".kodelet" / "tools")
    folder: Path = place.user / "profiles"
    folder.mkdir()
    (folder / "plain.yml").write_text("custom_tools: {enabled: false}\n")

    assert names(tongs) == ["hello"]
    assert json.loads(tongs("tool", "list", "--json", "--profile", "plain").stdout) == []
