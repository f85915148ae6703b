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


def test_what_somebody_works_on_is_trusted_whatever_becomes_of_it(tmp_path: Path) -> None:
    store = TrustStore(str(tmp_path / "state"))
    tools = tmp_path / "tools"

    store.develop(str(tools), 60)

    assert store.state_of(str(tools / "t.yaml"), "any") is Trust.DEV
    assert store.states_in(str(tools))(str(tools / "d" / "tool.yml"), "other") is Trust.DEV
    assert store.state_of(str(tmp_path / "tools-of-others"), "any") is Trust.UNTRUSTED
    assert [(item.kind, item.path) for item in store.accepted()] == [("dev", str(tools))]


def test_time_to_work_on_something_ends(tmp_path: Path) -> None:
    store = TrustStore(str(tmp_path / "state"))
    store.accept(str(tmp_path / "t.yaml"), "d1", b"")

    store.develop(str(tmp_path), -1)

    assert store.state_of(str(tmp_path / "t.yaml"), "d1") is Trust.ACCEPTED
    assert store.state_of(str(tmp_path / "t.yaml"), "d2") is Trust.CHANGED
    assert [item.kind for item in store.accepted()] == ["tool"]


def test_it_can_be_taken_back(tmp_path: Path) -> None:
    store = TrustStore(str(tmp_path / "state"))
    store.develop(str(tmp_path), 60)

    assert store.revoke(str(tmp_path))
    assert store.state_of(str(tmp_path / "t.yaml"), "d1") is Trust.UNTRUSTED


def linked_from(tmp_path: Path) -> tuple[str, str]:
    """A tool of one project, and a link to it that another project has brought along."""
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for folder in (mine, theirs):
        folder.mkdir()
    (mine / "t.yaml").touch()
    (theirs / "t.yaml").symlink_to(mine / "t.yaml")
    return str(mine / "t.yaml"), str(theirs / "t.yaml")


def test_acceptance_does_not_follow_a_link_from_another_project(tmp_path: Path) -> None:
    tool, link = linked_from(tmp_path)
    state = str(tmp_path / "state")
    TrustStore(state, str(tmp_path / "mine")).accept(tool, "d", b"text")
    store = TrustStore(state, str(tmp_path / "theirs"))

    assert store.state_of(link, "d") is Trust.UNTRUSTED
    assert store.states_in(str(tmp_path / "theirs"))(link, "d") is Trust.UNTRUSTED
    assert store.accepted_text(link) is None
    assert store.state_of(tool, "d") is Trust.ACCEPTED

    store.accept(link, "d", b"text")
    assert store.state_of(link, "d") is Trust.ACCEPTED


def test_folder_that_is_a_link_is_accepted_where_the_link_lies(tmp_path: Path) -> None:
    tool, _ = linked_from(tmp_path)
    folder = tmp_path / "theirs" / "tools"
    folder.symlink_to(tmp_path / "mine")
    state = str(tmp_path / "state")
    TrustStore(state, str(tmp_path / "mine")).accept(tool, "d", b"")
    store = TrustStore(state, str(tmp_path / "theirs"))

    assert store.states_in(str(folder))(str(folder / "t.yaml"), "d") is Trust.UNTRUSTED
    store.accept(str(folder / "t.yaml"), "d", b"")
    assert store.states_in(str(folder))(str(folder / "t.yaml"), "d") is Trust.ACCEPTED


def test_link_is_worked_on_where_it_lies_and_where_it_leads(tmp_path: Path) -> None:
    _, link = linked_from(tmp_path)
    store = TrustStore(str(tmp_path / "state"), str(tmp_path / "theirs"))

    store.develop(str(tmp_path / "mine"), 60)
    assert store.state_of(link, "d") is Trust.UNTRUSTED
    store.develop(str(tmp_path / "theirs"), 60)
    assert store.state_of(link, "d") is Trust.DEV
    store.revoke(str(tmp_path / "mine"))
    assert store.state_of(link, "d") is Trust.UNTRUSTED


def test_link_to_what_an_agent_created_waits_for_review(tmp_path: Path) -> None:
    tool, link = linked_from(tmp_path)
    store = TrustStore(str(tmp_path / "state"), str(tmp_path / "theirs"))
    store.develop(str(tmp_path), 60)
    store.created(tool, "agent")

    assert store.state_of(link, "d") is Trust.REVIEW


def test_link_is_taken_back_by_the_path_that_was_listed(tmp_path: Path) -> None:
    tool, link = linked_from(tmp_path)
    state = str(tmp_path / "state")
    TrustStore(state, str(tmp_path / "mine")).accept(tool, "d", b"")
    TrustStore(state, str(tmp_path / "theirs")).accept(link, "d", b"")
    elsewhere = TrustStore(state)

    assert elsewhere.revoke(link)
    assert [item.path for item in elsewhere.accepted()] == [tool]
