"""Shape 2: any executable that answers `description` and `run` (seed 003)."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass, field
from tongs.core.tool import Origin, Tool, Trust
from tongs.schema.check import SchemaInvalid, check_root, check_schema, violations
from tongs.schema.document import PathTuple, field_name
from tongs.schema.files import load as schema_called
from tongs.schema.units import duration, limits

SCHEMA = "description"
# The verbs that say what it is, besides `run`.
DESCRIPTION, CONFIG = "description", "config"
RULE = "description"
HINT = "compare with `tongs schema description`"
DEFAULT_TIMEOUT = 30.0
# A larger one is run where it lies, after a look at its digest.
LARGEST_COPY = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Described:
    """What an executable said of itself: the answers to `description` and, if any, `config`."""

    description: Mapping[str, Any]
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the config says of all executables (`custom_tools`)."""

    timeout: float = DEFAULT_TIMEOUT
    output: int | None = None


@dataclass(frozen=True, slots=True)
class ExecutablePlan:
    """`data` are the bytes to run, where they had to be accepted; else the file itself is run."""

    path: str
    data: bytes | None = None


def unknown(name: str, origin: Origin, data: bytes) -> Tool:
    """An executable that nobody has trusted: it was not asked what it is."""
    return Tool(
        name=name,
        executor="executable",
        plan=_plan(origin, data),
        origin=origin,
        trust=Trust.UNTRUSTED,
    )


def load(described: Described, origin: Origin, data: bytes, defaults: Defaults) -> Tool:
    """The tool that an executable described. Raises DefinitionInvalid."""
    said = described.description
    if problems := [*_problems(said, origin.path), *_config_problems(described, origin.path)]:
        raise DefinitionInvalid(problems)
    schema = dict(said["input_schema"])
    schema.setdefault("properties", {})
    approval = said.get("approval") or {}
    permissions = said.get("permissions")
    bounds = limits(said.get("limits") or {})
    if defaults.output is not None:
        bounds.setdefault("output", defaults.output)
    plan = _plan(origin, data)
    return Tool(
        name=said["name"],
        description=said["description"],
        input_schema=schema,
        output_schema=(said.get("outputs") or {}).get("schema"),
        executor="executable",
        plan=plan,
        tags=tuple(said.get("tags") or ()),
        platforms=tuple(said.get("platforms") or ()),
        permissions=None if permissions is None else Permissions.from_data(permissions),
        limits=bounds,
        timeout=_timeout(described.config, defaults),
        requires_approval=bool(approval.get("required", False)),
        approval_reason=str(approval.get("reason") or ""),
        examples=tuple(said.get("examples") or ()),
        version=str(said.get("version") or ""),
        idempotent=bool(said.get("idempotent", False)),
        requires=tuple(said.get("requires") or ()),
        origin=origin,
        parts=() if plan.data is not None else (plan.path,),
    )


def _plan(origin: Origin, data: bytes) -> ExecutablePlan:
    from os.path import realpath  # noqa: PLC0415 - keeps the name local to its one use

    accepted = origin.project is not None and len(data) <= LARGEST_COPY
    return ExecutablePlan(realpath(origin.path), data if accepted else None)


def _timeout(config: Mapping[str, Any], defaults: Defaults) -> float:
    return duration(config["timeout"]) if "timeout" in config else defaults.timeout


def _config_problems(described: Described, path: str) -> list[Problem]:
    """A timeout that could not be kept: without it a tool would get another than it says."""
    try:
        wrong = "" if _timeout(described.config, Defaults()) > 0 else "must be more than 0s"
    except ValueError as error:
        wrong = str(error)
    where, hint = f"{CONFIG}.timeout", 'print a duration: {"timeout": "30m"}'
    return [Problem(path, wrong, field=where, rule=RULE, hint=hint)] if wrong else []


def _problems(said: Mapping[str, Any], path: str) -> list[Problem]:
    found = [
        _problem(path, violation.path, violation.message)
        for violation in violations(schema_called(SCHEMA), said)
    ]
    if found:
        return found
    try:
        check_root(said["input_schema"])
    except SchemaInvalid as invalid:
        return [_problem(path, ("input_schema", *invalid.path), invalid.message)]
    output = (said.get("outputs") or {}).get("schema")
    if output is not None:
        try:
            check_schema(output)
        except SchemaInvalid as invalid:
            return [_problem(path, ("outputs", "schema", *invalid.path), invalid.message)]
    return []


def _problem(path: str, where: PathTuple, message: str) -> Problem:
    """Something in the answer to `description`, which no line of the file names."""
    field_ = field_name((DESCRIPTION, *where))
    return Problem(path, message, field=field_, rule=RULE, hint=HINT)
