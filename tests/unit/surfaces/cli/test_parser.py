"""Shared options, and errors a person can act on."""

import pytest

from tongs.surfaces.cli.main import parser_for
from tongs.surfaces.cli.parser import Parser, UsageError


@pytest.fixture
def run_parser() -> Parser:
    parser: Parser = parser_for(("tool", "run"))
    return parser


@pytest.mark.parametrize(
    ("spelling", "scope"),
    [
        (["--scope", "local"], "local"),
        (["--scope=user"], "user"),
        (["--local"], "local"),
        (["-l"], "local"),
        (["--user"], "user"),
        (["-u"], "user"),
        (["--global"], "global"),
        (["-g"], "global"),
        (["--any"], "any"),
        (["-a"], "any"),
        ([], "any"),
        (["--user", "--scope", "global"], "global"),
    ],
)
def test_both_spellings_of_scope_mean_the_same(
    run_parser: Parser, spelling: list[str], scope: str
) -> None:
    assert run_parser.parse(["x", *spelling]).scope == scope
    assert run_parser.parse([*spelling, "x"]).scope == scope


def test_a_new_tool_is_local_and_cannot_be_in_any_scope() -> None:
    parser = parser_for(("tool", "add"))
    assert parser.parse(["x", "--description", "d"]).scope == "local"
    with pytest.raises(UsageError):
        parser.parse(["x", "--description", "d", "--any"])


def test_options_and_parameters_come_in_any_order(run_parser: Parser) -> None:
    options = run_parser.parse(["-v", "x", "A=1", "--param", "B=2", "C=-3", "--json", "D=a=b"])
    assert (options.name, options.texts, options.param) == ("x", ["A=1", "C=-3", "D=a=b"], ["B=2"])
    assert (options.json, options.verbose) == (True, 1)


def test_everything_after_two_dashes_is_a_plain_word(run_parser: Parser) -> None:
    assert run_parser.parse(["x", "--", "-A=1"]).texts == ["-A=1"]


def test_a_command_of_its_own_is_kept_as_it_is() -> None:
    parser = parser_for(("sandbox", "run"))
    options = parser.parse(["--read", ".", "--", "git", "log", "--", "--json"])
    assert (options.read, options.json) == (["."], False)
    assert options.command == ["git", "log", "--", "--json"]


def test_a_command_of_its_own_needs_two_dashes() -> None:
    with pytest.raises(UsageError) as caught:
        parser_for(("sandbox", "run")).parse(["--read", ".", "ls", "-l"])
    assert caught.value.message == "sandbox run: the command `ls` needs `--` before it"


def test_an_unknown_option_suggests_the_nearest(run_parser: Parser) -> None:
    with pytest.raises(UsageError) as caught:
        run_parser.parse(["x", "--parm", "A=1"])
    assert caught.value.message == "tool run: unknown option `--parm`"
    assert caught.value.hint == "did you mean `--param`?"


def test_a_missing_name_is_said(run_parser: Parser) -> None:
    with pytest.raises(UsageError) as caught:
        run_parser.parse([])
    assert caught.value.message == "tool run: NAME is missing"
    assert caught.value.hint == "tongs help tool run"


def test_options_are_never_guessed_from_their_beginning(run_parser: Parser) -> None:
    with pytest.raises(UsageError):
        run_parser.parse(["x", "--dry"])


def test_steps_and_parameters_take_all_their_words() -> None:
    options = parser_for(("tool", "add")).parse(
        [
            *("x", "--description", "d", "--step", "a", "echo", "--step", "b", "python", "1"),
            *("--parameter", "P", "text", "type=number", "default=-1", "--network", "--tag", "t"),
            *("--network", "h"),
        ]
    )
    assert options.step == [["a", "echo"], ["b", "python", "1"]]
    assert options.parameter == [["P", "text", "type=number", "default=-1"]]
    assert options.network == [True, "h"]
