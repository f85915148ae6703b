"""The function by which a model creates a tool in a conversation, for the person to review."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.tool import Tool

if TYPE_CHECKING:
    from tongs.runtime import Runtime
    from tongs.runtime.offering import Offer

NAME = "tool_create"
# Shows a tool to the person; whether they approved it, None where nobody could be asked.
Review = Callable[[Tool], Awaitable[bool | None]]

_DESCRIPTION = """\
Create a new tool, when no tool that there is does what you need and you will need it more than \
once. A person reads it before it can be called, and each of its calls asks. It brings no code: \
either an HTTP request, or a program that is installed. It may read the project; more only where \
the person's config allows it."""
_DEFINITION = """\
The manifest, as an object: description; kind: http or command; inputs: {schema: a JSON Schema}; \
exec: {http: {method, url, query, headers, body}} or {command: {entrypoint, args}}, where ${name} \
stands for an input; permissions: {network: [hosts] or false, fs: {read: [], write: []}, \
secrets: {}}"""
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Letters, digits, _ and -"},
        "definition": {"type": "object", "description": _DEFINITION},
    },
    "required": ["name", "definition"],
    "additionalProperties": False,
}


def creation_tool(
    runtime: Runtime, offers: Callable[[], Offer], model: str, review: Review
) -> Tool:
    """What is created is added to the offer as soon as a person has approved it."""
    creator = re.sub(r"[^A-Za-z0-9_.@:/+-]", "-", model).lstrip("_.@:/+-")[:64] or "model"

    async def create(arguments: Mapping[str, Any]) -> str:
        made = runtime.create_tool(arguments["name"], dict(arguments["definition"]), creator)
        name = made.tool.name
        notes = "".join(f"\nlint: {finding}" for finding in made.findings)
        approved = await review(made.tool)
        if approved is None:
            return f"{name} is written and waits: a person must run `tongs review {name}`{notes}"
        if not approved:
            return f"the person has read {name} and does not approve it; it cannot be called{notes}"
        offer = offers()
        offer.tools[name] = runtime.find(name)
        return f"the person has approved {name}: call it now, each call asks{notes}"

    return Tool(
        NAME,
        _DESCRIPTION,
        _SCHEMA,
        tags=("write",),
        timeout=None,
        # The review is the question, and it shows more.
        requires_approval=False,
        background=False,
        execute=create,
    )
