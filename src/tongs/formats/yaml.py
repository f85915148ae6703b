"""Shape 1: a YAML file with a command, a script or steps (seed 000)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.errors import DefinitionInvalid
from tongs.core.permissions import Permissions
from tongs.core.record import replace
from tongs.core.tool import Level, Origin, Tool
from tongs.formats import yaml_parameters
from tongs.formats.yaml_servers import inline_servers, with_uses
from tongs.formats.yaml_steps import Compiler, Host, Path, file_stem
from tongs.schema.document import Document
from tongs.template.plan import Nested, Plan, Process, Script

if TYPE_CHECKING:
    from tongs.core.servers import ServerSpec
    from tongs.formats.yaml_config import Applied, FindConfigs, Used

SCHEMA = "tool.yaml"
ENDINGS = (".yaml", ".yml")
DEFAULT_TIMEOUT = 60.0

# As in the schema, for a name that comes from the file.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def load(
    document: Document,
    origin: Origin,
    host: Host,
    find_configs: FindConfigs | None = None,
    *,
    checked: bool = False,
) -> Tool:
    """The tool a document defines. Raises DefinitionInvalid with everything that is wrong.

    `find_configs` finds the configs that a definition names; without it their values are unknown,
    and the tool can be looked at but not called. `checked` says that these very bytes have been
    loaded before without a problem, so that the schema, the defaults and the program texts need
    not be looked at again.
    """
    if not checked:
        _check_schema(document)
    configs = None
    if find_configs is not None and (document.data.get("uses") or document.data.get("with")):
        from tongs.formats.yaml_config import names_used  # noqa: PLC0415 - few tools use a config

        configs = find_configs(names_used(document.data))
    tool = _load(document, document.data, (), origin, host, checked=checked, configs=configs)
    return replace(tool, plan=replace(tool.plan, configs=configs)) if configs else tool


def name_of(document: Document) -> str:
    """The name in the file, or else the file's own."""
    declared = document.data.get("name") if isinstance(document.data, dict) else None
    return declared if isinstance(declared, str) and declared else file_stem(document)


def _check_schema(document: Document) -> None:
    from tongs.schema.check_document import check_document  # noqa: PLC0415 - first load only

    if problems := check_document(document, SCHEMA):
        raise DefinitionInvalid(problems)


def _load(
    document: Document,
    data: Mapping[str, Any],
    path: Path,
    origin: Origin,
    host: Host,
    *,
    checked: bool,
    configs: Used | None,
    around: Mapping[str, ServerSpec] | None = None,
) -> Tool:
    """`around` are the servers of the tool that this one stands in."""
    parameters = data.get("parameters") or {}
    schema = yaml_parameters.input_schema(parameters)
    compiler = Compiler(document, yaml_parameters.slots(parameters), host, checked)
    if not checked:
        compiler.problems += yaml_parameters.problems(document, (*path, "parameters"), schema)
        _check_output_schema(compiler, data, path)
    _check_name(compiler, data, path)
    config = _config(compiler, data, path, configs)
    plan = compiler.plan(data, path)
    _refuse_raw_in_read_tools(compiler, data, path)
    servers = inline_servers(compiler, data, path, origin, around or {})
    helpers = _helpers(
        document, data, path, origin, host, compiler, configs=configs, servers=servers
    )
    if plan is None or compiler.problems:
        raise DefinitionInvalid(compiler.problems)
    if config is not None:
        plan = replace(plan, constants=config.constants)
    permissions = data.get("permissions")
    approval = data.get("approval") or {}
    return Tool(
        name=str(data.get("name") or file_stem(document)),
        description=str(data.get("description") or ""),
        input_schema=schema,
        output_schema=_output_schema(data),
        executor=_executor(plan),
        plan=with_uses(plan, data, servers),
        tags=tuple(data.get("tags") or ()),
        platforms=tuple(data.get("platforms") or ()),
        permissions=None if permissions is None else Permissions.from_data(permissions),
        limits=_limits(data),
        timeout=data["timeout"] / 1000 if "timeout" in data else DEFAULT_TIMEOUT,
        requires_approval=bool(approval.get("required", False)),
        approval_reason=str(approval.get("reason") or ""),
        examples=tuple(data.get("examples") or ()),
        version=str(data.get("version") or ""),
        idempotent=bool(data.get("idempotent", False)),
        requires=tuple(data.get("requires") or ()),
        origin=origin,
        helpers=helpers,
        working_directories=_working_directories(plan),
        raw_parameters=tuple(sorted(compiler.raw_names)),
        bound=None if config is None else config.bound,
        refusal=None if config is None else config.refusal,
    )


def _check_name(compiler: Compiler, data: Mapping[str, Any], path: Path) -> None:
    stem = file_stem(compiler.document)
    if not path and not data.get("name") and not _NAME.fullmatch(stem):
        compiler.problem(
            path,
            f"the file's name {stem!r} is no name for a tool",
            hint="rename the file, or add `name:` with letters, digits, `_`, `.` and `-`",
        )


def _config(
    compiler: Compiler, data: Mapping[str, Any], path: Path, configs: Used | None
) -> Applied | None:
    """What the configs of the definition come to; their values become slots of the templates."""
    if not data.get("uses") and not data.get("with"):
        return None
    from tongs.formats.yaml_config import applied  # noqa: PLC0415 - few tools use a config

    name = str(data.get("name") or file_stem(compiler.document))
    config = applied(compiler, data, path, name, configs)
    if config is not None:
        compiler.slots.update(config.slots)
    return config


def _helpers(
    document: Document,
    data: Mapping[str, Any],
    path: Path,
    origin: Origin,
    host: Host,
    compiler: Compiler,
    *,
    configs: Used | None,
    servers: Mapping[str, ServerSpec],
) -> dict[str, Tool]:
    """The tools of `with.tools`: private to this one."""
    helpers: dict[str, Tool] = {}
    for index, entry in enumerate((data.get("with") or {}).get("tools") or ()):
        where = (*path, "with", "tools", index)
        if not entry.get("name"):
            compiler.problem(where, "an inline tool needs a name")
            continue
        if entry["name"] in helpers:
            compiler.problem(where, f"there are two inline tools `{entry['name']}`")
        try:
            helper = _load(
                *(document, entry, where, origin, host),
                checked=compiler.checked,
                configs=configs,
                around=servers,
            )
            helpers[entry["name"]] = replace(helper, private=True)
        except DefinitionInvalid as invalid:
            compiler.problems += invalid.problems
    return helpers


def _refuse_raw_in_read_tools(compiler: Compiler, data: Mapping[str, Any], path: Path) -> None:
    """RAW is code; a tool that claims only to read must bound what code it takes."""
    tags = data.get("tags") or ()
    if Level.READ not in tags or Level.WRITE in tags or Level.RUN in tags:
        return
    for name in sorted(compiler.raw_names):
        slot = compiler.slots[name]
        if not (slot.harmless or slot.patterned):
            compiler.problem(
                (*path, "tags"),
                f"{{RAW:{name}}} lets any caller run code, but the tool is tagged read",
                hint=f"give {name} an `enum` or `pattern`, drop RAW, or tag the tool `run`",
                rule="raw-in-read-tool",
            )


def _executor(plan: Plan) -> str:
    if plan.several:
        return "steps"
    action = plan.steps[0].action
    if isinstance(action, Process):
        return "process"
    return "script" if isinstance(action, Script) else "steps"


def _working_directories(plan: Plan) -> tuple[str, ...]:
    """Where the processes of the steps start, as far as the author alone says it."""
    processes = [step for step in plan.steps if not isinstance(step.action, Nested)]
    templates = [step.working_directory or plan.working_directory for step in processes]
    texts = [template.render({}) for template in templates if template and not template.names]
    return tuple(dict.fromkeys(text for text in texts if isinstance(text, str) and text))


def _limits(data: Mapping[str, Any]) -> dict[str, Any]:
    wanted = data.get("limits")
    if not wanted:
        return {}
    from tongs.schema.units import limits  # noqa: PLC0415 - few tools set limits

    return limits(wanted)


def _output_schema(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    outputs = data.get("outputs") or {}
    # `format: json` alone promises JSON of any kind.
    anything: Mapping[str, Any] | None = {} if outputs.get("format") == "json" else None
    return outputs.get("schema", anything)


def _check_output_schema(compiler: Compiler, data: Mapping[str, Any], path: Path) -> None:
    from tongs.schema.check import SchemaInvalid, check_schema  # noqa: PLC0415 - first load only

    try:
        check_schema(_output_schema(data) or {})
    except SchemaInvalid as invalid:
        compiler.problem((*path, "outputs", "schema", *invalid.path), invalid.message)
