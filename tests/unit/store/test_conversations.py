"""Conversations outlive the process that has them, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tongs import ToolError
from tongs.core.conversation import (
    CallAnswered,
    CallMade,
    Conversation,
    ModelSaid,
    ToolsAnswered,
    UserSaid,
    call_id,
)
from tongs.store.conversations import ConversationStore

CALLS = (CallMade("a", "look", {"x": 1}), CallMade("b", "look", {"x": 2}))
DONE = CallAnswered("a", "look", "seen", ok=True)


def lost(own_id: str, call: CallMade) -> CallAnswered:
    return CallAnswered(call.id, call.name, f"lost {own_id}", ok=False)


def never(own_id: str, call: CallMade) -> CallAnswered:
    raise AssertionError(f"{call.id} has its answer")


@pytest.fixture
def store(tmp_path: Path) -> ConversationStore:
    return ConversationStore(str(tmp_path / "state"))


def begun(store: ConversationStore, *said: str) -> Conversation:
    conversation = store.begin("/project", "local")
    journal = store.journal(conversation)
    for text in said:
        journal.add(UserSaid(text))
    return conversation


def test_while_it_goes_on_every_message_is_on_the_disk_and_others_may_write(
    store: ConversationStore, tmp_path: Path
) -> None:
    other = ConversationStore(str(tmp_path / "state"))
    with store.going_on():
        first, second = begun(store, "one"), begun(other, "two")
        read = [other.read(first.id).messages, store.read(second.id).messages]
    assert read == [(UserSaid("one"),), (UserSaid("two"),)]


def test_what_goes_wrong_meanwhile_is_not_the_matter_of_the_store(
    store: ConversationStore,
) -> None:
    with pytest.raises(FileNotFoundError), store.going_on():
        raise FileNotFoundError


def test_what_was_said_is_read_back_in_its_order(store: ConversationStore) -> None:
    conversation = begun(store, "how is it?")
    journal = store.journal(conversation)
    journal.add(ModelSaid("", CALLS))
    journal.add_answer(1, CallAnswered("b", "look", "second", ok=True))
    journal.add_answer(0, DONE)
    answers = ToolsAnswered((DONE, CallAnswered("b", "look", "second", ok=True)))
    journal.add(answers)
    journal.add(ModelSaid("fine"))
    read = store.load(conversation.id, never)
    assert read.messages == (
        UserSaid("how is it?"),
        ModelSaid("", CALLS),
        answers,
        ModelSaid("fine"),
    )
    assert (read.title, read.project, read.model) == ("how is it?", "/project", "local")


def test_calls_without_an_answer_get_one_that_is_kept(store: ConversationStore) -> None:
    conversation = begun(store, "go")
    journal = store.journal(conversation)
    journal.add(ModelSaid("", CALLS))
    journal.add_answer(0, DONE)
    read = store.load(conversation.id, lost)
    expected = CallAnswered("b", "look", f"lost {call_id(conversation.id, 1, 1)}", ok=False)
    assert read.messages[-1] == ToolsAnswered((DONE, expected))
    assert store.load(conversation.id, never) == read


def test_the_last_one_of_a_project_is_found(tmp_path: Path) -> None:
    now = [1000.0]
    store = ConversationStore(str(tmp_path), lambda: now[0])
    assert (store.last("/project"), store.listed()) == (None, [])
    first = begun(store, "one " * 50)
    now[0] += 1
    second = begun(store, "two")
    assert store.last("/project") == second.id
    now[0] += 1
    store.journal(first).add(ModelSaid("still here"))
    assert store.last("/project") == first.id
    assert store.last("/elsewhere") is None
    listed = store.listed("/project")
    assert [(each.id, each.messages) for each in listed] == [(first.id, 2), (second.id, 1)]
    assert len(listed[0].title) == 80


def test_one_is_named_by_the_beginning_of_its_id(store: ConversationStore) -> None:
    conversation = begun(store, "x")
    assert store.load(conversation.id[:6], never).id == conversation.id
    for name in ("", "zzz", "%"):
        with pytest.raises(ToolError, match="there is no conversation"):
            store.load(name, never)
    other = begun(store, "y")
    while other.id[0] != conversation.id[0]:
        other = begun(store, "y")
    with pytest.raises(ToolError, match="several"):
        store.load(other.id[0], never)


def test_one_can_be_renamed_and_removed(store: ConversationStore) -> None:
    conversation = begun(store, "x")
    store.rename(conversation.id, "better")
    assert store.load(conversation.id, never).title == "better"
    assert store.remove([conversation.id[:6], conversation.id]) == {conversation.id: "better"}
    assert store.listed() == []
    with pytest.raises(ToolError, match="there is no conversation"):
        store.remove([conversation.id])


def test_where_one_cannot_be_removed_none_is(store: ConversationStore) -> None:
    kept = begun(store, "x")
    with pytest.raises(ToolError, match="there is no conversation"):
        store.remove([kept.id, "zzz"])
    assert [each.id for each in store.listed()] == [kept.id]


def test_nothing_of_what_was_removed_stands_in_the_files(
    store: ConversationStore, tmp_path: Path
) -> None:
    def files() -> bytes:
        return b"".join(file.read_bytes() for file in (tmp_path / "state").iterdir())

    conversation, other = begun(store, "secret plans " * 1000), begun(store, "other plans")
    # As long as somebody has the file open, its log has all that was said.
    with store.going_on():
        assert b"secret plans" in files()
        store.remove([conversation.id])
        assert b"secret plans" not in files()
    assert b"other plans" in files()
    assert [each.id for each in store.listed()] == [other.id]


def test_nobody_else_can_read_it(store: ConversationStore, tmp_path: Path) -> None:
    begun(store, "secret plans")
    for file in (tmp_path / "state").iterdir():
        assert file.stat().st_mode & 0o077 == 0, file


def test_a_broken_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "conversations.db").write_bytes(b"no database" * 1000)
    with pytest.raises(ToolError, match="cannot be read or kept in"):
        begun(ConversationStore(str(tmp_path)), "x")


def test_a_message_that_nobody_understands_is_said(store: ConversationStore) -> None:
    conversation = begun(store, "x")
    store.add(conversation, {"type": "psychic"})
    with pytest.raises(ToolError, match=f"{conversation.id}.*cannot be read"):
        store.load(conversation.id, never)


TALKER = """
import sys
from tongs.core.conversation import CallAnswered, CallMade, ModelSaid, UserSaid
from tongs.store.conversations import ConversationStore

store = ConversationStore(sys.argv[1])
conversation = store.begin("/project", "local")
journal = store.journal(conversation)
print(conversation.id, flush=True)
calls = (CallMade("a", "look", {}), CallMade("b", "look", {}))
while True:
    journal.add(UserSaid("go"))
    print("said", flush=True)
    journal.add(ModelSaid("", calls))
    print("said", flush=True)
    for at, call in enumerate(calls):
        journal.add_answer(at, CallAnswered(call.id, call.name, "seen", True))
        print("said", flush=True)
    journal.add(ModelSaid("done"))
    print("said", flush=True)
"""


@pytest.mark.parametrize("after", range(1, 8))
def test_a_killed_process_loses_nothing_that_was_said(tmp_path: Path, after: int) -> None:
    talker = subprocess.Popen(
        [sys.executable, "-c", TALKER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert talker.stdout is not None
    name = talker.stdout.readline().strip()
    for _ in range(after):
        assert talker.stdout.readline() == "said\n"
    os.kill(talker.pid, signal.SIGKILL)
    said = after + talker.stdout.read().count("said\n")
    talker.wait()
    talker.stdout.close()
    messages = ConversationStore(str(tmp_path)).load(name, lost).messages
    # Each round is five steps and four messages, of which two steps are one message.
    rounds, rest = divmod(said, 5)
    assert len(messages) >= rounds * 4 + (rest, 1, 3, 3, 3)[rest] * bool(rest)
    for at, message in enumerate(messages):
        if isinstance(message, ModelSaid) and message.calls:
            answers = messages[at + 1]
            assert isinstance(answers, ToolsAnswered)
            assert [each.id for each in answers.answers] == ["a", "b"]


def test_to_read_it_answers_nothing_in_its_place(store: ConversationStore) -> None:
    conversation = begun(store, "how is it?")
    journal = store.journal(conversation)
    journal.add(ModelSaid("", CALLS))
    assert store.read(conversation.id).messages == (UserSaid("how is it?"), ModelSaid("", CALLS))
    journal.add_answer(0, DONE)
    assert store.read(conversation.id[:6]).messages[2:] == (ToolsAnswered((DONE,)),)
    answers = store.load(conversation.id, lost).messages[2]
    assert isinstance(answers, ToolsAnswered)
    assert [answer.text[:4] for answer in answers.answers] == ["seen", "lost"]
