"""What a person is told where a model gives no answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tongs.config.settings import ModelConfig
from tongs.core.conversation import ModelFailed
from tongs.output import visible

_LONGEST = 300
# How servers of one's own say that a conversation is too long; each has words of its own.
_TOO_LONG = re.compile(
    r"context[ _](?:length|size|window)|maximum context|prompt is too long|too many tokens"
    r"|exceeds? the (?:model'?s )?(?:maximum|context)",
    re.IGNORECASE,
)


class Words:
    """Makes a ModelFailed of what happened; one of these knows one model."""

    def __init__(self, name: str, model: ModelConfig, clean: Callable[[str], str]) -> None:
        """`clean` takes secrets out of what a provider says."""
        self._name = name
        self._model = model
        self._clean = clean

    def not_installed(self) -> ModelFailed:
        return ModelFailed(
            "unavailable",
            "the packages that speak to models are not installed",
            "pip install 'tongs[chat]'",
        )

    def auth(self, status: int | None, said: str) -> ModelFailed:
        code = f" ({status})" if status else ""
        if self._model.key is None:
            return ModelFailed(
                "auth",
                f"{self._host} wants a key, and none is configured{code}{self._quoted(said)}",
                "say where the key is: `key: env:NAME` of the model in config.yml",
            )
        return ModelFailed(
            "auth",
            f"{self._host} refused the key{code}{self._quoted(said)}",
            f"it is {self._model.key.text} ({self._model.key.source}): see that it is right, then"
            f" tongs models --test",
        )

    def rate(self, said: str, retry_after: float | None) -> ModelFailed:
        wait = "" if retry_after is None else f"; it asks to wait {retry_after:g}s"
        return ModelFailed(
            "rate",
            f"{self._name} takes no more requests at the moment{wait}{self._quoted(said)}",
            "wait, or take another model: --model",
            retry_after,
        )

    def quota(self, said: str) -> ModelFailed:
        return ModelFailed(
            "unavailable",
            f"the account at {self._host} has nothing left to spend{self._quoted(said)}",
            "see to the account, or take another model: --model",
        )

    def context(self, said: str) -> ModelFailed:
        return ModelFailed(
            "context",
            f"the conversation is too long for {self._name}{self._quoted(said)}",
            "begin a new one, offer fewer tools (--tools, --tags), or take a model with more room",
        )

    def refused(self, said: str) -> ModelFailed:
        return ModelFailed(
            "refused",
            f"{self._name} refused to answer{self._quoted(said)}",
            "say it in another way, or take another model: --model",
        )

    def unknown(self, said: str) -> ModelFailed:
        return ModelFailed(
            "unavailable",
            f"{self._host} has no model `{self._model.model}`{self._quoted(said)}",
            f"see that the name is right, and that {self._model.base_url} is the whole address of"
            f" the API",
        )

    def nobody_there(self, why: str) -> ModelFailed:
        """Not `connection`: to try again at once would only keep the person waiting."""
        return ModelFailed(
            "unavailable",
            f"{self._name} cannot be reached at {self._model.base_url}{self._quoted(why)}",
            f"is the server running? Its address is base_url: {self._model.base_url}",
        )

    def silent(self) -> ModelFailed:
        return ModelFailed(
            "connection",
            f"{self._name} did not answer in time",
            "try again, or give it longer: `settings: {timeout: 20m}` of the model in config.yml",
        )

    def nothing_said(self, seconds: float) -> ModelFailed:
        """Not `connection`: to try again would only keep the person waiting as long again."""
        return ModelFailed(
            "unavailable",
            f"{self._host} keeps the connection open, and has sent nothing of an answer for"
            f" {seconds:g}s",
            "see what the server does, or give it longer: `settings: {content_timeout: 2h}` of the"
            " model in config.yml",
        )

    def broken_off(self, why: str) -> ModelFailed:
        return ModelFailed(
            "connection",
            f"the answer of {self._name} broke off{self._quoted(why)}",
            "try again; if it stays so, look at what the server says",
        )

    def unreadable(self, why: str) -> ModelFailed:
        return ModelFailed(
            "server",
            f"{self._name} gave an answer that cannot be read{self._quoted(why)}",
            f"does {self._model.base_url} speak the API of {self._model.provider}?",
        )

    def too_large(self) -> ModelFailed:
        """Not `server`: to try again would bring as much again."""
        return ModelFailed(
            "bad-request",
            f"{self._host} sends more than an answer can be, or packs it unasked",
            f"does {self._model.base_url} speak the API of {self._model.provider}?",
        )

    def server(self, status: int | None, said: str, retry_after: float | None) -> ModelFailed:
        code = f" ({status})" if status else ""
        return ModelFailed(
            "server",
            f"{self._host} has failed{code}{self._quoted(said)}",
            "try again later, or take another model: --model",
            retry_after,
        )

    def rejected(self, status: int | None, said: str) -> ModelFailed:
        """A request that is wrong as it is; some servers say so of one that is only too long."""
        if _TOO_LONG.search(said):
            return self.context(said)
        code = f" ({status})" if status else ""
        return ModelFailed(
            "bad-request",
            f"{self._name} did not take the request{code}{self._quoted(said)}",
            "it may not know one of its `settings`, or no tools: see config.yml, or try --no-tools",
        )

    def redirected(self, status: int) -> ModelFailed:
        return ModelFailed(
            "bad-request",
            f"{self._host} sends us to another address ({status}), where no key is sent",
            "put the address where the API is into base_url",
        )

    def _quoted(self, said: str) -> str:
        # Cleaned before it is cut: half a key is no longer found.
        text = " ".join(visible(self._clean(said)).split())
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST - 1]}…"
        return f": {text}" if text else ""

    @property
    def _host(self) -> str:
        return self._model.base_url.partition("://")[2].partition("/")[0]


def told(body: object) -> str:
    """What a provider says in the body of an error."""
    if isinstance(body, list) and body:
        return told(body[0])
    if isinstance(body, Mapping):
        inner = body.get("error", body.get("message", body.get("detail", "")))
        return told(inner)
    return body if isinstance(body, str) else ""
