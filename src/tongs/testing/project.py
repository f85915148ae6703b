"""A project, a home and a runtime that exist for one test."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from tongs.config.environment import temporarily
from tongs.core.annotations import Any
from tongs.core.approval import Approver
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.result import ToolResult
from tongs.core.tool import Tool, ToolLike
from tongs.runtime import Runtime

AGENT = Caller(CallerKind.AGENT, "test")
TOOLS = os.path.join(".tongs", "tools")


class Project:
    """`root` is its folder; `runtime` is a real one, with the whole pipeline."""

    def __init__(self, root: str, runtime: Runtime) -> None:
        self.root = root
        self.runtime = runtime

    def write(self, path: str, text: str, *, executable: bool = False) -> str:
        """Put a file into the project, and trust it if it is a tool; its whole path."""
        whole = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(text)
        if executable:
            os.chmod(whole, 0o755)
        if os.path.dirname(path) == TOOLS:
            self.trust(whole)
        return whole

    def read(self, path: str) -> str:
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def trust(self, path: str) -> None:
        """Accept a tool as it is now, as the person would."""
        tool = self.runtime.at(os.path.join(self.root, path))
        if not tool.trust.holds:
            self.runtime.definitions.accept(tool)

    def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, /, **kwargs: Any
    ) -> ToolResult:
        """What an agent gets that makes this call."""
        return self.runtime.call_sync(name, arguments, caller=AGENT, **kwargs)

    def call_as_person(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """What a person gets who types it, which is an approval."""
        typed = Caller(CallerKind.PERSON, "test")
        call = ToolCall(os.urandom(6).hex(), name, dict(arguments or {}), typed)
        return self.runtime.run_sync(call)

    @property
    def audit(self) -> str:
        """What was recorded, one line for each event."""
        return self.read(os.path.join(".tongs", "audit", "tools.log"))


@contextmanager
def project(
    *,
    tools: Iterable[Tool | ToolLike] = (),
    files: Mapping[str, str] | None = None,
    person: Approver | None = None,
    secrets: Mapping[str, str] | None = None,
    auto_approve: Iterable[str] = (),
    auto_deny: Iterable[str] = (),
    config: str | Mapping[str, Any] = "",
) -> Iterator[Project]:
    """A project in a folder of its own, gone when the test ends.

    `tools` are registered, `files` are written (those in `.tongs/tools` are trusted), `person` is
    asked what has to be asked, `secrets` are the only ones there are, `config` is the
    person's config.yml, as text or as data. Nothing of the real home is read or written.
    """
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - for tests only

    with TemporaryDirectory(prefix="tongs-test-") as folder:
        real = os.path.realpath(folder)
        home, root = os.path.join(real, "home"), os.path.join(real, "project")
        os.makedirs(os.path.join(home, ".tongs"), mode=0o700)
        os.makedirs(os.path.join(root, TOOLS))
        if config:
            with open(os.path.join(home, ".tongs", "config.yml"), "w", encoding="utf-8") as file:
                # JSON is YAML.
                file.write(config if isinstance(config, str) else json.dumps(config))
        places = {
            "HOME": home,
            "TONGS_HOME": os.path.join(home, ".tongs"),
            "TONGS_GLOBAL": os.path.join(real, "global"),
        }
        with temporarily(places):
            runtime = Runtime.open(
                root,
                approver=person,
                auto_approve=auto_approve,
                auto_deny=auto_deny,
                secrets=({} if secrets is None else secrets).get,
                tools=tools,
            )
        with runtime:
            made = Project(root, runtime)
            for path, text in (files or {}).items():
                made.write(path, text)
            yield made
