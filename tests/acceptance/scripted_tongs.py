"""`tongs` with a model that says what a file says: `scripted_tongs.py SCRIPT ARGUMENTS…`.

SCRIPT is JSON, a list of turns: a text, or calls as [name, arguments], or {"fail": kind}. What the
model was told goes to SCRIPT.told, a line each time it is asked.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.scripted import Scripted

from tongs.core.conversation import Message, ModelEvent, ModelFailed
from tongs.runtime import models
from tongs.surfaces.cli.main import main

SCRIPT = Path(sys.argv[1])


class Noting(Scripted):
    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], instructions: str
    ) -> AsyncIterator[ModelEvent]:
        with SCRIPT.with_suffix(".told").open("a") as file:
            file.write(json.dumps([message.to_data() for message in messages]) + "\n")
        async for event in super().stream(messages, tools, instructions):
            yield event


def _turn(data: Any) -> Any:
    if isinstance(data, dict):
        return ModelFailed(data["fail"], "it failed", data.get("hint", ""), data.get("after"))
    return data if isinstance(data, str) else [tuple(call) for call in data]


models.open_model = lambda *given: Noting(*map(_turn, json.loads(SCRIPT.read_text())))
sys.exit(main(sys.argv[2:]))
