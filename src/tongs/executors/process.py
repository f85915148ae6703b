"""`run:`: one program with its words, no shell around it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from tongs.core.execution import Executor, World
from tongs.executors.step import Prepared, StepExecutor
from tongs.template.plan import Process, Step
from tongs.template.values import Values
from tongs.template.words import arguments_words


def create(executors: Mapping[str, Executor]) -> StepExecutor:
    return StepExecutor(prepare)


def prepare(step: Step, values: Values, world: World) -> Prepared:
    assert isinstance(step.action, Process)
    argv = step.action.words.render(values)
    if step.arguments is not None:
        argv += arguments_words(step.arguments.render(values))
    return Prepared(tuple(argv), preview=shlex.join(argv))
