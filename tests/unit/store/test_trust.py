"""Acceptance is pinned to bytes, survives concurrent writers, and can be taken back."""

from __future__ import annotations

import threading
from pathlib import Path

from tongs.core.tool import Trust
from tongs.store.trust import TrustStore


def test_state_follows_the_hash(tmp_path: Path) -> None:
    store = TrustStore(str(tmp_path / "state"))
    assert store.state_of("/p/t.yaml", "d1") is Trust.UNTRUSTED

    store.accept("/p/t.yaml", "d1", b"text one")

    assert store.state_of("/p/t.yaml", "d1") is Trust.ACCEPTED
    assert store.state_of("/p/t.yaml", "d2") is Trust.CHANGED
    assert store.state_of("/p/other.yaml", "d1") is Trust.UNTRUSTED
    assert store.accepted_text("/p/t.yaml") == b"text one"
    assert [(a.path, a.digest, a.kind) for a in store.accepted()] == [("/p/t.yaml", "d1", "tool")]


def test_revoked_acceptance_is_gone_for_every_reader(tmp_path: Path) -> None:
    TrustStore(str(tmp_path)).accept("/p/t.yaml", "d1", b"")

    assert TrustStore(str(tmp_path)).revoke("/p/t.yaml")
    assert not TrustStore(str(tmp_path)).revoke("/p/t.yaml")
    assert TrustStore(str(tmp_path)).state_of("/p/t.yaml", "d1") is Trust.UNTRUSTED


def test_file_behind_a_link_is_one_place(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store = TrustStore(str(tmp_path / "state"))

    store.accept(str(tmp_path / "link" / "t.yaml"), "d", b"")

    assert store.state_of(str(tmp_path / "real" / "t.yaml"), "d") is Trust.ACCEPTED


def test_damaged_file_trusts_nothing(tmp_path: Path) -> None:
    store = TrustStore(str(tmp_path))
    store.accept("/p/t.yaml", "d1", b"")
    (tmp_path / "trust.json").write_text("[not what it was")

    assert TrustStore(str(tmp_path)).state_of("/p/t.yaml", "d1") is Trust.UNTRUSTED


def test_concurrent_acceptances_are_all_kept(tmp_path: Path) -> None:
    def accept(number: int) -> None:
        TrustStore(str(tmp_path)).accept(f"/p/{number}", f"d{number}", b"")

    threads = [threading.Thread(target=accept, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(TrustStore(str(tmp_path)).accepted()) == 16


def test_store_is_private(tmp_path: Path) -> None:
    TrustStore(str(tmp_path / "state")).accept("/p", "d", b"")

    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "state" / "trust.json").stat().st_mode & 0o777 == 0o600


def test_running_process_sees_what_others_accept_and_revoke(tmp_path: Path) -> None:
    running, other = TrustStore(str(tmp_path)), TrustStore(str(tmp_path))
    assert running.state_of("/p/t.yaml", "d1") is Trust.UNTRUSTED

    other.accept("/p/t.yaml", "d1", b"")
    assert running.state_of("/p/t.yaml", "d1") is Trust.ACCEPTED

    other.revoke("/p/t.yaml")
    assert running.state_of("/p/t.yaml", "d1") is Trust.UNTRUSTED
    assert running.states_in("/p")("/p/t.yaml", "d1") is Trust.UNTRUSTED


def test_damaged_entry_accepts_nothing_and_spoils_no_other(tmp_path: Path) -> None:
    store = TrustStore(str(tmp_path))
    store.accept("/p/good", "d1", b"")
    file = tmp_path / "trust.json"
    file.write_text(file.read_text().replace("{", '{"/p/bad": 5, "/p/half": {"digest": "d"}, ', 1))

    assert store.state_of("/p/bad", "d1") is Trust.UNTRUSTED
    assert store.state_of("/p/half", "d") is Trust.UNTRUSTED
    assert [accepted.path for accepted in store.accepted()] == ["/p/good"]
