"""`uses.mcp` and `with.mcps`: the MCP servers that the steps of a tool may name."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.record import replace
from tongs.core.tool import Origin
from tongs.formats.yaml_steps import Compiler, Path, file_stem
from tongs.template.plan import Plan

if TYPE_CHECKING:
    from tongs.core.servers import ServerSpec


def used(data: Mapping[str, Any], one: str, several: str) -> tuple[str, ...]:
    """The names under `uses`, written one at a time or as a list."""
    uses = data.get("uses") or {}
    single = [uses[one]] if uses.get(one) else []
    return tuple(dict.fromkeys([*single, *(uses.get(several) or ())]))


def with_uses(plan: Plan, data: Mapping[str, Any], servers: Mapping[str, ServerSpec]) -> Plan:
    """The plan with the tools and servers that the definition names and brings along."""
    return replace(
        plan,
        uses=used(data, "tool", "tools"),
        uses_servers=used(data, "mcp", "mcps"),
        servers=servers,
    )


def inline_servers(
    compiler: Compiler,
    data: Mapping[str, Any],
    path: Path,
    origin: Origin,
    around: Mapping[str, ServerSpec],
) -> Mapping[str, ServerSpec]:
    """The servers of `with.mcps`, private to this tool and those inside it; and those `around`."""
    written = (data.get("with") or {}).get("mcps") or ()
    if not written:
        return around
    from tongs.config.servers import server_of  # noqa: PLC0415 - few tools bring one

    owner = str(data.get("name") or file_stem(compiler.document))
    found: dict[str, ServerSpec] = {}
    for index, entry in enumerate(written):
        where, name = (*path, "with", "mcps", index), entry["name"]
        if name in found:
            compiler.problem(where, f"there are two inline servers `{name}`")
        line = compiler.document.line_of(where)
        found[name] = server_of(
            f"{owner}.{name}",
            entry,
            source=f"{compiler.document.source}:{line}",
            scope=origin.scope,
            project=origin.project,
        )
    return {**around, **found}
