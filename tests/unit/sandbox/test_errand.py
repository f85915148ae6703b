"""Tongs, started for something that nobody waits for."""

from __future__ import annotations

import os
import signal

import pytest

from tongs.sandbox.errand import Errand

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def test_errand_is_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    errand = Errand()
    monkeypatch.setattr("tongs.sandbox.errand.sys.executable", "/bin/nosuch")
    assert not errand.start(("--version",), ENVIRONMENT)
    monkeypatch.undo()

    assert errand.start(("--version",), ENVIRONMENT)
    os.kill(errand._pid, signal.SIGSTOP)
    busy = errand.start(("--version",), ENVIRONMENT)
    os.kill(errand._pid, signal.SIGCONT)
    os.waitpid(errand._pid, 0)

    assert not busy
    # Somebody else has waited for it.
    assert errand.start(("--version",), ENVIRONMENT)
    os.waitpid(errand._pid, 0)
