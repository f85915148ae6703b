"""MCP servers in the settings of other programs, as `mcp.servers` of config.yml has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from tongs.authoring.mcp_clients.secrets import looks_secret, shaped_secret
from tongs.authoring.mcp_clients.variables import Variables, variable_name
from tongs.core.annotations import Any
from tongs.core.record import dataclass, field, replace

# A word of these, the last one of a value, is read as a reference; in other programs it is a text.
_REFERENCES = ("env:", "file:", "keyring:")
# Words before the secret of a header.
_SCHEMES = frozenset(("bearer", "basic", "token", "apikey"))
# Keys that are read, and those that say nothing a server needs.
_READ = frozenset(
    "type transport command args env env_vars cwd url httpUrl serverUrl headers http_headers "
    "env_http_headers bearer_token_env_var timeout tool_timeout_sec startup_timeout_sec disabled "
    "enabled description excludeTools disabled_tools envFile".split()
)
_SILENT = frozenset(("name", "icon", "version", "gallery", "id", "dev"))
_APPROVING = frozenset(("alwaysAllow", "autoApprove", "trust", "autoAllow"))


@dataclass(frozen=True, slots=True)
class Source:
    """Where servers were found, and how that program writes what it leaves open."""

    servers: Mapping[str, Any]
    variables: Variables
    # What one unit of `timeout` is there, in seconds.
    unit: float = 0.001
    # Whether `url` alone means the older transport.
    url_is_sse: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """One server: its entry for config.yml, and what a person should know about it."""

    name: str
    entry: dict[str, Any]
    notes: tuple[str, ...] = ()
    # Variables that have to be set, each with what it has to hold.
    needs: Mapping[str, str] = field(default_factory=dict)
    # Why it cannot be taken over; empty where it can.
    refused: str = ""


def sources(data: Mapping[str, Any], variables: Variables) -> list[Source]:
    """Every group of servers in a file, whichever program it belongs to."""
    inputs = _inputs(data)
    variables = replace(variables, inputs=inputs)
    if isinstance(servers := data.get("mcp_servers"), Mapping):  # Codex
        return [Source(servers, variables, unit=1)]
    if isinstance(servers := data.get("servers"), Mapping):  # VS Code
        return [Source(servers, variables)]
    if isinstance(nested := data.get("mcp"), Mapping) and isinstance(
        servers := nested.get("servers"), Mapping
    ):  # VS Code, in its settings.json
        return [Source(servers, replace(variables, inputs=_inputs(nested)))]
    found = []
    if isinstance(servers := data.get("mcpServers"), Mapping):
        gemini = any("httpUrl" in s for s in servers.values() if isinstance(s, Mapping))
        bare = replace(variables, bare=gemini)
        found.append(Source(servers, bare, url_is_sse=gemini))
    projects = data.get("projects")
    if isinstance(projects, Mapping) and isinstance(
        here := projects.get(variables.project), Mapping
    ):  # Claude Code: what a person added for one project only
        own = here.get("mcpServers")
        found += [Source(own, variables)] if isinstance(own, Mapping) and own else []
    return found


def _inputs(data: Mapping[str, Any]) -> dict[str, str]:
    written = data.get("inputs")
    listed = written if isinstance(written, list) else []
    ids = [str(each["id"]) for each in listed if isinstance(each, Mapping) and "id" in each]
    return {each: variable_name(each) for each in ids}


def read(source: Source) -> Iterator[Found]:
    """Each server of a source, in its order."""
    taken: set[str] = set()
    for written, data in source.servers.items():
        name = _free(config_name(str(written)), taken)
        taken.add(name)
        if not isinstance(data, Mapping):
            yield Found(name, {}, refused="it is written in an unknown way")
            continue
        found = _Reading(name, data, source).found()
        if name != written:
            found = replace(found, notes=(f"it was called `{written}`", *found.notes))
        yield found


def config_name(written: str) -> str:
    """A name that fits into those of tools: letters, digits, `-`, and `_` one at a time."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", written)
    name = re.sub(r"__+", "_", name).strip("_-")[:60].rstrip("_-")
    return name or "server"


def _free(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


class _Reading:
    def __init__(self, name: str, data: Mapping[str, Any], source: Source) -> None:
        self._name = name
        self._data = data
        self._source = source
        self._notes: list[str] = []
        self._needs: dict[str, str] = {}
        self._entry: dict[str, Any] = {}

    def found(self) -> Found:
        refused = self._transport()
        if refused:
            return Found(self._name, {}, refused=refused)
        self._times()
        self._tools()
        if self._data.get("disabled") is True or self._data.get("enabled") is False:
            self._entry["enabled"] = False
        if self._data.get("envFile"):
            self._notes.append(f"its variables in {self._data['envFile']} are not read")
        for key in self._data:
            if key in _APPROVING:
                self._notes.append(f"`{key}` is not taken over: your rules decide about its calls")
            elif key not in _READ and key not in _SILENT:
                self._notes.append(f"`{key}` is not taken over")
        return Found(self._name, self._entry, tuple(self._notes), self._needs)

    def _transport(self) -> str:
        """Fill in how it is reached; why that is impossible, or nothing."""
        kind = str(self._data.get("type") or self._data.get("transport") or "").lower()
        url = self._data.get("httpUrl") or self._data.get("url") or self._data.get("serverUrl")
        command = self._data.get("command")
        if kind == "sse" or (self._source.url_is_sse and url and not self._data.get("httpUrl")):
            return "it speaks the older transport SSE; ask its makers for an address of the newer"
        if isinstance(url, str) and url:
            return self._address(url)
        if isinstance(command, str) and command.strip():
            self._program(command)
            return ""
        return "it has neither a command nor an address"

    def _address(self, url: str) -> str:
        filled = self._source.variables.filled(url)
        if filled.left:
            return f"its address holds {', '.join(filled.left)}, which is not known"
        if not re.fullmatch(r"https?://\S+", filled.text):
            return "its address is no http:// or https://"
        self._entry["url"] = filled.text
        if shaped_secret(filled.text):
            self._notes.append("its address seems to hold a secret, which stands in config.yml now")
        headers = self._texts("headers") | self._texts("http_headers")
        written = {key: self._value(key, value, header=True) for key, value in headers.items()}
        for header, variable in self._texts("env_http_headers").items():
            written[header] = f"env:{variable}"
            self._needs[variable] = f"its header {header}"
        if isinstance(token := self._data.get("bearer_token_env_var"), str):
            written["Authorization"] = f"Bearer env:{token}"
            self._needs[token] = "the token of its header Authorization"
        if kept := {key: value for key, value in written.items() if value is not None}:
            self._entry["headers"] = kept
        return ""

    def _program(self, command: str) -> None:
        words = [command, *self._words("args")]
        if words[0].lower() in ("cmd", "cmd.exe") and len(words) > 2 and words[1].lower() == "/c":
            words = words[2:]
        filled = [self._source.variables.filled(word) for word in words]
        left = dict.fromkeys(place for each in filled for place in each.left)
        self._entry["command"] = filled[0].text
        if len(filled) > 1:
            self._entry["args"] = [each.text for each in filled[1:]]
        elif re.search(r"[\s'\"\\]", filled[0].text):
            # One text alone would be split as a shell does.
            self._entry["command"] = [filled[0].text]
        if left:
            self._entry["enabled"] = False
            self._notes.append(
                f"its command line holds {', '.join(left)}, which is not known: write the value "
                "there, then remove `enabled: false`"
            )
        if any(map(shaped_secret, words[1:])) or _secret_options(words[1:]):
            self._notes.append(
                "its arguments seem to hold a secret, which every program of yours can see"
            )
        self._environment()
        if isinstance(cwd := self._data.get("cwd"), str) and cwd:
            folder = self._source.variables.filled(cwd).text
            self._entry["cwd"] = folder

    def _environment(self) -> None:
        values = self._texts("env")
        written: dict[str, Any] = {}
        for name, value in values.items():
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                self._notes.append(f"its variable `{name}` is not taken over: it is no such name")
            elif (kept := self._value(name, value)) is not None:
                written[name] = kept
        for name in self._words("env_vars"):
            written[name] = None
            self._needs.setdefault(name, f"its variable {name}")
        if written:
            self._entry["env"] = written

    def _value(self, name: str, value: str, *, header: bool = False) -> str | None:
        """A value as config.yml has it: itself, a reference, or None for what cannot be had."""
        filled = self._source.variables.filled(value)
        what = f"its header {name}" if header else f"its variable {name}"
        if filled.whole:
            self._needs[filled.whole] = what
            return f"env:{filled.whole}"
        before, _, last = filled.text.rpartition(" ")
        if filled.left:
            only = self._source.variables.filled(last).whole
            if only and not self._source.variables.filled(before).left:
                self._needs[only] = f"a part of {what}"
                return f"{before} env:{only}"
            variable = variable_name(f"{self._name}_{name}") if header else name
            self._needs[variable] = f"`{filled.text}`, whole"
            return f"env:{variable}"
        if last.startswith(_REFERENCES):
            self._notes.append(f"{what} is left out: its text reads like a reference to a secret")
            return None
        if looks_secret(name, filled.text):
            variable = variable_name(f"{self._name}_{name}") if header else name
            self._notes.append(f"{what} looks like a secret: it is not copied, but named")
            if header and before.lower() in _SCHEMES:
                self._needs[variable] = f"what follows {before} in {what}"
                return f"{before} env:{variable}"
            self._needs[variable] = what
            return f"env:{variable}"
        return filled.text

    def _times(self) -> None:
        for key, unit, name in (
            ("timeout", self._source.unit, "timeout"),
            ("tool_timeout_sec", 1, "timeout"),
            ("startup_timeout_sec", 1, "start_timeout"),
        ):
            value = self._data.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
                self._entry[name] = f"{max(round(value * unit), 1)}s"

    def _tools(self) -> None:
        out = [*self._words("excludeTools"), *self._words("disabled_tools")]
        if out:
            self._entry["tools"] = {tool: {"enabled": False} for tool in out}

    def _texts(self, key: str) -> dict[str, str]:
        held = self._data.get(key)
        items = held.items() if isinstance(held, Mapping) else ()
        return {str(name): _plain(value) for name, value in items if value is not None}

    def _words(self, key: str) -> list[str]:
        held = self._data.get(key)
        return [_plain(word) for word in held] if isinstance(held, list) else []


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _secret_options(words: list[str]) -> bool:
    """`--api-key X`, `--token=X`."""
    for word, after in pairwise([*words, ""]):
        option, equals, value = word.partition("=")
        held = value if equals else after
        given = option.startswith("-") and held and not held.startswith(("-", "$"))
        if given and looks_secret(option.lstrip("-"), held):
            return True
    return False
