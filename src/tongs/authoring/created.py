"""What a definition by an agent may be: read as its author could be the worst.

An agent may combine what is installed, and bring no code: `http`, or `command` with a program of
the PATH. A python function, or a script, would be a file that the definition does not hold, so
that a person would approve one thing and run another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tongs.authoring.created_programs import runs_a_file
from tongs.config.environment import forbidden_from_model
from tongs.core.annotations import Any
from tongs.core.errors import Problem
from tongs.schema.document import Document, PathTuple, parse
from tongs.template import dollar
from tongs.template.manifest_line import code_in, input_slot, line
from tongs.template.values import Slot, Slots, TemplateError

RULE = "created-tool"


def completed(definition: Mapping[str, Any], name: str, creator: str) -> dict[str, Any]:
    """The definition with its name, and with approval required for every call."""
    approval = definition.get("approval")
    said = approval.get("reason") if isinstance(approval, Mapping) else None
    reason = said if isinstance(said, str) and said.strip() else f"Created by {creator}"
    rest = {key: value for key, value in definition.items() if key not in ("name", "approval")}
    return {
        "name": definition.get("name", name),
        **rest,
        "approval": {"required": True, "reason": reason},
    }


def read(text: str, source: str) -> Any:
    """A definition as text, YAML or JSON; raises DefinitionInvalid."""
    return parse(text.encode("utf-8", "surrogatepass"), source).data


def problems(document: Document) -> list[Problem]:
    """What no agent may write, in a manifest that the schema has accepted."""
    return list(_problems(document))


def _problems(document: Document) -> Iterator[Problem]:
    data = document.data
    if "permissions" not in data:
        yield _problem(
            document,
            ("permissions",),
            "are missing, and a person has to see what the tool may do",
            "write what it needs: {network: false, fs: {read: [], write: []}, secrets: {}}",
        )
    ((kind, body),) = data["exec"].items()
    if kind == "python":
        yield _problem(
            document,
            ("exec", "python"),
            "needs a module that the definition does not hold",
            "use kind http, or command with an installed program",
        )
    elif kind == "command":
        yield from _command(document, data, body)


def _command(
    document: Document, data: Mapping[str, Any], body: Mapping[str, Any]
) -> Iterator[Problem]:
    where: PathTuple = ("exec", "command")
    entrypoint = str(body["entrypoint"])
    if "/" in entrypoint or "\\" in entrypoint:
        yield _problem(
            document,
            (*where, "entrypoint"),
            f"`{entrypoint}` is a file that the definition does not hold",
            "name an installed program, without a path",
        )
    args = [each for each in body.get("args") or () if isinstance(each, str)]
    if "/" not in entrypoint and (name := runs_a_file([entrypoint, *args], stdin=_given(body))):
        yield _problem(
            document,
            (*where, "args"),
            f"{name} would run text that the definition does not hold",
            "write the program into the definition, as in bash -c '…' or python3 -c '…'",
        )
    for name in body.get("env") or {}:
        if forbidden_from_model(name):
            yield _problem(
                document,
                (*where, "env", name),
                f"{name} can make a program load or run something else",
                "leave it out",
            )
    slots = _slots((data.get("inputs") or {}).get("schema") or {})
    for _, error in _code_in(entrypoint, args, slots):
        yield _problem(document, (*where, "args"), error.message, error.hint)
    given = _names(body.get("stdin")) & {name for name, slot in slots.items() if not slot.harmless}
    if given and _reads_code(entrypoint, args):
        yield _problem(
            document,
            (*where, "stdin"),
            f"{entrypoint} may run what it reads, and ${{{min(given)}}} is a caller's",
            "give the value as an argument that is no code",
        )


def _given(body: Mapping[str, Any]) -> bool:
    return body.get("stdin") not in (None, "")


def _code_in(entrypoint: str, args: list[str], slots: Slots) -> list[tuple[int, TemplateError]]:
    """Every value that a second interpreter would read as code: `bash -c "ls ${path}"`."""
    texts = [dollar.compile(text, _names(text)) for text in args]
    # A name that nobody declared is said elsewhere, and could be anything.
    known = {name: slots.get(name, Slot(name)) for text in texts for name in text.names}
    return list(code_in(line(entrypoint, texts, known), known))


def _reads_code(entrypoint: str, args: list[str]) -> bool:
    """Whether it is an interpreter, also behind `env` and the like: then stdin may be code."""
    probe = {"value": Slot("value")}
    options = ((), ("-c",), ("-e",), ("--eval",))
    return any(_code_in(entrypoint, [*args, *option, "${value}"], probe) for option in options)


def _slots(schema: Mapping[str, Any]) -> dict[str, Slot]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: input_slot(name, entry) for name, entry in properties.items()}


def _names(data: Any) -> frozenset[str]:
    from tongs.authoring.lint.manifests import names_in  # noqa: PLC0415 - loads the linter

    return frozenset(names_in(data))


def _problem(document: Document, path: PathTuple, message: str, hint: str) -> Problem:
    return document.problem(path, message, rule=RULE, hint=hint)
