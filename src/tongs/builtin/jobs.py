"""`job_status`, `job_output`, `job_stop`: what this session has running in the background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tongs.builtin.kept import grep
from tongs.builtin.running import interpreter_parts
from tongs.config.settings import Settings
from tongs.core.annotations import Any
from tongs.core.execution import Context, World
from tongs.core.jobs import RUNNING, Job
from tongs.core.moments import utc
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.core.tool import Tool

# Seconds. Longer would keep a thread of the event loop's for itself.
_LONGEST_WAIT = 30
# Seconds for a process tree to die.
_DYING = 30.0

_PAGE = 200
_LARGEST_PAGE = 5000
# Characters of a page, and of one of its lines.
_MOST_TEXT = 100_000
_LONGEST_LINE = 10_000

_JOB = {"type": "string", "description": "Handle of the job"}
_STATUS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "job": {"type": "string"},
        "tool": {"type": "string"},
        "status": {"enum": ["running", "done", "failed", "stopped"]},
        "startedAt": {"type": "string"},
        "duration": {"type": "integer", "description": "Milliseconds"},
        "exitCode": {"type": ["integer", "null"]},
        "error": {"type": ["object", "null"]},
        "value": {"type": ["object", "array", "string", "number", "boolean", "null"]},
    },
    "required": ["job", "tool", "status", "startedAt", "duration"],
}

_ONE_OR_ALL = {
    "type": "object",
    "properties": {**_STATUS["properties"], "jobs": {"type": "array", "items": _STATUS}},
}
_PART = {
    "type": "object",
    "properties": {
        "job": {"type": "string"},
        "status": _STATUS["properties"]["status"],
        "output": {"type": "string"},
        "from": {"type": "integer", "description": "Number of the first line of the page"},
        "next": {"type": ["integer", "null"], "description": "Where the next page begins"},
        "firstLine": {"type": "integer"},
        "lastLine": {"type": "integer"},
    },
    "required": ["job", "status", "output", "from", "next", "firstLine", "lastLine"],
}


def tool(name: str, settings: Settings) -> Tool:
    return Tool(
        name=name,
        **{"executor": "builtin", **_TOOLS[name]},
        tags=("read",),
        permissions=Permissions(),
        timeout=60.0,
        automatic=True,
        background=False,
    )


@dataclass(frozen=True, slots=True)
class Status:
    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        return f"look at {arguments.get('job', 'all jobs of this session')}"

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        if "job" not in arguments:
            every = [_told(job) for job in context.jobs.all()]
            lines = "".join(map(_line, every)) or "no jobs in this session\n"
            return ToolResult(output=lines, value={"jobs": every})
        job = context.jobs.get(arguments["job"])
        if seconds := arguments.get("wait"):
            await context.waiter.blocking(lambda: job.wait(seconds))
        told = _told(job)
        return ToolResult(output=_line(told), value=told)


@dataclass(frozen=True, slots=True)
class Stop:
    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        return f"end {arguments['job']} with everything it has started"

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        job = context.jobs.get(arguments["job"])
        if job.status == RUNNING:
            job.stop()
            await context.waiter.blocking(lambda: job.wait(_DYING))
        told = _told(job)
        return ToolResult(output=_line(told), value=told)


@dataclass(frozen=True, slots=True)
class Output:
    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        return f"read the output of {arguments['job']}"

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        job = context.jobs.get(arguments["job"])
        # Before the text, so that a job that is said to be over has said everything.
        status = job.status
        dropped, text = job.text()
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        first, last = dropped + 1, dropped + len(lines)
        start = arguments.get("offset", 1)
        start = max(first, start if start > 0 else last + 1 + start)
        if "grep" in arguments:
            page, next_line = await _grepped(lines[start - first :], start, arguments, context)
        else:
            page, next_line = _page(lines[start - first :], start, arguments)
        value = {
            "job": job.id,
            "status": status,
            "output": page,
            "from": start,
            "next": next_line if next_line <= last else None,
            "firstLine": first,
            "lastLine": last,
        }
        missing = f"lines 1 to {dropped} were dropped: only the last 4 MiB are kept"
        return ToolResult(output=page, value=value, warnings=[missing] if dropped else [])


def _page(lines: Sequence[str], start: int, arguments: Mapping[str, Any]) -> tuple[str, int]:
    """The text of a page, and the number of the line after it."""
    most = arguments.get("limit", _PAGE)
    found: list[str] = []
    size = 0
    for line in lines:
        shown = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} …"
        if len(found) == most or size + len(shown) > _MOST_TEXT:
            break
        found.append(shown)
        size += len(shown) + 1
    return "".join(f"{line}\n" for line in found), start + len(found)


async def _grepped(
    lines: Sequence[str], start: int, arguments: Mapping[str, Any], context: Context
) -> tuple[str, int]:
    """The same of the lines that match, with their numbers."""
    request = {"grep": arguments["grep"], "limit": arguments.get("limit", _PAGE)}
    found = await grep(request, "\n".join(lines).encode("utf-8", "replace"), context)
    page = "".join(f"{start - 1 + each['line']}: {each['text']}\n" for each in found["matches"])
    after = len(lines) if found["next"] is None else found["next"]
    return page, start + after


def _told(job: Job) -> dict[str, Any]:
    told: dict[str, Any] = {
        "job": job.id,
        "tool": job.tool,
        "status": job.status,
        "startedAt": utc(job.started_at),
        "duration": round(job.duration * 1000),
    }
    if (result := job.result) is not None:
        told["exitCode"] = result.metadata.get("exitCode")
        told["error"] = None if result.error is None else result.error.to_wire()
        # Output has a tool of its own, and may be large.
        if not (isinstance(result.value, dict) and "stdout" in result.value):
            told["value"] = result.value
    return told


def _line(told: Mapping[str, Any]) -> str:
    text = f"{told['job']}  {told['tool']}  {told['status']}  {told['duration'] / 1000:.1f} s"
    if told.get("exitCode") is not None:
        text += f"  exit code {told['exitCode']}"
    if told.get("error"):
        text += f"  {told['error']['code']}: {told['error']['message']}"
    return f"{text}\n"


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


_TOOLS: Mapping[str, dict[str, Any]] = {
    "job_status": {
        "description": "Tell how a background job is doing, or list all jobs of this session.",
        "input_schema": _schema(
            {
                "job": {**_JOB, "description": "Handle of the job; all jobs without it"},
                "wait": {
                    "type": "number",
                    "minimum": 0,
                    "maximum": _LONGEST_WAIT,
                    "description": "Seconds to wait for its end",
                },
            }
        ),
        "output_schema": _ONE_OR_ALL,
        "plan": Status(),
    },
    "job_output": {
        "description": "Read the output of a background job, by pages of lines.",
        "input_schema": _schema(
            {
                "job": _JOB,
                "offset": {
                    "type": "integer",
                    "description": "Line to begin with, 1 by default; -20 means the last 20",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": _LARGEST_PAGE,
                    "description": f"Most lines, {_PAGE} by default",
                },
                "grep": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Only lines that match this regular expression (Python), with"
                    " their numbers",
                },
            },
            "job",
        ),
        "output_schema": _PART,
        "plan": Output(),
        # An expression is tried in a process, which can be stopped.
        "executor": "builtin_process",
        "programs": interpreter_parts(),
    },
    "job_stop": {
        "description": "End a background job with everything it has started.",
        "input_schema": _schema({"job": _JOB}, "job"),
        "output_schema": _STATUS,
        "plan": Stop(),
    },
}
