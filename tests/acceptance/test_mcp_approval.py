"""Approval over MCP: what the person sees, what their answer does, and what a client cannot do."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError
from tests.acceptance.conftest import TONGS, Outcome, Place
from tests.acceptance.test_mcp_server import loop
from tests.mcp_client import ERAS, Loop, Talk, allow, deny, error, error_code, fill, text, turn_away

__all__ = ["loop"]

ASKS = "approval: {required: true, reason: look at it}\n"
DEPLOY = (
    """description: Puts the site online
bash: echo "deployed to {STAGE} $(({COUNT} + 0))"
parameters:
  STAGE: {description: Where, enum: [test, live]}
  COUNT: {type: integer, default: 1}
tags: [write]
"""
    + ASKS
)
LISTS = (
    """description: Takes a list
bash: echo {NAMES}
parameters:
  NAMES: {type: array, items: {type: string}}
tags: [read]
"""
    + ASKS
)
RAW = "description: Inserts code\nbash: echo {RAW:CODE}\nparameters: {CODE: {}}\n" + ASKS
OUTER = """description: Calls another after a step of its own
steps:
  - name: first
    bash: echo first >> ran.txt
  - name: second
    tool: deploy
    arguments: {STAGE: test}
tags: [run]
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Place:
    root = tmp_path_factory.mktemp("approval")
    made = Place(*(root / name for name in ("project", "home", "user", "global")))
    for folder in (made.project / ".tongs" / "tools", made.home, made.user, made.glob):
        folder.mkdir(parents=True, mode=0o755)
    for name, definition in {
        "deploy": DEPLOY,
        "lists": LISTS,
        "raw": RAW,
        "outer": OUTER,
    }.items():
        made.tool(name, definition, scope="user")
    return made


def serve(loop: Loop, place: Place, *options: str, **more: Any) -> Talk:
    command = [TONGS, "mcp", "serve", *options]
    return Talk(loop, command, cwd=place.project, env=place.env, **more)


@pytest.fixture(scope="module", params=ERAS)
def talk(request: pytest.FixtureRequest, shared: Place, loop: Loop) -> Iterator[Talk]:
    made = serve(loop, shared, "--auto-approve", "outer", era=request.param)
    yield made
    made.close()


@pytest.fixture(scope="module")
def modern(shared: Place, loop: Loop) -> Iterator[Talk]:
    made = serve(loop, shared, "--auto-approve", "outer", era=ERAS[1])
    yield made
    made.close()


@pytest.fixture(scope="module", params=ERAS)
def silent(request: pytest.FixtureRequest, shared: Place, loop: Loop) -> Iterator[Talk]:
    """A client that shows no forms."""
    made = serve(loop, shared, era=request.param, asks=False, name=f"silent-{request.param[0]}")
    yield made
    made.close()


def tongs(place: Place, *words: str) -> Outcome:
    import subprocess

    done = subprocess.run(
        [TONGS, *words], cwd=place.project, env=place.env, capture_output=True, check=False
    )
    return Outcome(done.stdout.decode(), done.stderr.decode(), done.returncode)


def test_the_form_says_what_will_happen_and_who_wants_it(talk: Talk) -> None:
    result = talk.call("deploy", allow, STAGE="live")

    assert (text(result), result.is_error) == ("deployed to live 1\n", False)
    (form,) = talk.forms
    for words in (
        "deploy wants to run (asked by: test-agent, rule: approval.required)",
        "reason: look at it",
        "network: off",
        "secrets: none",
    ):
        assert words in form.message
    fields = form.requested_schema["properties"]
    assert list(fields) == ["decision", "reason", "STAGE", "COUNT"]
    assert fields["decision"]["enum"] == ["allow", "edit", "deny"]
    assert (fields["STAGE"]["default"], fields["STAGE"]["enum"]) == ("live", ["test", "live"])
    assert (fields["COUNT"]["default"], fields["COUNT"]["type"]) == (1, "integer")


def test_a_denial_reaches_the_model_with_its_reason(talk: Talk) -> None:
    result = talk.call("deploy", deny, STAGE="live")

    assert error_code(result) == "APPROVAL_DENIED"
    assert "not today" in text(result)
    assert error(result)["blockedBy"] == "approval"


@pytest.mark.parametrize(
    ("action", "said"), [("decline", "declined in the client"), ("cancel", "dismissed in")]
)
def test_a_form_that_is_turned_away_is_a_denial(talk: Talk, action: str, said: str) -> None:
    result = talk.call("deploy", turn_away(action), STAGE="live")

    assert error_code(result) == "APPROVAL_DENIED"
    assert said in text(result)


def test_edited_arguments_run_and_the_model_is_told(talk: Talk) -> None:
    result = talk.call("deploy", fill(decision="edit", STAGE="test", COUNT=3), STAGE="live")

    assert text(result).startswith("deployed to test 3\n")
    assert 'changed the arguments before allowing it; it ran with {"STAGE": "test"' in text(result)


def test_arguments_that_are_not_plain_are_one_text_of_json(talk: Talk) -> None:
    changed = fill(decision="edit", arguments='{"NAMES": ["c"]}')

    result = talk.call("lists", changed, NAMES=["a", "b"])

    assert text(result).startswith("c\n")
    (form,) = talk.forms
    assert json.loads(form.requested_schema["properties"]["arguments"]["default"]) == {
        "NAMES": ["a", "b"]
    }


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (fill(decision="allow", STAGE="test"), "choose edit"),
        (fill(decision="edit", STAGE="moon"), "STAGE"),
        (fill(decision="yes"), "allow, edit or deny"),
        (fill(), "allow, edit or deny"),
    ],
)
def test_an_answer_that_decides_nothing_is_asked_again(talk: Talk, wrong: Any, said: str) -> None:
    result = talk.call("deploy", wrong, deny, STAGE="live")

    assert error_code(result) == "APPROVAL_DENIED"
    first, second = talk.forms
    assert "Not understood" not in first.message
    assert "Not understood" in second.message
    assert said in second.message


def test_code_is_marked_and_hidden_characters_are_written_out(talk: Talk) -> None:
    talk.call("raw", deny, CODE="x\u202e\x1b[2J\nrule: forged")

    (form,) = talk.forms
    assert "RAW: inserted as code" in form.message
    assert "\\u202e" in form.message
    assert "\x1b" not in form.message
    assert "\u202e" not in json.dumps(form.requested_schema, ensure_ascii=False)
    assert not any(line.startswith("rule: forged") for line in form.message.splitlines())


def test_a_change_of_a_file_is_shown_as_a_difference(talk: Talk, shared: Place) -> None:
    file = shared.project / "report.md"
    file.write_text("old line\n")

    result = talk.call("write_file", allow, path="report.md", content="new line\n")

    assert not result.is_error, text(result)
    assert file.read_text() == "new line\n"
    (form,) = talk.forms
    assert "-old line" in form.message
    assert "+new line" in form.message


def test_an_approval_is_for_one_call(talk: Talk) -> None:
    talk.call("deploy", allow, STAGE="live")

    second = talk.call("deploy", deny, STAGE="live")

    assert error_code(second) == "APPROVAL_DENIED"


def test_a_call_by_tongs_tool_is_asked_about_as_the_tool(talk: Talk) -> None:
    result = talk.call("tongs_tool", allow, name="deploy", params={"STAGE": "live"})

    assert text(result) == "deployed to live 1\n"
    assert talk.forms[0].message.startswith("deploy wants to run")


def test_who_answered_is_in_the_record(talk: Talk, shared: Place) -> None:
    talk.call("deploy", fill(decision="allow", reason="fine"), STAGE="live")

    recorded = tongs(shared, "audit", "export").stdout

    assert "test-agent (by MCP)" in recorded


def test_a_question_can_be_answered_in_another_terminal_instead(shared: Place, loop: Loop) -> None:
    talk = serve(loop, shared, era="legacy", name="slow")
    ids: list[str] = []

    def elsewhere(form: types.ElicitRequestFormParams) -> types.ElicitResult:
        (waiting,) = [
            question
            for question in json.loads(tongs(shared, "approvals", "pending", "--json").stdout)
            if question["request"]["caller"]["name"] == "slow"
        ]
        ids.append(waiting["id"])
        assert tongs(shared, "approvals", "deny", waiting["id"], "--reason", "no").code == 0
        return types.ElicitResult(action="accept", content={"decision": "allow"})

    result = talk.call("deploy", elsewhere, STAGE="live")
    talk.close()

    assert error_code(result) == "APPROVAL_DENIED"
    assert "user denied it (no)" in text(result)


def test_a_question_in_the_middle_of_a_call_runs_nothing_twice(talk: Talk, shared: Place) -> None:
    ran = shared.project / "ran.txt"
    ran.unlink(missing_ok=True)

    result = talk.call("outer", fill(decision="yes"), allow)

    assert ran.read_text() == "first\n"
    assert text(result).startswith("deployed to test 1\n")
    assert "asked by: outer" in talk.forms[0].message


def test_a_question_in_the_middle_of_a_call_that_is_denied_ends_it(
    talk: Talk, shared: Place
) -> None:
    result = talk.call("outer", deny)

    assert result.is_error
    assert "not today" in text(result)


class TestClientsThatCannotBeAsked:
    def test_the_same_call_runs_once_after_a_person_has_approved_it(
        self, silent: Talk, shared: Place
    ) -> None:
        waiting = silent.call("deploy", STAGE="test")
        assert error_code(waiting) == "APPROVAL_PENDING"
        number = text(waiting).partition("tongs approvals approve ")[2].partition(";")[0]

        assert tongs(shared, "approvals", "approve", number).code == 0
        ran = silent.call("deploy", STAGE="test")
        again = silent.call("deploy", STAGE="test")

        assert text(ran) == "deployed to test 1\n"
        assert error_code(again) == "APPROVAL_PENDING"

    def test_another_client_does_not_get_the_answer(
        self, silent: Talk, shared: Place, loop: Loop
    ) -> None:
        waiting = silent.call("deploy", STAGE="live")
        number = text(waiting).partition("tongs approvals approve ")[2].partition(";")[0]
        assert tongs(shared, "approvals", "approve", number).code == 0
        other = serve(loop, shared, asks=False, name="other")

        result = other.call("deploy", STAGE="live")
        other.close()

        assert error_code(result) == "APPROVAL_PENDING"

    @pytest.mark.parametrize(
        ("options", "config", "code"),
        [
            (["--approvals", "deny"], "", "APPROVAL_DENIED"),
            pytest.param(["--approvals", "queue"], "", "APPROVAL_PENDING", marks=pytest.mark.full),
            ([], "approvals: {mcp: false}", "APPROVAL_PENDING"),
            ([], "approvals: {command: ['false']}", "APPROVAL_DENIED"),
        ],
    )
    def test_a_client_that_shows_forms_is_not_asked_where_the_person_said_so(
        self, place: Place, loop: Loop, options: list[str], config: str, code: str
    ) -> None:
        place.tool("deploy", DEPLOY, scope="user")
        if config:
            (place.user / "config.yml").write_text(config)
        talk = serve(loop, place, *options)

        result = talk.call("deploy", STAGE="live")
        talk.close()

        assert error_code(result) == code


def mark_of(talk: Talk, **arguments: Any) -> types.InputRequiredResult:
    first = talk.raw("deploy", arguments)
    assert isinstance(first, types.InputRequiredResult)
    return first


def said(**content: Any) -> dict[str, types.ElicitResult]:
    return {"approval": types.ElicitResult(action="accept", content=content)}


ALLOWED = said(decision="allow")


class TestHostileRetries:
    """What travels through the client is its to change; none of it gets a call approved."""

    def test_a_mark_is_good_for_one_answer(self, modern: Talk) -> None:
        mark = mark_of(modern, STAGE="live").request_state
        given = {"input_responses": ALLOWED, "request_state": mark}

        first = modern.raw("deploy", {"STAGE": "live"}, **given)
        second = modern.raw("deploy", {"STAGE": "live"}, **given)

        assert text(first) == "deployed to live 1\n"
        assert error_code(second) == "APPROVAL_DENIED"
        assert "the call has run" in text(second)

    def test_a_mark_of_another_call_is_refused_and_decides_nothing(self, modern: Talk) -> None:
        harmless = mark_of(modern, STAGE="test").request_state

        with pytest.raises(MCPError) as caught:
            modern.raw("deploy", {"STAGE": "live"}, input_responses=ALLOWED, request_state=harmless)

        assert caught.value.error.code == -32602
        with pytest.raises(MCPError):
            modern.raw("raw", {"CODE": "x"}, input_responses=ALLOWED, request_state=harmless)
        # It still waits for its own call.
        own = modern.raw(
            "deploy", {"STAGE": "test"}, input_responses=ALLOWED, request_state=harmless
        )
        assert text(own) == "deployed to test 1\n"

    def test_a_mark_that_was_changed_or_made_up_is_refused(self, modern: Talk) -> None:
        mark = mark_of(modern, STAGE="live").request_state
        assert mark is not None
        body, _, proof = mark.partition(".")
        data = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        data["question"] = "0123456789"
        other = base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")

        for forged in ("", "x", f"{other}.{proof}", f"{body}.", f"{body}.{proof}x", "a" * 9000):
            with pytest.raises(MCPError) as caught:
                modern.raw(
                    "deploy", {"STAGE": "live"}, input_responses=ALLOWED, request_state=forged
                )
            assert caught.value.error.code == -32602, forged

    def test_an_answer_without_a_mark_is_no_answer(self, modern: Talk) -> None:
        mark_of(modern, STAGE="live")

        result = modern.raw("deploy", {"STAGE": "live"}, input_responses=ALLOWED)

        assert isinstance(result, types.InputRequiredResult)

    def test_a_mark_without_an_answer_asks_again(self, modern: Talk) -> None:
        mark = mark_of(modern, STAGE="live").request_state

        result = modern.raw("deploy", {"STAGE": "live"}, request_state=mark)

        assert isinstance(result, types.InputRequiredResult)

    def test_what_a_person_denied_elsewhere_cannot_be_allowed_by_the_client(
        self, modern: Talk, shared: Place
    ) -> None:
        mark = mark_of(modern, STAGE="test", COUNT=7).request_state
        (number,) = [
            each["id"]
            for each in json.loads(tongs(shared, "approvals", "pending", "--json").stdout)
            if each["request"]["args"] == {"STAGE": "test", "COUNT": 7}
        ]
        assert tongs(shared, "approvals", "deny", number).code == 0

        result = modern.raw(
            "deploy", {"STAGE": "test", "COUNT": 7}, input_responses=ALLOWED, request_state=mark
        )

        assert error_code(result) == "APPROVAL_DENIED"

    def test_a_mark_is_worth_nothing_where_clients_are_not_asked(
        self, modern: Talk, shared: Place, loop: Loop
    ) -> None:
        mark = mark_of(modern, STAGE="live").request_state
        strict = serve(loop, shared, "--approvals", "queue")

        result = strict.raw(
            "deploy", {"STAGE": "live"}, input_responses=ALLOWED, request_state=mark
        )
        strict.close()

        assert error_code(result) == "APPROVAL_DENIED"
        assert "clients are not asked here" in text(result)

    def test_a_call_that_has_begun_is_found_by_an_answer_from_elsewhere(
        self, modern: Talk, shared: Place
    ) -> None:
        first = modern.raw("outer", {})
        assert isinstance(first, types.InputRequiredResult)
        (number,) = [
            each["id"]
            for each in json.loads(tongs(shared, "approvals", "pending", "--json").stdout)
            if each["request"]["caller"]["name"] == "outer"
        ]
        assert tongs(shared, "approvals", "approve", number).code == 0

        done = modern.raw(
            "outer", {}, input_responses=said(decision="deny"), request_state=first.request_state
        )

        assert text(done).startswith("deployed to test 1\n")

    def test_a_call_that_has_begun_goes_on_once_and_only_for_itself(
        self, modern: Talk, shared: Place
    ) -> None:
        ran = shared.project / "ran.txt"
        ran.unlink(missing_ok=True)
        first = modern.raw("outer", {})
        assert isinstance(first, types.InputRequiredResult)
        given = {"input_responses": ALLOWED, "request_state": first.request_state}

        with pytest.raises(MCPError):
            modern.raw("deploy", {"STAGE": "test"}, **given)
        done = modern.raw("outer", {}, **given)
        again = modern.raw("outer", {}, **given)

        assert text(done).startswith("deployed to test 1\n")
        assert error_code(again) == "APPROVAL_DENIED"
        assert ran.read_text() == "first\n"

    def test_edited_arguments_are_ruled_again(self, place: Place, loop: Loop) -> None:
        rule = {
            "name": "no-live",
            "when": {"tool": "deploy", "argument": {"STAGE": {"pattern": "^live$"}}},
            "decision": "deny",
            "reason": "not live",
        }
        place.tool("deploy", DEPLOY, scope="user")
        (place.user / "config.yml").write_text(json.dumps({"security": {"rules": [rule]}}))
        talk = serve(loop, place)

        result = talk.call("deploy", fill(decision="edit", STAGE="live"), STAGE="test")
        talk.close()

        assert error_code(result) == "DENIED"
