"""The runnable part of a YAML tool: exactly one action, or steps, compiled into a `Plan`."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator, Mapping

from tongs.config.environment import forbidden_from_model
from tongs.core.annotations import Any, TypeVar
from tongs.core.errors import Problem
from tongs.core.record import dataclass, field, replace
from tongs.schema.document import Document
from tongs.template import text as text_template
from tongs.template import words
from tongs.template.placeholder import Placeholder, find
from tongs.template.plan import STEP_PROPERTIES, Action, Nested, Plan, Process, Script, Step
from tongs.template.text import DataTemplate, TextTemplate
from tongs.template.values import Slot, TemplateError

T = TypeVar("T")
Path = tuple[str | int, ...]

# The key that names the action, and the shell it is short for.
SCRIPT_KEYS = {"bash": "bash", "cmd": "cmd", "pwsh": "pwsh", "python": "python"}
ACTIONS = ("run", *SCRIPT_KEYS, "script", "tool", "steps")
SHELLS = ("bash", "sh", "python", "pwsh", "cmd")

# One of each may stand side by side: the platform chooses (SEMANTICS 5).
_FOR_WINDOWS = ("pwsh", "cmd")
_FOR_OTHERS = ("bash", "pwsh")


@dataclass(frozen=True, slots=True)
class Host:
    """What the machine decides about a definition."""

    platform: str = "linux"
    default_shell: str = "bash"


@dataclass(slots=True)
class Compiler:
    """Compiles one definition. Collects every problem instead of stopping at the first."""

    document: Document
    slots: dict[str, Slot]
    host: Host
    # The definition came from the cache, where only checked ones are kept.
    checked: bool
    problems: list[Problem] = field(default_factory=list)
    raw_names: set[str] = field(default_factory=set)

    def plan(self, data: Mapping[str, Any], path: Path) -> Plan | None:
        """The plan of a tool definition that the schema has accepted."""
        parameters = dict(self.slots)
        steps = tuple(self._steps(data, path))
        # Tool-level texts hold for every step, so they cannot refer to one.
        here = replace(self, slots=parameters)
        directory = here.text(data, path, "working-directory")
        environment = here.environment(data, path)
        if self.problems:
            return None
        return Plan(
            steps=steps,
            slots=self.slots,
            several="steps" in data,
            working_directory=directory,
            environment=environment,
        )

    def _steps(self, data: Mapping[str, Any], path: Path) -> Iterator[Step]:
        if "steps" not in data:
            if (action := self._action(data, path)) is not None:
                yield self._single(data, path, action)
            return
        self._only_one(data, path)
        names: set[str] = set()
        for index, entry in enumerate(data["steps"]):
            where = (*path, "steps", index)
            name = str(entry.get("name") or f"step{index + 1}")
            if name in names:
                self.problem((*where, "name"), f"there are two steps named `{name}`")
            names.add(name)
            if (action := self._action(entry, where)) is not None:
                yield self._step(name, entry, where, action)
            for kind in STEP_PROPERTIES:
                self.slots[f"{name}.{kind}"] = Slot(
                    f"{name}.{kind}", "integer" if kind == "exit-code" else "string"
                )

    def _single(self, data: Mapping[str, Any], path: Path, action: Action) -> Step:
        # Timeout, directory and environment of a single-step tool stand at tool level.
        return Step(
            name=str(data.get("name") or file_stem(self.document)),
            action=action,
            arguments=self._arguments(data, path),
            input=self.text(data, path, "input"),
        )

    def _step(self, name: str, data: Mapping[str, Any], path: Path, action: Action) -> Step:
        timeout = data.get("timeout")
        return Step(
            name=name,
            action=action,
            arguments=self._arguments(data, path),
            input=self.text(data, path, "input"),
            timeout=None if timeout is None else timeout / 1000,
            working_directory=self.text(data, path, "working-directory"),
            environment=self.environment(data, path),
            continue_on_error=bool(data.get("continue-on-error", False)),
        )

    def _action(self, data: Mapping[str, Any], path: Path) -> Action | None:
        key = self._only_one(data, path)
        if key is None:
            return None
        if key == "run":
            compiled = self.compiled((*path, key), lambda: self._words(data[key]))
            if compiled is None:
                return None
            self._check_input(compiled, data, path)
            return Process(compiled)
        if key == "tool":
            return Nested(data["tool"], data.get("mcp"))
        shell = SCRIPT_KEYS.get(key) or str(data.get("shell", "default"))
        return self._script(data, (*path, key), shell)

    def _words(self, source: str) -> words.WordsTemplate:
        """The words of `run:`; a second interpreter among them is refused as in a script."""
        template = words.compile(source, self.slots, windows=self.host.platform == "windows")
        for error in () if self.checked else words.check_programs(template):
            raise error
        return template

    def _check_input(
        self, template: words.WordsTemplate, data: Mapping[str, Any], path: Path
    ) -> None:
        """A program that runs what it reads: `run: bash` with a value in `input:`."""
        if self.checked or data.get("input") is None:
            return
        items = find(str(data["input"]), self.slots)
        values = [item for item in items if isinstance(item, Placeholder)]
        for error in words.check_programs(template, values):
            self.problem((*path, "input"), error.message, hint=error.hint, rule=error.rule)

    def _only_one(self, data: Mapping[str, Any], path: Path) -> str | None:
        """The one action key, chosen by platform where there is one for each."""
        present = [key for key in data if key in ACTIONS]
        preferred = _FOR_WINDOWS if self.host.platform == "windows" else _FOR_OTHERS
        if set(present) <= {"bash", "cmd", "pwsh"} and len(present) > 1:
            return next((key for key in preferred if key in present), present[0])
        if len(present) == 1:
            return present[0]
        listed = ", ".join(ACTIONS[:-1] if path and "steps" in path else ACTIONS)
        if present:
            message = f"only one of {', '.join(present)} can be run"
            self.problem((*path, present[1]), message, hint="keep one of them")
        elif "mcp" in data:
            self.problem((*path, "mcp"), "`mcp` names a server and needs `tool` beside it")
        else:
            self.problem(path, "nothing to run", hint=f"add one of: {listed}")
        return None

    def _script(self, data: Mapping[str, Any], path: Path, shell: str) -> Script | None:
        source = data[str(path[-1])]
        if shell == "default":
            shell = self.host.default_shell
        if shell not in SHELLS:
            return self._custom_shell(source, path, shell)
        compiled = self.compiled(path, lambda: _compile_script(source, self, shell))
        return None if compiled is None else Script(shell, compiled)

    def _custom_shell(self, source: str, path: Path, shell: str) -> Script | None:
        where = (*path[:-1], "shell")
        try:
            command = tuple(words.compile(shell, {}).render({}))
        except TemplateError as error:
            self.problem(where, error.message, hint=error.hint)
            return None
        if not any("{0}" in word for word in command):
            self.problem(
                where,
                f"`{shell}` is no known shell and has no {{0}} for the script file",
                hint=f"use default, {', '.join(SHELLS)}, or a template like `zsh {{0}} {{1}}`",
            )
            return None
        compiled = self.compiled(path, lambda: text_template.compile(source, self.slots))
        if compiled is None:
            return None
        for name in sorted(compiled.names - compiled.raw_names):
            self.problem(
                path,
                f"{{{name}}} cannot be quoted for `{shell}`",
                hint=f"pass it through `arguments:`, or write {{RAW:{name}}} if it is code",
                rule="unknown-shell",
            )
        return Script("custom", compiled, command)

    def _arguments(self, data: Mapping[str, Any], path: Path) -> DataTemplate | None:
        if data.get("arguments") is None:
            return None
        return self.compiled(
            (*path, "arguments"), lambda: text_template.compile_data(data["arguments"], self.slots)
        )

    def text(self, data: Mapping[str, Any], path: Path, key: str) -> TextTemplate | None:
        if data.get(key) is None:
            return None
        return self.compiled(
            (*path, key), lambda: text_template.compile(str(data[key]), self.slots)
        )

    def environment(
        self, data: Mapping[str, Any], path: Path
    ) -> tuple[tuple[str, TextTemplate], ...]:
        where = (*path, "environment")
        compiled = []
        for name, value in (data.get("environment") or {}).items():
            template = self._variable((*where, name), _scalar(value))
            if template is None:
                continue
            if forbidden_from_model(name) and not self._harmless(template):
                self.problem(
                    (*where, name),
                    f"a caller's value in {name} could make programs load code of its choice",
                    hint=f"write {name} yourself, or bound the parameter with `enum`",
                    rule="environment-from-caller",
                )
            compiled.append((name, template))
        return tuple(compiled)

    def _harmless(self, template: TextTemplate) -> bool:
        return all(self.slots[name].harmless for name in template.names)

    def _variable(self, path: Path, value: str) -> TextTemplate | None:
        return self.compiled(
            path, lambda: text_template.compile(value, self.slots, environment=True)
        )

    def compiled(self, path: Path, compile_: Callable[[], T]) -> T | None:
        """The compiled template, or None with its problem noted at the right line."""
        try:
            template = compile_()
        except TemplateError as error:
            rule = error.rule or "template"
            self.problems.append(
                self.document.problem(
                    path, error.message, offset=error.offset, rule=rule, hint=error.hint
                )
            )
            return None
        self.raw_names |= getattr(template, "raw_names", frozenset())
        return template

    def problem(
        self, path: Path, message: str, *, hint: str = "", rule: str = "definition"
    ) -> None:
        self.problems.append(self.document.problem(path, message, hint=hint, rule=rule))


def file_stem(document: Document) -> str:
    """The name of a tool whose definition gives none."""
    return os.path.splitext(os.path.basename(document.source))[0]


def _compile_script(source: str, compiler: Compiler, shell: str) -> Any:
    # Each language costs its import; a tool pays only for its own.
    if shell in ("bash", "sh"):
        from tongs.template import shell as language  # noqa: PLC0415

        return language.compile(source, compiler.slots, dialect=shell, checked=compiler.checked)
    if shell == "python":
        from tongs.template import python as py  # noqa: PLC0415

        return py.compile(source, compiler.slots)
    if shell == "pwsh":
        from tongs.template import pwsh  # noqa: PLC0415

        return pwsh.compile(source, compiler.slots)
    from tongs.template import cmd  # noqa: PLC0415

    return cmd.compile(source, compiler.slots)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
