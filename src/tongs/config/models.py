"""Which model somebody means, and what is known of the providers."""

from __future__ import annotations

from tongs.config.settings import ModelConfig, Models, Reference
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass, replace
from tongs.schema.nearest import did_you_mean


@dataclass(frozen=True, slots=True)
class Provider:
    """`form` is that of `Offer.export`; `variable` is where people keep the key."""

    form: str
    base_url: str = ""
    variable: str = ""


PROVIDERS = {
    "openai": Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": Provider("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "google": Provider("gemini", "https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    "openai-compatible": Provider("openai"),
    "ollama": Provider("openai", "http://127.0.0.1:11434/v1"),
    "lmstudio": Provider("openai", "http://127.0.0.1:1234/v1"),
    "llamacpp": Provider("openai", "http://127.0.0.1:8080/v1"),
    "vllm": Provider("openai", "http://127.0.0.1:8000/v1"),
}
_EXAMPLE = "--model ollama:qwen3:8b, or an entry in config.yml: tongs help models"


def chosen(models: Models, named: str = "", base_url: str = "") -> tuple[str, ModelConfig]:
    """The model that a name means, else the default one, with its name; all of it filled in.

    `named` is a name of the config, or PROVIDER:MODEL. Raises ToolError INVALID_ARGUMENTS.
    """
    name = named or _default(models)
    if (found := models.named.get(name)) is None:
        found = _described(name, models)
    if base_url and base_url.rstrip("/") != found.base_url.rstrip("/"):
        # The key is for the address it was written beside. Nobody said to send it elsewhere.
        found = replace(found, base_url=_checked(base_url), key=None)
    return name, filled(found)


def filled(model: ModelConfig) -> ModelConfig:
    """With the provider's usual address, and there with its usual variable for the key."""
    provider = PROVIDERS[model.provider]
    if not (address := model.base_url or provider.base_url):
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"{model.provider}:{model.model} has no address" + _at(model.source),
            hint="say where the server is: base_url in config.yml, or --base-url",
        )
    key = model.key
    if key is None and provider.variable and address.rstrip("/") == provider.base_url:
        key = Reference(f"env:{provider.variable}", f"the usual place for {model.provider}")
    return replace(model, base_url=address, key=key)


def _default(models: Models) -> str:
    if models.default:
        return models.default
    if len(models.named) == 1:
        return next(iter(models.named))
    if not models.named:
        raise ToolError(ErrorCode.INVALID_ARGUMENTS, "no model is configured", hint=_EXAMPLE)
    raise ToolError(
        ErrorCode.INVALID_ARGUMENTS,
        f"several models are configured, and none is the default: {', '.join(models.named)}",
        hint=f"--model {next(iter(models.named))}, or `models: {{default: …}}` in config.yml",
    )


def _described(name: str, models: Models) -> ModelConfig:
    provider, colon, model = name.partition(":")
    if colon and provider in PROVIDERS and model:
        return ModelConfig(provider, model)
    if colon:
        close = did_you_mean(provider, PROVIDERS)
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"there is no provider `{provider}`{close}"
            if provider not in PROVIDERS
            else f"`{name}` names no model",
            hint=f"PROVIDER:MODEL, with one of {', '.join(PROVIDERS)}",
        )
    raise ToolError(
        ErrorCode.INVALID_ARGUMENTS,
        f"there is no model `{name}`{did_you_mean(name, models.named)}",
        hint="tongs models lists them; any other is PROVIDER:MODEL, as in ollama:qwen3:8b",
    )


def _checked(address: str) -> str:
    scheme, _, rest = address.partition("://")
    host = rest.partition("/")[0]
    if scheme not in ("http", "https") or not host or "@" in host:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            "--base-url is no address of a server",
            hint="as in --base-url http://127.0.0.1:1234/v1",
        )
    return address


def _at(source: str) -> str:
    return f" ({source})" if source else ""
