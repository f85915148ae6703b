"""What happens in a conversation, as a person reads it."""

from collections.abc import Iterable

from tongs.agent.events import (
    AgentEvent,
    CallEnded,
    CallOutput,
    CallStarted,
    CallWritten,
    Ended,
    QuestionAnswered,
    QuestionAsked,
    Retrying,
    StepEnded,
    TextShown,
    ThinkingShown,
)
from tongs.core.conversation import (
    CallAnswered,
    CallMade,
    Conversation,
    ModelSaid,
    ToolsAnswered,
    Usage,
    UserSaid,
)
from tongs.surfaces.chat.rendering import Rendering, arguments_line, label, plain, recap
from tongs.surfaces.chat.tool_output import short


def shown(*events: AgentEvent, rendering: Rendering | None = None) -> str:
    rendering = rendering or Rendering()
    return "".join(rendering.show(event) for event in events)


def called(*output: AgentEvent, ok: bool = True, text: str = "") -> Iterable[AgentEvent]:
    yield CallStarted("1", "a", "count", {"x": "é", "n": 3})
    yield from output
    yield CallEnded("1", "a", "count", ok, text, seconds=0.25)


def ended(outcome: str, **error: str) -> Ended:
    return Ended(outcome, "", 20, Usage(), "c", error)


def test_text_is_shown_as_it_comes_and_ends_its_line() -> None:
    assert shown(TextShown("a\tb"), TextShown(""), TextShown("c"), StepEnded(1, 0, Usage())) == (
        "a\tbc\n"
    )
    assert shown(TextShown("a\n"), ended("ended")) == "a\n"


def test_no_text_of_a_model_or_a_tool_reaches_the_terminal_raw() -> None:
    evil = "\x1b]0;x\x07\r\u202e\x9b"
    text = shown(
        TextShown(evil),
        CallStarted("1", "a", f"t{evil}", {f"n{evil}": evil}),
        CallOutput("1", "stdout", evil.encode() + b"\n\xff\n"),
        QuestionAnswered("a", f"t{evil}", approved=True, arguments={"x": evil}),
        CallEnded("1", "a", f"t{evil}", ok=False, text=evil),
        Retrying("rate", evil, 0.0, 1),
        ended("failed", kind="server", message=evil, hint=evil),
    )
    assert not set(text) & {"\x1b", "\x07", "\r", "\u202e", "\x9b"}
    assert text.count("\\x1b") >= 7


def test_a_sequence_in_two_pieces_is_none_either() -> None:
    assert shown(TextShown("\x1b"), TextShown("[31m")) == "\\x1b[31m"


def test_a_call_shows_its_arguments_its_output_and_its_end() -> None:
    events = called(
        CallWritten("1", "count"),
        QuestionAsked("a", "count", {}, "why"),
        QuestionAnswered("a", "count", approved=True),
        CallOutput("1", "stdout", b"one\ntw"),
        CallOutput("1", "stderr", b"oops\n"),
        CallOutput("1", "stdout", b"o\nthree"),
        text="one\ntwo\nthree",
    )
    assert shown(TextShown("I count."), *events) == (
        'I count.\ncall: count x="é" n=3\n  | one\n  | oops\n  | two\n  | three\n'
        "done: count (0.2 s)\n"
    )


def test_a_result_of_which_nothing_was_seen_is_shown_at_its_end() -> None:
    assert shown(*called(text="a\nb\n")).splitlines()[1:3] == ["  | a", "  | b"]
    told = CallEnded("1", "a", "count", ok=True, text="a\n\nwarning: edited", output="a\n")
    assert shown(told) == "  | a\ndone: count (0.0 s)\n"


def test_warnings_of_a_call_are_for_the_person_too() -> None:
    ended = CallEnded("1", "a", "count", ok=True, text="", warnings=("no walls", "half\nof it"))
    assert shown(ended) == "warning: no walls\nwarning: half of it\ndone: count (0.0 s)\n"


def test_long_output_is_cut_by_lines_and_in_its_lines() -> None:
    many = b"".join(b"%d\n" % number for number in range(20))
    lines = shown(*called(CallOutput("1", "stdout", many))).splitlines()
    assert lines[8:11] == ["  | 7", "  | … 8 lines left out", "  | 16"]
    assert lines[13:] == ["  | 19", "done: count (0.2 s)"]
    wide = shown(*called(CallOutput("1", "stdout", b"x" * 100_000)))
    assert len(wide.splitlines()[1]) == 204
    everything = Rendering(most_lines=200)
    assert len(shown(*called(CallOutput("1", "stdout", many)), rendering=everything).split()) > 40


def test_the_newest_of_many_lines_stands_where_the_next_text_comes() -> None:
    def of(*output: bytes) -> str:
        rendering = Rendering(most_lines=2, width=lambda: 20)
        events = called(*(CallOutput("1", "stdout", data) for data in output))
        return shown(*events, rendering=rendering)

    moving = of(b"1\n2\n", b"3\n", b"4", b"\n")
    assert moving.splitlines(keepends=True)[1:] == [
        "  | 1\n",
        "  | 2\n",
        "  | … 1 more: 3\r",
        "\x1b[K  | … 1 more: 3\r",
        "\x1b[K  | … 2 more: 4\r",
        "\x1b[K  | … 2 lines left out\n",
        "done: count (0.2 s)\n",
    ]
    # It is never wrapped, and nothing in it is a command to the terminal.
    wide = of(b"1\n2\n" + b"x" * 100 + b"\n")
    assert "  | … 1 more: xxxxx\r" in wide
    evil = of("1\n2\n\x1b[2J漢字漢字漢字\n".encode())
    assert evil.count("\x1b") == evil.count("\x1b[K") == 1


def test_what_is_waited_for_is_said_where_nothing_comes() -> None:
    now = [0.0]
    rendering = Rendering(width=lambda: 80, waits_for="the model", clock=lambda: now[0])

    def after(seconds: float) -> str:
        now[0] += seconds
        return rendering.tick()

    assert after(1) == ""
    assert after(2) == "… waiting for the model, 3 s (Ctrl-C stops it)"
    assert rendering.show(CallStarted("1", "a", "co\x1bunt", {})) == "\r\x1b[Kcall: co\\x1bunt\n"
    assert after(60) == "  | … co\\x1bunt runs, nothing new for 60 s (Ctrl-C stops it)"
    assert rendering.show(CallEnded("1", "a", "count", ok=True, text="")).startswith(
        "\r\x1b[Kdone:"
    )
    assert rendering.show(TextShown("half a line")) == "half a line"
    assert after(60) == ""
    rendering.begin()
    nobody = Rendering(waits_for="the model", clock=lambda: now[0] + 9)
    assert nobody.tick() == ""


def test_no_output_is_shown_where_none_is_wanted() -> None:
    quiet = Rendering(most_lines=0)
    events = called(CallOutput("1", "stdout", b"one\n"), text="one\n")
    assert shown(*events, rendering=quiet) == 'call: count x="é" n=3\ndone: count (0.2 s)\n'


def test_lines_of_calls_side_by_side_name_their_tool() -> None:
    text = shown(
        CallStarted("1", "a", "one", {}),
        CallStarted("2", "b", "two", {}),
        CallOutput("2", "stdout", b"x\n"),
        CallOutput("3", "stdout", b"of nobody\n"),
        CallEnded("2", "b", "two", ok=True, text="x"),
        CallOutput("1", "stdout", b"y\n"),
    )
    assert text == "call: one\ncall: two\n  two | x\ndone: two (0.0 s)\n  | y\n"


def test_a_failure_and_a_denial_say_why_on_one_line() -> None:
    failed = shown(*called(ok=False, text="error: EXECUTION_ERROR: exit 1\nmore"))
    assert failed.endswith("failed: count: EXECUTION_ERROR: exit 1\n")
    text = "error: DENIED: count was not run: no"
    denied = CallEnded("1", "a", "count", ok=False, text=text, code="DENIED", denied=True)
    assert shown(denied) == "denied: count was not run: no\n"


def test_edited_arguments_are_shown_as_they_run() -> None:
    edited = QuestionAnswered("a", "count", approved=True, arguments={"x": 1})
    assert shown(edited) == "edited: count x=1 (the model is told)\n"
    assert shown(QuestionAnswered("a", "count", approved=False)) == ""


def test_thinking_is_shown_on_request_only() -> None:
    assert shown(ThinkingShown("hm")) == ""
    assert shown(ThinkingShown("hm"), rendering=Rendering(thinking=True)) == "hm"


def test_how_an_answer_ended_is_said_with_what_to_do() -> None:
    assert shown(ended("ended")) == ""
    assert shown(ended("failed", kind="auth", message="no key", hint="set it")) == (
        "error: auth: no key\nhint: set it\n"
    )
    assert shown(ended("failed", kind="auth", message="no key")) == "error: auth: no key\n"
    assert "not done after 20 steps" in shown(ended("step-limit"))
    assert shown(TextShown("ha"), ended("stopped")) == "ha\nstopped: nothing of it runs any more\n"
    assert shown(Retrying("rate", "busy", 3.2, 1)) == "waiting: rate: busy; again in 3 s\n"


def test_what_goes_on_shows_its_end_and_that_it_broke_off() -> None:
    def of(*messages: object) -> str:
        return recap(Conversation("c", "", "", "", "", messages), most=3)  # type: ignore[arg-type]  # messages

    called = ModelSaid("Wait.", (CallMade("1", "count", {"x": 1}), CallMade("2", "b", None)))
    answers = ToolsAnswered(
        (CallAnswered("1", "count", "3\nmore", ok=True), CallAnswered("2", "b", "no", ok=False))
    )
    assert of() == ""
    assert of(UserSaid("a"), ModelSaid("b"), UserSaid("how many?"), called, answers) == (
        "… 2 earlier messages\n> how many?\nWait.\ncall: count x=1\ncall: b\n"
        "done: count: 3\nfailed: b: no\n"
        "interrupted: the last answer did not come to its end; say `go on`, or anything else\n"
    )
    assert of(UserSaid("a"), ModelSaid("b")) == "> a\nb\n"


def test_a_label_stays_on_its_line() -> None:
    assert (
        label("x", "a\nb: c", "red", lambda text, color: f"<{color} {text}>") == "<red x:> a b: c"
    )
    assert plain("x", "red") == "x"
    assert short("a\n b\tc") == "a b c"
    assert len(arguments_line({"x": "y" * 5000})) == 200


def test_letters_that_may_pass_for_others_are_marked_in_a_call() -> None:
    call = CallStarted("1", "c", "sh\u0435ll", {"command": "\u0441at кот"})
    assert Rendering().show(call) == 'call: sh\\u0435ll command="\\u0441at кот"\n'


def test_no_line_of_a_model_passes_for_one_of_ours() -> None:
    rendering = Rendering()
    pieces = [TextShown("Ok.\ndo"), TextShown("ne: look"), StepEnded(1, 0, Usage())]
    assert "".join(map(rendering.show, pieces)) == "Ok.\nmodel | done: look\n"
    ended = CallEnded("1", "c", "look", ok=True, text="", seconds=0.1)
    assert rendering.show(ended) == "done: look (0.1 s)\n"
    assert rendering.show(TextShown("hin")) + rendering.line_end() == "hin\n"
