"""Values in `run:`: one split of the author's text, values per word."""

from typing import Any

import pytest

from tongs.template import words
from tongs.template.values import ABSENT, Slot, TemplateError, ValueRefused

SLOTS = {
    "A": Slot("A"),
    "B": Slot("B"),
    "FILES": Slot("FILES", "array"),
    "WHOLE": Slot("WHOLE", "boolean", true_value="-w --mark 'a b'"),
    "CASE": Slot("CASE", "boolean", true_value="", false_value="-i"),
    "FLAG": Slot("FLAG", "boolean"),
}


def render(text: str, **values: Any) -> list[str]:
    return words.compile(text, SLOTS).render(values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  ls\t-l \n x ", ["ls", "-l", "x"]),
        ("'my program' \"a b\" c\\ d", ["my program", "a b", "c d"]),
        ("a'b'\"c\"d", ["abcd"]),
        ("'' \"\"", ["", ""]),
        (r'"a\"b\\c\d" \"', [r'a"b\c\d', '"']),
        (r"'a\b'", [r"a\b"]),
        ("~ $HOME ${HOME} *.py # ; | & > `x` $(x)",
         ["~", "$HOME", "${HOME}", "*.py", "#", ";", "|", "&", ">", "`x`", "$(x)"]),
        ("{print} {OTHER} {{A}}", ["{print}", "{OTHER}", "{A}"]),
        ("{{A}} '{{A}}'x", ["{A}", "{A}x"]),
    ],
)  # fmt: skip
def test_the_authors_text_is_split_once(text: str, expected: list[str]) -> None:
    assert render(text) == expected


def test_a_value_never_makes_another_word() -> None:
    hostile = "a b 'c \"d\\ \n{B} $(x)"

    assert render("p {A} x{A}y '{A}' \"{A}\"", A=hostile, B="no") == [
        "p", hostile, f"x{hostile}y", hostile, hostile,
    ]  # fmt: skip


def test_an_absent_word_is_dropped_and_absent_text_is_empty() -> None:
    assert render("p {A} '{A}' --x={A}") == ["p", "", "--x="]
    assert render("p {A}", A=ABSENT) == ["p"]
    assert render("p {A}", A=None) == ["p"]
    assert render("p {A}", A="") == ["p", ""]


def test_an_array_is_one_word_per_element_and_joined_inside_quotes() -> None:
    assert render("p {FILES} '{FILES}'", FILES=["a b", 1, ""]) == ["p", "a b", "1", "", "a b 1 "]
    assert render("p {FILES}", FILES=[]) == ["p"]


def test_a_mapped_boolean_inserts_the_authors_words() -> None:
    assert render("g {WHOLE} {CASE}", WHOLE=True, CASE=False) == ["g", "-w", "--mark", "a b", "-i"]
    assert render("g {WHOLE} {CASE}", WHOLE=False, CASE=True) == ["g"]
    assert render("g x{CASE} '{WHOLE}'", WHOLE=True, CASE=False) == ["g", "x-i", "-w --mark 'a b'"]
    assert render("g {FLAG}", FLAG=True) == ["g", "true"]


def test_raw_text_is_split_like_the_authors() -> None:
    assert render("p {RAW:A} x{RAW:A}", A="-l 'a b'") == ["p", "-l", "a b", "x-l 'a b'"]
    with pytest.raises(ValueRefused):
        render("p {RAW:A}", A="'open")


def test_other_modes_are_words_too() -> None:
    assert render("p {URL:A} {JSON:A}", A='a "b') == ["p", "a%20%22b", 'a \\"b']


def test_on_windows_a_backslash_is_a_character() -> None:
    template = words.compile(r'C:\x\y.exe "C:\a b\" \{A}', SLOTS, windows=True)

    assert template.render({"A": "v"}) == [r"C:\x\y.exe", "C:\\a b\\", r"\v"]


@pytest.mark.parametrize(
    ("text", "offset"),
    [("a 'b", 2), ('a "b {A}', 2), ('"a\\"', 0), ("a \\", 2), ("a \\{A}", 2)],
)
def test_text_that_cannot_be_split_is_refused(text: str, offset: int) -> None:
    with pytest.raises(TemplateError) as refused:
        words.compile(text, SLOTS)

    assert refused.value.offset == offset


def test_the_authors_words_for_a_boolean_must_be_splittable() -> None:
    with pytest.raises(TemplateError):
        words.compile("p {X}", {"X": Slot("X", "boolean", true_value="'open")})


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
@pytest.mark.parametrize("text", ["{A}", "x{A}", "'{A}'", "{RAW:A}", "{FILES}"])
def test_what_no_argument_can_carry_is_refused(text: str, value: str) -> None:
    with pytest.raises(ValueRefused) as refused:
        render(text, A=value, FILES=[value])

    assert refused.value.name in {"A", "FILES"}


def test_bytes_of_file_names_pass() -> None:
    assert render("{A}", A="\udcff") == ["\udcff"]


def test_the_names_in_use_are_known() -> None:
    template = words.compile("p {A} x{RAW:B}", SLOTS)

    assert (template.names, template.raw_names) == (frozenset("AB"), frozenset("B"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, []),
        ({"out-file": "a b", "n": 5.0, "f": 1.5}, ["--out-file", "a b", "--n", "5", "--f", "1.5"]),
        ({"-v": True, "--quiet": True, "all": True}, ["-v", "--quiet", "--all"]),
        ({"a": False, "b": None, "c": ABSENT}, []),
        ({"-I": ["a", "b"], "empty": []}, ["-I", "a", "-I", "b"]),
        ({"o": {"k": [1]}, "e": ""}, ["--o", '{"k": [1]}', "--e", ""]),
        (["a b", 1, None, ABSENT, ["c", "d"], True], ["a b", "1", "c", "d", "true"]),
        ([], []),
    ],
)
def test_arguments_become_words(arguments: Any, expected: list[str]) -> None:
    assert words.arguments_words(arguments) == expected


def test_an_argument_with_a_nul_is_refused_by_name() -> None:
    with pytest.raises(ValueRefused) as refused:
        words.arguments_words({"key": "\0"})

    assert refused.value.name == "key"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("bash -c 'ls {A}'", "second-interpreter"),
        ("env X=1 sh -c {A}", "second-interpreter"),
        ("ssh host ls {A}", "second-interpreter"),
        ("awk '/{A}/' f", "second-interpreter"),
        ("find . -exec sh -c 'ls {A}' ;", "second-interpreter"),
        ("timeout {FILES} ls", "second-interpreter"),
        ("{A} x", "program-name"),
        ("sudo {A}", "program-name"),
    ],
)
def test_a_program_that_would_run_the_value_is_found(text: str, rule: str) -> None:
    (error,) = words.check_programs(words.compile(text, SLOTS))

    assert (error.rule, text[error.offset]) == (rule, "{")


@pytest.mark.parametrize(
    "text",
    [
        "ls {A}",
        """bash -c 'echo "$1"' _ {A}""",
        "awk -v a={A} '{print $1}' f",
        "env X={A} Y={FILES} ls '' $A",
        "printf '%s\n' {A} {FILES}",
        "echo 'bash -c' {A}",
        "sh -c 'sleep {FLAG}'",
    ],
)
def test_other_places_are_fine(text: str) -> None:
    assert words.check_programs(words.compile(text, SLOTS)) == []
