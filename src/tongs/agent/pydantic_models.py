"""Models of all providers, reached through pydantic-ai. No other file knows that package.

Only its models are used: requests out, events in. Nothing of it calls a tool, tries again, or reads
the environment.
"""

# ruff: noqa: PLC0415 - an extra, and slow to load: imported once somebody speaks to a model

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from importlib import import_module

from tongs.agent.bounded import Listening, bound, failure_within, patience
from tongs.agent.calls_read import call_made, nameable, whole
from tongs.agent.model_errors import Words, told
from tongs.config.environment import without
from tongs.config.models import PROVIDERS
from tongs.config.settings import ModelConfig
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.conversation import (
    CallArriving,
    CallMade,
    Finished,
    Message,
    ModelEvent,
    ModelFailed,
    ModelSaid,
    TextArrived,
    ThinkingArrived,
    ToolsAnswered,
    Usage,
    UserSaid,
)
from tongs.core.loading import all_of_it_stays
from tongs.redaction import Redactor

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai import messages as wire
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition

# What the providers' packages would otherwise take addresses, keys and headers from; and what
# makes them print requests as soon as they are loaded, which takes too long to hide the others.
_READ_BY_OTHERS = ("OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_", "PYDANTIC_AI_", "LOGFIRE_")
_READ_WHEN_LOADED = ("OPENAI_LOG", "ANTHROPIC_LOG")
# The longest silence, and the longest wait for a connection, in seconds.
_SILENCE = 600.0
_CONNECT = 10.0
_STOPS = {"length": "length", "content_filter": "refusal", "tool_call": "calls"}
# The packages insist on a key. Without one, nothing of this is sent.
_NO_KEY = "none"
_KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")
# Under this name a model reads back what it wrote instead of arguments.
_NO_ARGUMENTS = "not_valid_json"


class ProviderModel:
    """A `ChatModel`. `key` and `proxy` are the values themselves, and are told to nobody else."""

    def __init__(self, name: str, model: ModelConfig, key: str = "", proxy: str = "") -> None:
        self.name = name
        self.form = PROVIDERS[model.provider].form
        self.instructions = model.instructions
        self._config = model
        self._key = key
        self._proxy = proxy
        secrets = Redactor(each for each in (key, proxy) if each)
        self._words = Words(name, model, secrets.text)
        # For the event loop that it was made in.
        self._connected: tuple[asyncio.AbstractEventLoop, httpx2.AsyncClient, Model] | None = None
        # By the task that asked, between the first line of a response and the first event.
        self._answering: dict[asyncio.Task[Any] | None, httpx2.Response] = {}

    def __repr__(self) -> str:
        return f"ProviderModel({self.name!r}, {self._config.provider}:{self._config.model})"

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], instructions: str
    ) -> AsyncGenerator[ModelEvent]:
        """See `ChatModel.stream`."""
        try:
            model = self._model()
            async with aclosing(self._events(model, messages, tools, instructions)) as events:
                async for event in events:
                    yield event
        except ModelFailed:
            raise
        except ImportError:
            raise self._words.not_installed() from None
        except Exception as error:  # noqa: BLE001 - who knows what packages do with a wrong answer
            # Not `from error`: it holds the request, and the request holds the key.
            raise failure_within(error) or _mapped(error, self._words) from None
        finally:
            self._answering.pop(asyncio.current_task(), None)

    def load(self) -> None:
        """See `ChatModel.load`. What is not installed is said where the model is asked."""
        with suppress(ImportError):
            _load(self.form)

    async def aclose(self) -> None:
        """Close the connections that are kept for the next request."""
        connected, self._connected = self._connected, None
        if connected is not None and connected[0] is asyncio.get_running_loop():
            await connected[1].aclose()

    def _model(self) -> Model:
        loop = asyncio.get_running_loop()
        if self._connected is None or self._connected[0] is not loop:
            _load(self.form)
            with without(_READ_BY_OTHERS):
                http = _http_client(self._config, self._proxy)
                http.event_hooks = {
                    "request": [] if self._key else [_send_no_key],
                    "response": [self._answers],
                }
                model = _MAKERS[self.form](self._config, self._key, http)
            self._connected = (loop, http, model)
        return self._connected[2]

    async def _answers(self, response: httpx2.Response) -> None:
        self._answering[asyncio.current_task()] = response
        bound(response, self._words.too_large())

    async def _events(
        self,
        model: Model,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        instructions: str,
    ) -> AsyncGenerator[ModelEvent]:
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.messages import InstructionPart
        from pydantic_ai.models import ModelRequestParameters

        told_first = [InstructionPart(instructions)] if instructions else []
        asked = ModelRequestParameters(
            function_tools=[_definition(each) for each in _functions(tools)],
            instruction_parts=told_first,
        )
        request = model_request_stream(
            model,
            [_outgoing(message, self._config) for message in messages],
            model_settings=_settings(self._config.settings),
            model_request_parameters=asked,
            instrument=False,
        )
        listening = Listening(patience(self._config.settings), self._words)
        async with AsyncExitStack() as stack:
            response = await listening.wait_for(stack.enter_async_context(request))
            on_the_wire = self._answering.pop(asyncio.current_task(), None)
            events = aiter(response)
            try:
                while (event := await listening.next(events)) is not None:
                    for each in _arrived(event):
                        yield each
            finally:
                # Not every package hangs up where nobody listens any more.
                if on_the_wire is not None:
                    await on_the_wire.aclose()
            answer = response.get()
        if answer.finish_reason is None:
            raise self._words.broken_off("nothing said that it was at its end")
        if answer.finish_reason == "error":
            raise self._words.unreadable(str((answer.provider_details or {}).get("finish_reason")))
        yield _finished(answer, self.name, self._config)


def _load(form: str) -> None:
    """Raises ImportError."""
    # Whoever comes second waits: half a package is no use, nor is half an environment.
    with _ONE_AT_A_TIME, all_of_it_stays(), without(_READ_WHEN_LOADED):
        import_module(_LOADED[form])


def _http_client(model: ModelConfig, proxy: str) -> httpx2.AsyncClient:
    """Nothing from the environment, and no redirects: a key goes to one address only."""
    import ssl

    import httpx2

    # Without TLS no certificate is trusted, which takes a while to load, and none is needed.
    secured = "https://" in f"{model.base_url} {proxy}"
    silence = float(model.settings.get("timeout", _SILENCE))
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(silence, connect=min(silence, _CONNECT)),
        proxy=proxy or None,
        verify=True if secured else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        headers={"Accept-Encoding": "identity"},
        trust_env=False,
        follow_redirects=False,
    )


async def _send_no_key(request: httpx2.Request) -> None:
    for name in _KEY_HEADERS:
        request.headers.pop(name, None)


def _openai(config: ModelConfig, key: str, http: httpx2.AsyncClient) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    client = AsyncOpenAI(
        api_key=key or _NO_KEY,
        base_url=config.base_url,
        http_client=http,
        max_retries=0,
    )
    own = config.provider == "openai"
    provider = (
        OpenAIProvider(openai_client=client)
        if own
        else OpenAICompatibleProvider(config.provider, openai_client=client)
    )
    profile = OpenAIModelProfile(
        # The tools' schemas are fitted already (`registry.export`).
        json_schema_transformer=None,
        # An answer that ends without one was cut off.
        openai_chat_streaming_requires_finish_reason=True,
    )
    return OpenAIChatModel(config.model, provider=provider, profile=profile)


def _anthropic(config: ModelConfig, key: str, http: httpx2.AsyncClient) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(
        api_key=key or _NO_KEY,
        base_url=config.base_url,
        http_client=http,
        max_retries=0,
    )
    provider = AnthropicProvider(anthropic_client=client)
    profile = ModelProfile(json_schema_transformer=None)
    return AnthropicModel(config.model, provider=provider, profile=profile)


def _google(config: ModelConfig, key: str, http: httpx2.AsyncClient) -> Model:
    from google.genai.client import Client
    from google.genai.types import HttpOptions, HttpRetryOptions
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.providers.google import GoogleProvider

    options = HttpOptions(
        base_url=config.base_url,
        httpx_async_client=http,
        timeout=int(config.settings.get("timeout", _SILENCE) * 1000),
        retry_options=HttpRetryOptions(attempts=1),
    )
    client = Client(vertexai=False, api_key=key or _NO_KEY, http_options=options)
    profile = ModelProfile(json_schema_transformer=None)
    return GoogleModel(config.model, provider=GoogleProvider(client=client), profile=profile)


_ONE_AT_A_TIME = threading.Lock()
_LOADED = {
    "openai": "pydantic_ai.models.openai",
    "anthropic": "pydantic_ai.models.anthropic",
    "gemini": "pydantic_ai.models.google",
}
_MAKERS = {"openai": _openai, "anthropic": _anthropic, "gemini": _google}


def _settings(written: Mapping[str, Any]) -> ModelSettings:
    from pydantic_ai.settings import ModelSettings

    # No `max_retries`: for that the packages make their clients anew, from the environment.
    made = ModelSettings()
    for key in ("temperature", "top_p", "max_tokens", "seed", "thinking"):
        if key in written:
            made[key] = written[key]
    if "stop" in written:
        made["stop_sequences"] = list(written["stop"])
    return made


def _functions(tools: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Each function of what `Offer.export` gives, whichever form it has."""
    for tool in tools:
        if "functionDeclarations" in tool:
            yield from tool["functionDeclarations"]
        else:
            yield tool.get("function", tool)


def _definition(function: Mapping[str, Any]) -> ToolDefinition:
    from pydantic_ai.tools import ToolDefinition

    schema = function.get("parameters", function.get("input_schema"))
    return ToolDefinition(
        name=function["name"],
        description=function.get("description", ""),
        parameters_json_schema=_lower(schema) if schema else {"type": "object", "properties": {}},
        strict=bool(function.get("strict")),
    )


def _lower(schema: Any) -> Any:
    """Gemini's words as JSON Schema has them, since that is what is sent; others stay."""
    if isinstance(schema, list):
        return [_lower(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    kind = schema.get("type")
    if not (isinstance(kind, str) and kind.isupper()):
        return {key: _lower(each) for key, each in schema.items()}
    made = {key: _lower(each) for key, each in schema.items() if key != "nullable"}
    made["type"] = [kind.lower(), "null"] if schema.get("nullable") else kind.lower()
    return made


def _outgoing(message: Message, config: ModelConfig) -> wire.ModelMessage:
    from pydantic_ai import messages as wire

    match message:
        case UserSaid(text):
            return wire.ModelRequest([wire.UserPromptPart(text)])
        case ToolsAnswered(answers):
            # OpenAI's protocol has no word for a failure; the text says what went wrong.
            plain = PROVIDERS[config.provider].form == "openai"
            parts = [
                wire.ToolReturnPart(
                    *(nameable(answer.name), answer.text, answer.id),
                    outcome="success" if answer.ok or plain else "failed",
                )
                for answer in answers
            ]
            return wire.ModelRequest(parts)
        case ModelSaid():
            return _said_before(message, config)


def _said_before(said: ModelSaid, config: ModelConfig) -> wire.ModelResponse:
    """As this provider said it, with signatures; what another one said in plain words."""
    from pydantic_ai import messages as wire

    if said.details.get("provider") == config.provider:
        try:
            [same] = wire.ModelMessagesTypeAdapter.validate_python([said.details["response"]])
        except (KeyError, ValueError):
            pass  # kept by another version
        else:
            if isinstance(same, wire.ModelResponse):
                return same
    text = [wire.TextPart(said.text)] if said.text else []
    calls = [
        wire.ToolCallPart(nameable(call.name), _sendable(call), call.id) for call in said.calls
    ]
    return wire.ModelResponse([*text, *calls])


def _sendable(call: CallMade) -> dict[str, Any]:
    return {_NO_ARGUMENTS: call.raw} if call.arguments is None else dict(call.arguments)


def _arrived(event: object) -> Iterator[ModelEvent]:
    from pydantic_ai import messages as wire

    match event:
        case wire.PartStartEvent(part=wire.TextPart(content=str(text))) if text:
            yield TextArrived(whole(text))
        case wire.PartStartEvent(part=wire.ThinkingPart(content=str(text))) if text:
            yield ThinkingArrived(whole(text))
        case wire.PartStartEvent(part=wire.ToolCallPart() as call):
            yield CallArriving(call.tool_call_id, whole(call.tool_name))
        case wire.PartDeltaEvent(delta=wire.TextPartDelta(content_delta=str(text))) if text:
            yield TextArrived(whole(text))
        case wire.PartDeltaEvent(delta=wire.ThinkingPartDelta(content_delta=str(text))) if text:
            yield ThinkingArrived(whole(text))


def _finished(answer: wire.ModelResponse, name: str, config: ModelConfig) -> Finished:
    from pydantic_ai import messages as wire

    text = "".join(part.content for part in answer.parts if isinstance(part, wire.TextPart))
    parts = [part for part in answer.parts if isinstance(part, wire.ToolCallPart)]
    _tell_apart(parts)
    stop = _STOPS.get(answer.finish_reason or "", "end")
    cut = answer.parts[-1] if stop == "length" and answer.parts else None
    calls = tuple(
        call_made(part.tool_call_id, whole(part.tool_name), part.args, cut=part is cut)
        for part in parts
    )
    if stop == "refusal":
        text = text or str((answer.provider_details or {}).get("refusal") or "")
    elif stop in ("end", "calls"):
        stop = "calls" if calls else "end"
    usage = Usage(answer.usage.input_tokens, answer.usage.output_tokens)
    details = _kept(answer, calls, config)
    return Finished(ModelSaid(whole(text), calls, usage, name, details), stop)


def _tell_apart(calls: Sequence[wire.ToolCallPart]) -> None:
    """Give each an id of its own: by it the answers find their calls."""
    seen: set[str] = set()
    for number, call in enumerate(calls):
        made = whole(call.tool_call_id)
        call.tool_call_id = f"{made}-{number}" if made in seen or not made else made
        seen.add(call.tool_call_id)


def _kept(
    answer: wire.ModelResponse, calls: Sequence[CallMade], config: ModelConfig
) -> dict[str, Any]:
    """What must be said back unchanged, where there is more than text and calls."""
    from pydantic_ai import messages as wire

    plain = (wire.TextPart, wire.ToolCallPart)
    if all(isinstance(part, plain) and not part.provider_details for part in answer.parts):
        return {}
    by_id = {call.id: call for call in calls}
    for part in answer.parts:
        if isinstance(part, wire.ToolCallPart):
            if by_id[part.tool_call_id].arguments is None:
                part.args = _sendable(by_id[part.tool_call_id])
            part.tool_name = nameable(part.tool_name)
        elif isinstance(part, wire.TextPart | wire.ThinkingPart):
            part.content = whole(part.content)
    [response] = wire.ModelMessagesTypeAdapter.dump_python([answer], mode="json")
    read = ("kind", "parts", "provider_name", "model_name", "finish_reason")
    return {"provider": config.provider, "response": {key: response[key] for key in read}}


def _mapped(error: Exception, words: Words) -> ModelFailed:
    from pydantic_ai import exceptions as those

    status = getattr(error, "status_code", None)
    wait = getattr(error, "retry_after", None)
    said = told(getattr(error, "body", None)) or ("" if status else str(error))
    # The first that fits: some are kinds of others.
    kinds: tuple[tuple[type[Exception], Callable[[], ModelFailed]], ...] = (
        (those.ContentFilterError, lambda: words.refused("")),
        (those.ModelTimeoutError, words.silent),
        (those.ModelConnectionError, lambda: _unconnected(error, words)),
        (those.ModelAuthenticationError, lambda: words.auth(status, said)),
        (those.ModelQuotaExceededError, lambda: words.quota(said)),
        (those.ModelRateLimitError, lambda: words.rate(said, wait)),
        (those.ModelContextWindowExceededError, lambda: words.context(said)),
        (those.ModelNotFoundError, lambda: words.unknown(said)),
        (those.ModelServerError, lambda: words.server(status, said, wait)),
        (those.ModelUnavailableError, lambda: words.server(status, said, wait)),
        (those.ModelHTTPError, lambda: _by_status(error, words, said)),
        (those.ModelRequestRejectedError, lambda: words.rejected(status, said)),
        (those.ModelAPIError, lambda: _without_category(error, words, said)),
    )
    for kind, say in kinds:
        if isinstance(error, kind):
            return say()
    return words.unreadable(f"{type(error).__name__}: {error}")


def _unconnected(error: Any, words: Words) -> ModelFailed:
    why = _cause(error)
    return words.nobody_there(why) if error.phase in ("connect", "pool") else words.broken_off(why)


def _without_category(error: Exception, words: Words, said: str) -> ModelFailed:
    for name in ("status_code", "code"):
        status = getattr(error.__cause__, name, None)
        if isinstance(status, int) and 300 <= status < 400:
            return words.redirected(status)
    return words.broken_off(said)


def _by_status(error: Any, words: Words, said: str) -> ModelFailed:
    """What no category was found for; servers of one's own have statuses of their own."""
    status = int(error.status_code)
    if status == 404:
        return words.unknown(said)
    if status >= 500:
        return words.server(status, said, error.retry_after)
    return words.rejected(status, said)


def _cause(error: BaseException) -> str:
    """The innermost reason, which says more than `Connection error.`"""
    while (deeper := error.__cause__ or error.__context__) is not None:
        error = deeper
    return str(error)
