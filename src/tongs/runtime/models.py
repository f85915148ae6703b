"""The models of the config, made ready to be asked, listed and tried."""

# ruff: noqa: PLC0415 - the way to the providers is loaded where somebody takes it

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from tongs.config.environment import host_environment
from tongs.config.models import PROVIDERS, chosen
from tongs.config.settings import ModelConfig, Reference
from tongs.core.annotations import TYPE_CHECKING
from tongs.core.conversation import ModelFailed, UserSaid
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass, replace
from tongs.runtime.secrets import Secrets, Unusable

if TYPE_CHECKING:
    from tongs.agent.pydantic_models import ProviderModel
    from tongs.runtime import Runtime

# A trial is short, and a model that has to be loaded first takes a while.
_TRIAL_TOKENS = 16
_TRIAL_SECONDS = 60.0
_TRIAL_WORDS = "Answer with one word: ok"


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that could be asked. `missing` says why its key is not there."""

    name: str
    model: ModelConfig
    default: bool = False
    missing: str = ""

    @property
    def exposed(self) -> bool:
        """Whether its key crosses a network that anybody may listen to."""
        scheme, _, rest = self.model.base_url.partition("://")
        host = urlsplit(f"//{rest}").hostname or ""
        return self.model.key is not None and scheme == "http" and not _is_here(host)


def _is_here(host: str) -> bool:
    """Whether it is this machine; `127.0.0.1.example.org` is not."""
    from ipaddress import ip_address

    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Trial:
    """Whether a model answered, and after how many seconds; else why it did not."""

    seconds: float
    failed: ModelFailed | None = None


def open_model(
    runtime: Runtime, named: str, base_url: str, warn: Callable[[str], None]
) -> ProviderModel:
    """The model of `--model` and `--base-url`, or the default one; nothing is sent yet.

    `warn` is told what the person should know before anything is. Raises ToolError: no such model,
    a key that is not there, an extra that is not installed.
    """
    name, model = chosen(runtime.settings.models, named, base_url)
    opened = _opened(runtime, name, model)
    if KnownModel(name, model).exposed:
        warn(
            f"the key of {name} is sent to {model.base_url} without encryption, as is all that is"
            " said: anybody on the way can read it"
        )
    return opened


def known_models(runtime: Runtime, named: Sequence[str] = ()) -> list[KnownModel]:
    """Those of the config, or those that are named, and whether their keys are there."""
    models = runtime.settings.models
    default = models.default or (next(iter(models.named)) if len(models.named) == 1 else "")
    found = [
        KnownModel(name, chosen(models, name)[1], default=name == default)
        for name in named or models.named
    ]
    secrets = _secrets(runtime)
    return [replace(known, missing=_why_missing(known.model.key, secrets)) for known in found]


def usual_keys(environment: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """The providers whose usual variable is set, each with its name."""
    host = host_environment() if environment is None else environment
    return [
        (name, provider.variable)
        for name, provider in PROVIDERS.items()
        if provider.variable and host.get(provider.variable)
    ]


async def tried(runtime: Runtime, known: KnownModel) -> Trial:
    """Ask it for one word, and hang up as soon as it has begun."""
    import asyncio
    import time
    from contextlib import aclosing

    settings = {**known.model.settings, "max_tokens": _TRIAL_TOKENS}
    begun = time.monotonic()
    failed = None
    try:
        model = _opened(runtime, known.name, replace(known.model, settings=settings))
    except ToolError as error:
        return Trial(0.0, ModelFailed("auth", error.message, error.hint))
    try:
        async with asyncio.timeout(_TRIAL_SECONDS):
            async with aclosing(model.stream([UserSaid(_TRIAL_WORDS)], (), "")) as events:
                await anext(events)
    except ModelFailed as error:
        failed = error
    except TimeoutError:
        failed = ModelFailed("connection", f"no answer within {_TRIAL_SECONDS:g}s")
    finally:
        await model.aclose()
    return Trial(time.monotonic() - begun, failed)


def _opened(runtime: Runtime, name: str, model: ModelConfig) -> ProviderModel:
    from importlib.util import find_spec

    if find_spec("pydantic_ai") is None:
        raise ToolError(
            ErrorCode.UNSUPPORTED_PLATFORM,
            "the packages that speak to models are not installed",
            hint="pip install 'tongs[chat]'",
        )
    secrets = _secrets(runtime)
    key = _value(name, "key", model.key, secrets)
    proxy = model.proxy.text if model.proxy is not None else ""
    if model.proxy is not None and not proxy.startswith(("http://", "https://")):
        proxy = _value(name, "proxy", model.proxy, secrets)
    from tongs.agent.pydantic_models import ProviderModel

    return ProviderModel(name, model, key, proxy)


def _secrets(runtime: Runtime) -> Secrets:
    return Secrets({}, host_environment(), runtime.places.home)


def _value(name: str, what: str, reference: Reference | None, secrets: Secrets) -> str:
    if reference is None:
        return ""
    hint = ""
    try:
        if value := secrets.look_up(reference):
            return value
        reason = "is not there"
    except Unusable as unusable:
        reason, hint = unusable.reason, unusable.hint
    variable = reference.text.removeprefix("env:")
    if not hint and variable != reference.text:
        hint = f"export {variable}=…, or say where it is: `{what}` of the model in config.yml"
    raise ToolError(
        ErrorCode.SECRET_MISSING,
        f"{name} was not asked: its {what} is {reference.text} ({reference.source}),"
        f" which {reason}",
        hint=hint or "put a value there, or change the reference",
    )


def _why_missing(reference: Reference | None, secrets: Secrets) -> str:
    if reference is None:
        return ""
    try:
        return "" if secrets.look_up(reference) else "is not there"
    except Unusable as unusable:
        return unusable.reason
