"""Shape 3: a directory with a manifest, `tool.yml`: http, command or python (seed 004)."""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.permissions import Permissions, absolute
from tongs.core.tool import Origin, Tool
from tongs.schema.check import SchemaInvalid, check_root, check_schema, violations
from tongs.schema.document import Document, PathTuple
from tongs.schema.units import limits
from tongs.template import dollar
from tongs.template.dollar import DollarText
from tongs.template.manifest import (
    TOOL_DIR,
    CommandPlan,
    HttpPlan,
    ManifestPlan,
    Names,
    PythonPlan,
)
from tongs.template.values import TemplateError

SCHEMA = "manifest"
DEFAULT_TIMEOUT = 30.0


def load(document: Document, origin: Origin, *, checked: bool = False) -> Tool:
    """The tool a manifest defines. Raises DefinitionInvalid with everything that is wrong.

    `checked` says that these very bytes have been loaded before without a problem; what lies around
    them is looked at again.
    """
    if not checked:
        _check_schema(document)
    reader = Reader(document, origin)
    tool = reader.tool(checked=checked)
    if reader.problems:
        raise DefinitionInvalid(reader.problems)
    return tool


def name_of(document: Document) -> str:
    """The name in the file, or else that of its directory."""
    declared = document.data.get("name") if isinstance(document.data, dict) else None
    return declared if isinstance(declared, str) and declared else directory_name(document.source)


def directory_name(path: str) -> str:
    return os.path.basename(os.path.dirname(path))


def _check_schema(document: Document) -> None:
    from tongs.schema.check_document import check_document  # noqa: PLC0415 - first load only

    if problems := check_document(document, SCHEMA):
        raise DefinitionInvalid(problems)


class Reader:
    """One manifest that fits the schema; `problems` collects what that cannot see."""

    def __init__(self, document: Document, origin: Origin) -> None:
        self.document = document
        self.data: Mapping[str, Any] = document.data
        self.folder = os.path.dirname(origin.path)
        # Relative paths start at the project root; elsewhere what belongs to the tool lies with it.
        self.base = origin.project or self.folder
        self.problems: list[Problem] = []
        self._origin = origin
        self._permissions = self.data.get("permissions")
        self.names = self._names()

    def tool(self, *, checked: bool) -> Tool:
        data = self.data
        self._check_name()
        if not checked:
            self._check_kind()
            self._check_inputs()
            self._check_outputs()
        plan, parts = self._plan()
        if isinstance(plan, CommandPlan) and not (checked or self.problems):
            from tongs.formats.manifest_command import check  # noqa: PLC0415 - first load only

            check(self, plan)
        approval = data.get("approval") or {}
        outputs = data.get("outputs") or {}
        return Tool(
            name=data["name"],
            description=data["description"],
            input_schema=self.input_schema,
            output_schema=outputs.get("schema"),
            executor=data["kind"],
            plan=plan,
            tags=tuple(data.get("tags") or ()),
            platforms=tuple(data.get("platforms") or ()),
            permissions=self._declared(plan),
            limits=limits(data.get("limits") or {}),
            timeout=self._timeout(),
            requires_approval=bool(approval.get("required", False)),
            approval_reason=str(approval.get("reason") or ""),
            examples=tuple(data.get("examples") or ()),
            version=str(data.get("version") or ""),
            idempotent=bool(data.get("idempotent", False)),
            requires=tuple(data.get("requires") or ()),
            origin=self._origin,
            parts=(self.folder, *parts),
            programs=self._programs(plan),
        )

    @property
    def input_schema(self) -> dict[str, Any]:
        schema = (self.data.get("inputs") or {}).get("schema")
        if schema is None:
            return {"type": "object", "properties": {}, "additionalProperties": False}
        return schema if "properties" in schema else {**schema, "properties": {}}

    @property
    def format(self) -> str:
        """What the output is said to be; a schema of it is one of JSON."""
        outputs = self.data.get("outputs") or {}
        return outputs.get("format") or ("json" if "schema" in outputs else "")

    def problem(
        self, path: PathTuple, message: str, *, hint: str = "", rule: str = "definition"
    ) -> None:
        self.problems.append(self.document.problem(path, message, hint=hint, rule=rule))

    def text(self, path: PathTuple, written: str) -> DollarText:
        """One text of the manifest, compiled; a name that nobody declared is a problem."""
        try:
            return dollar.compile(written, self.names.all)
        except TemplateError as error:
            self.problem(path, error.message, hint=error.hint, rule=error.rule or "definition")
            return DollarText(())

    def compiled(self, path: PathTuple, data: Any) -> Any:
        """Every text inside a structure, compiled."""
        if isinstance(data, str):
            return self.text(path, data)
        if isinstance(data, dict):
            return {key: self.compiled((*path, key), entry) for key, entry in data.items()}
        if isinstance(data, list):
            return [self.compiled((*path, number), entry) for number, entry in enumerate(data)]
        return data

    def texts(self, path: PathTuple, data: Mapping[str, Any] | None) -> dict[str, DollarText]:
        """A map of texts; numbers and booleans are written as JSON writes them."""
        found = {}
        for key, entry in (data or {}).items():
            written = entry if isinstance(entry, str) else _json_text(entry)
            found[key] = self.text((*path, key), written)
        return found

    def _names(self) -> Names:
        properties = self.input_schema.get("properties")
        # Anything else is refused further down, with its line.
        inputs = tuple(properties) if isinstance(properties, Mapping) else ()
        secrets = tuple((self._permissions or {}).get("secrets") or {})
        for name in inputs:
            if name in secrets:
                self.problem(
                    ("permissions", "secrets", name),
                    f"`{name}` is an input, too, so ${{{name}}} could mean either",
                    hint="give the input another name",
                )
        for path, taken in (
            (("inputs", "schema", "properties", TOOL_DIR), inputs),
            (("permissions", "secrets", TOOL_DIR), secrets),
        ):
            if TOOL_DIR in taken:
                self.problem(path, f"`{TOOL_DIR}` stands for the directory of the tool")
        return Names(inputs, secrets, self.folder)

    def _check_name(self) -> None:
        directory = os.path.basename(self.folder)
        if self.data["name"] != directory:
            self.problem(
                ("name",),
                f"the name `{self.data['name']}` is not that of its directory, `{directory}`",
                hint="rename one of the two",
            )

    def _check_kind(self) -> None:
        (given,) = self.data["exec"]
        kind = self.data["kind"]
        if kind != given:
            self.problem(
                ("kind",), f"is {kind}, but exec has `{given}`", hint=f"write `kind: {given}`"
            )
        offline = (self._permissions or {}).get("network", True) is False
        if (
            kind == "http"
            and self._permissions is not None
            and (offline or "network" not in self._permissions)
        ):
            self.problem(
                ("permissions", "network") if "network" in self._permissions else ("permissions",),
                "a tool of kind http needs the network",
                hint="write `network: true`, or the hosts it may reach",
            )

    def _check_inputs(self) -> None:
        where: PathTuple = ("inputs", "schema")
        schema = self.input_schema
        try:
            check_root(schema)
        except SchemaInvalid as invalid:
            self.problem((*where, *invalid.path), invalid.message)
            return
        for name, entry in schema["properties"].items():
            if isinstance(entry, Mapping) and "default" in entry:
                for violation in violations(entry, entry["default"]):
                    self.problem(
                        (*where, "properties", name, "default"), f"the default {violation.message}"
                    )

    def _check_outputs(self) -> None:
        schema = (self.data.get("outputs") or {}).get("schema")
        if schema is None:
            return
        try:
            check_schema(schema)
        except SchemaInvalid as invalid:
            self.problem(("outputs", "schema", *invalid.path), invalid.message)

    def _declared(self, plan: ManifestPlan | None) -> Permissions | None:
        if self._permissions is not None:
            return Permissions.from_data(self._permissions)
        if isinstance(plan, HttpPlan):
            from tongs.formats.manifest_http import only_its_host  # noqa: PLC0415 - http only

            return only_its_host(plan)
        return None

    def _timeout(self) -> float:
        (body,) = self.data["exec"].values()
        return body["timeout_ms"] / 1000 if "timeout_ms" in body else DEFAULT_TIMEOUT

    def _plan(self) -> tuple[ManifestPlan | None, Sequence[str]]:
        """What to do, and the files it consists of beside its directory."""
        ((kind, body),) = self.data["exec"].items()
        if kind == "http":
            from tongs.formats.manifest_http import plan  # noqa: PLC0415 - http only

            return plan(self, body), ()
        return self._command(body) if kind == "command" else self._python(body)

    def _command(self, body: Mapping[str, Any]) -> tuple[CommandPlan, Sequence[str]]:
        where: PathTuple = ("exec", "command")
        written = entrypoint = body["entrypoint"]
        parts: tuple[str, ...] = ()
        if "${" in written:
            self._refuse_value((*where, "entrypoint"), written)
        elif "/" in written:
            entrypoint = self._existing((*where, "entrypoint"), written)
            parts = (entrypoint,)
        from tongs.formats.manifest_command import known_line  # noqa: PLC0415 - command only

        args = self.compiled((*where, "args"), [_text(each) for each in body.get("args") or ()])
        stdin = body.get("stdin")
        shaped = (body.get("stdout") or {}).get("format") or self.format
        plan = CommandPlan(
            names=self.names,
            entrypoint=entrypoint,
            args=args,
            env=self.texts((*where, "env"), body.get("env")),
            stdin=None if stdin is None else self.compiled((*where, "stdin"), stdin),
            cwd=self._directory((*where, "cwd"), body),
            json=shaped == "json",
            exit_codes_ok=tuple(body.get("exit_codes_ok") or (0,)),
            line=known_line(self, written, args),
        )
        return plan, parts

    def _python(self, body: Mapping[str, Any]) -> tuple[PythonPlan, Sequence[str]]:
        where: PathTuple = ("exec", "python")
        venv = body.get("venv")
        if venv is not None:
            # No link in it: the interpreter finds its environment by the path it was started with.
            venv = os.path.realpath(absolute(venv, self.base, "~"))
        plan = PythonPlan(
            names=self.names,
            module=body["module"],
            function=body["function"],
            root=self.base,
            args=self.compiled((*where, "args"), list(body.get("args") or ())),
            kwargs=self.compiled((*where, "kwargs"), dict(body.get("kwargs") or {})),
            venv=venv,
            cwd=self._directory((*where, "cwd"), body),
            json=body.get("return", "json") == "json",
        )
        return plan, self._module_files((*where, "module"), body["module"])

    def _programs(self, plan: ManifestPlan | None) -> tuple[str, ...]:
        if not isinstance(plan, PythonPlan) or plan.venv is None:
            return ()
        from tongs.formats.manifest_python import around  # noqa: PLC0415 - python only

        return around(plan.venv)

    def _directory(self, path: PathTuple, body: Mapping[str, Any]) -> DollarText | None:
        return self.text(path, body["cwd"]) if "cwd" in body else None

    def _refuse_value(self, path: PathTuple, written: str) -> None:
        """No value has a place in an entrypoint, not even the directory of the tool."""
        beside = os.path.relpath(self.folder, self.base)
        plain = os.path.normpath(written.replace(f"${{{TOOL_DIR}}}", beside))
        hint = f"write `{plain}`" if "${" not in plain else "write the program's name or path"
        self.problem(path, "the program cannot come from a value", hint=hint, rule="program-name")

    def _existing(self, path: PathTuple, written: str) -> str:
        """The file an author means; a problem that says where it does lie, if it is missing."""
        found = absolute(written, self.base, "~")
        if not os.path.isfile(found):
            beside = os.path.normpath(os.path.join(self.folder, written))
            hint = "paths start at the project root" if self._origin.project else ""
            if os.path.isfile(beside):
                hint = f"write `{os.path.relpath(beside, self.base)}`: {hint}".rstrip(": ")
            self.problem(path, f"there is no file {found}", hint=hint, rule="missing-file")
        elif not os.access(found, os.X_OK):
            hint = f"chmod +x {found}"
            self.problem(path, f"{found} is not executable", hint=hint, rule="not-executable")
        return found

    def _module_files(self, path: PathTuple, module: str) -> Sequence[str]:
        if found := _module_files(self.base, module):
            return found
        stem, beside = (os.path.join(at, *module.split(".")) for at in (self.base, self.folder))
        hint = f"modules are looked for in {self.base}"
        if os.path.isfile(f"{beside}.py") and self.base != self.folder:
            hint += f"; {beside}.py lies beside the manifest, not there"
        self.problem(path, f"there is no module {stem}.py", hint=hint, rule="missing-file")
        return ()


def finds_the_same(tool: Tool) -> bool:
    """Whether the same manifest would find the same files beside its directory once more.

    Of a virtual environment nobody can say that without looking at all of it.
    """
    plan: ManifestPlan = tool.plan
    if isinstance(plan, PythonPlan):
        return plan.venv is None and tool.parts[1:] == _module_files(plan.root, plan.module)
    return all(os.path.isfile(path) and os.access(path, os.X_OK) for path in tool.parts[1:])


def looked_for(tool: Tool) -> tuple[str, ...]:
    """Where a manifest looks for files beside its directory: those that exist tell which it has."""
    plan: ManifestPlan = tool.plan
    return _places(plan.root, plan.module) if isinstance(plan, PythonPlan) else tool.parts[1:]


def _module_files(root: str, module: str) -> tuple[str, ...]:
    """The file of a module or the folder of a package, and the packages around it."""
    file, package, *around = _places(root, module)
    outer = [path for path in around if os.path.isfile(path)]
    if os.path.isfile(package):
        return (os.path.dirname(package), *outer)
    return (file, *outer) if os.path.isfile(file) else ()


def _places(root: str, module: str) -> tuple[str, ...]:
    """Where a module may lie: as a file, as a package; then the packages around it."""
    names = module.split(".")
    stem = os.path.join(root, *names)
    # Whoever imports a module runs the packages around it first.
    outer = [os.path.join(root, *names[:count], "__init__.py") for count in range(1, len(names))]
    return (f"{stem}.py", os.path.join(stem, "__init__.py"), *outer)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json_text(value)


def _json_text(value: Any) -> str:
    import json  # noqa: PLC0415 - rare: most entries are texts

    return json.dumps(value)
