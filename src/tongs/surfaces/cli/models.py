"""`tongs models`: the models that are configured, and whether they answer."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from collections.abc import Sequence

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.console import Console
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.table import table

if TYPE_CHECKING:
    from tongs.runtime.models import KnownModel, Trial


def options(parser: Parser) -> None:
    parser.add_argument("names", nargs="*", metavar="MODEL")
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.runtime.models import known_models

    console = invocation.console
    known = known_models(invocation.runtime, invocation.options.names)
    trials = _trials(invocation, known) if invocation.options.test else [None] * len(known)
    if invocation.options.json:
        pairs = zip(known, trials, strict=True)
        console.data(failure.result_json({"models": [_wire(*pair) for pair in pairs]}))
    elif not known:
        _say_none(console)
    else:
        _show(console, known, trials)
        _check_default(invocation)
    bad = any(trial is not None and trial.failed is not None for trial in trials)
    return failure.FAILED if bad else failure.OK


def _trials(invocation: Invocation, known: Sequence[KnownModel]) -> list[Trial | None]:
    """All at once: the slowest of them is long enough to wait for."""
    import asyncio

    from tongs.runtime.models import tried

    async def everyone() -> list[Trial | None]:
        return list(await asyncio.gather(*(tried(invocation.runtime, one) for one in known)))

    return asyncio.run(everyone())


def _show(console: Console, known: Sequence[KnownModel], trials: Sequence[Trial | None]) -> None:
    tested = any(trial is not None for trial in trials)
    header = ("NAME", "PROVIDER", "MODEL", "ADDRESS", *(("ANSWER",) if tested else ()), "KEY")
    rows = []
    for one, trial in zip(known, trials, strict=True):
        model = one.model
        name = f"{one.name} (default)" if one.default else one.name
        answer = () if trial is None else (_answer(trial),)
        rows.append((name, model.provider, model.model, model.base_url, *answer, _key(one)))
    for line in table(header, rows):
        console.data(f"{line}\n")
    console.flush()
    for one, trial in zip(known, trials, strict=True):
        if trial is not None and trial.failed is not None:
            said = trial.failed.message
            console.label("error", said if one.name in said else f"{one.name}: {said}", "red")
            if trial.failed.hint:
                console.hint(trial.failed.hint)


def _check_default(invocation: Invocation) -> None:
    """An error only for whoever relies on it, so a listing tells of it and goes on."""
    from tongs.config.models import chosen
    from tongs.core.errors import ToolError

    models = invocation.runtime.settings.models
    try:
        if models.default:
            chosen(models)
    except ToolError as error:
        invocation.console.label("warning", f"models.default: {error.message}", "yellow")


def _answer(trial: Trial) -> str:
    return f"{trial.seconds:.1f}s" if trial.failed is None else f"no ({trial.failed.kind})"


def _key(one: KnownModel) -> str:
    if one.model.key is None:
        return "none"
    note = one.missing or ("sent without encryption" if one.exposed else "")
    return f"{one.model.key.text} ({note})" if note else one.model.key.text


def _say_none(console: Console) -> None:
    from tongs.runtime.models import usual_keys

    console.say("no model is configured")
    for provider, variable in usual_keys():
        console.say(f"{variable} is set, so --model {provider}:MODEL works without any config")
    console.hint("--model ollama:qwen3:8b, or an entry in config.yml: tongs help models")


def _wire(one: KnownModel, trial: Trial | None) -> dict[str, Any]:
    model = one.model
    wire: dict[str, Any] = {
        "name": one.name,
        "default": one.default,
        "provider": model.provider,
        "model": model.model,
        "baseUrl": model.base_url,
        "key": None if model.key is None else model.key.text,
        "keyFound": None if model.key is None else not one.missing,
        "source": model.source,
    }
    if trial is not None:
        failed = trial.failed
        wire["test"] = {
            "ok": failed is None,
            "seconds": round(trial.seconds, 3),
            "error": None
            if failed is None
            else {"kind": failed.kind, "message": failed.message, "hint": failed.hint},
        }
    return wire
