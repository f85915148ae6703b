"""What a placeholder becomes in bash and sh, seen in the rendered text and in a real shell."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests import real_shell

from tongs.template import shell
from tongs.template.shell import Rendered
from tongs.template.values import Slot, TemplateError, ValueRefused, utf8

SLOTS = {
    "A": Slot("A"),
    "B": Slot("B"),
    "L": Slot("L", "array"),
    "N": Slot("N", "integer"),
    "FLAG": Slot("FLAG", "boolean"),
    "WORD": Slot("WORD", "boolean", true_value="-w"),
    "CASE": Slot("CASE", "boolean", true_value="-s --long", false_value="-i"),
    "E": Slot("E", closed=True),
    "step-1.output": Slot("step-1.output"),
}


def render(text: str, dialect: str = "bash", /, **values: Any) -> Rendered:
    return shell.compile(text, SLOTS, dialect=dialect).render(values)


def script(text: str, dialect: str = "bash", /, **values: Any) -> str:
    return render(text, dialect, **values).script


# --- the reference that fits its quotes ----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("echo {A}", 'echo "${__t0}"'),
        ("echo x{A}y", 'echo x"${__t0}"y'),
        ('echo "x{A}y"', 'echo "x${__t0}y"'),
        ("echo 'x{A}y'", "echo 'x'\"${__t0}\"'y'"),
        ("echo $'x{A}y'", "echo $'x'\"${__t0}\"$'y'"),
        ("cat <<EOF\n{A}\nEOF", "cat <<EOF\n${__t0}\nEOF"),
        ("cat <<'EOF'\n$x {A}\nEOF", "cat <<EOF\n\\$x ${__t0}\nEOF"),
        ("echo {A} {B} {A}", 'echo "${__t0}" "${__t1}" "${__t0}"'),
        ("echo # {A}", "echo # "),
        ("echo {{A}} {Q} ${A}", "echo {A} {Q} ${A}"),
        ("[[ {A} == x ]]", '[[ "${__t0}" == x ]]'),
        ("echo > {A}", 'echo > "${__t0}"'),
        ("echo __t0 {A}", 'echo __t0 "${__t_0}"'),
    ],
)
def test_a_placeholder_becomes_a_reference(text: str, expected: str) -> None:
    assert script(text, A="a", B="b") == expected


def test_a_step_reference_is_a_placeholder() -> None:
    template = shell.compile("echo '{step-1.output}'", SLOTS)

    assert template.render({"step-1.output": "it's"}) == Rendered(
        "echo ''\"${__t0}\"''", "unset BASH_ENV\n__t0='it'\\''s'\n"
    )


def test_sh_binds_on_the_first_line() -> None:
    assert render("#!/bin/sh\necho {A}", "sh", A="a b") == Rendered(
        "__t0='a b'; #!/bin/sh\necho \"${__t0}\"", ""
    )


@pytest.mark.parametrize("text", ["echo 'open", "a {b} ${c} {{d}} $((", "\udcff\r\n\f", ""])
def test_text_without_placeholders_is_unchanged_even_where_it_is_broken(text: str) -> None:
    assert render(text) == Rendered(text, "")


def test_errors_name_the_authors_lines(tmp_path: Path) -> None:
    rendered = render("echo {A}\n\nno-such-program {A}\n", A="two\nlines")

    assert b"line 3: no-such-program" in real_shell.run(rendered, tmp_path).stderr


def test_a_child_does_not_inherit_the_preamble(tmp_path: Path) -> None:
    assert (
        real_shell.output(
            "bash -c 'echo \"${BASH_ENV-none} ${__t0-none}\"'; : {A}", {"A": "a"}, tmp_path
        )
        == b"none none\n"
    )


def test_the_names_in_use_are_known() -> None:
    template = shell.compile("echo {A} {RAW:B} {{N}}", SLOTS)

    assert (template.names, template.raw_names) == ({"A", "B"}, {"B"})
    assert shell.compile("echo", SLOTS).names == frozenset()


# --- absent --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["bash", "sh"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("printf '<%s>' a {A} b", "<a><b>"),
        ("printf '<%s>' a \"{A}\" b", "<a><><b>"),
        ("printf '<%s>' a '{A}' b", "<a><><b>"),
        ("printf '<%s>' --x={A}", "<--x=>"),
        ("printf '<%s>' a {A}#b", "<a><#b>"),
        ('x=1; xy=2; printf "<%s>" "$x{A}y"', "<1y>"),
        ("x={A}; printf '<%s>' \"$x\"", "<>"),
        ("case {A} in '') printf empty;; esac", "empty"),
        ("set -u; printf '<%s>' {A} \"{A}\"", "<>"),
        ("for x in {A}; do printf no; done; printf '<%s>' ${y:-{A}}", "<>"),
        ("printf '<%s>' {RAW:A}", "<>"),
    ],
)
def test_an_absent_value_is_no_word_when_bare_and_empty_text_elsewhere(
    text: str, expected: str, dialect: str, tmp_path: Path
) -> None:
    assert real_shell.output(text, {}, tmp_path, dialect, SLOTS) == expected.encode()


def test_an_absent_value_keeps_conditions_and_redirections_whole(tmp_path: Path) -> None:
    text = "[[ {A} == '' ]] && cat <<< {A}x; a=( {A} ); echo ${#a[@]}; echo > {A}"
    rendered = render(text)

    done = real_shell.run(rendered, tmp_path)

    assert (done.stdout, b"No such file" in done.stderr) == (b"x\n0\n", True)


# --- arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("printf '<%s>' {L}", "<a b><><$(c)>"),
        ("printf '<%s>' x{L}y", "<xa b><><$(c)y>"),
        ("printf '<%s>' \"{L}\" '{L}'", "<a b  $(c)><a b  $(c)>"),
        ("IFS=,; printf '<%s>' \"{L}\" {L}", "<a b  $(c)><a b><><$(c)>"),
        ("IFS=,; x={L}; printf '<%s>' \"$x\"", "<a b  $(c)>"),
        ('for x in {L}; do printf "<%s>" "$x"; done', "<a b><><$(c)>"),
        ("x=( 1 {L} ); printf '<%s>' \"${x[@]}\"", "<1><a b><><$(c)>"),
        ("case {L} in 'a b  $(c)') printf joined;; esac", "joined"),
        ("[[ {L} == 'a b  $(c)' ]] && printf joined", "joined"),
        ("printf '<%s>' {L}{L}", "<a b><><$(c)a b><><$(c)>"),
    ],
)
def test_an_array_is_one_word_for_each_element_when_bare_and_joined_elsewhere(
    text: str, expected: str, tmp_path: Path
) -> None:
    values = {"L": ["a b", "", "$(c)"]}

    assert real_shell.output(text, values, tmp_path, "bash", SLOTS) == expected.encode()


def test_an_empty_array_is_no_word_also_under_set_u(tmp_path: Path) -> None:
    text = 'set -u; f() { echo $#; }; f {L}; f "{L}"; f x {L}'

    assert real_shell.output(text, {"L": []}, tmp_path, "bash", SLOTS) == b"0\n1\n1\n"


def test_sh_refuses_a_bare_array_and_joins_a_quoted_one(tmp_path: Path) -> None:
    with pytest.raises(TemplateError) as refused:
        shell.compile("echo {L}", SLOTS, dialect="sh")

    assert (refused.value.rule, refused.value.offset) == ("array-in-sh", 5)
    values = {"L": ["a", "b c"]}
    assert real_shell.output('echo "{L}"', values, tmp_path, "sh", SLOTS) == b"a b c\n"


def test_a_list_where_none_was_declared_is_joined() -> None:
    assert render("echo {A}", A=["a", 1]).preamble == "unset BASH_ENV\n__t0='a 1'\n"


# --- booleans, numbers, objects ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("grep {WORD} x", {"WORD": True}, "grep -w x"),
        ("grep {WORD} x", {"WORD": False}, "grep  x"),
        ("grep {WORD} x", {}, "grep  x"),
        ("grep {CASE} x", {"CASE": True}, "grep -s --long x"),
        ("grep {CASE} x", {"CASE": False}, "grep -i x"),
        ("grep x{WORD}y", {"WORD": False}, 'grep x""y'),
        ('grep "{CASE}"', {"CASE": False}, 'grep "-i"'),
        ("grep '{WORD}'", {"WORD": True}, "grep '-w'"),
        ("[[ {WORD} ]]", {"WORD": False}, '[[ "" ]]'),
        ("cat <<'EOF'\n{WORD} $\nEOF", {"WORD": True}, "cat <<EOF\n-w \\$\nEOF"),
        ("{WORD} x", {"WORD": True}, "-w x"),
    ],
)
def test_a_mapped_boolean_is_the_authors_own_text(
    text: str, values: dict[str, Any], expected: str
) -> None:
    assert render(text, **values) == Rendered(expected, "")


def test_numbers_booleans_and_objects_are_written_as_a_person_writes_them(tmp_path: Path) -> None:
    values = {"N": 12345678901234567890, "FLAG": True, "A": {"k": [1, None]}, "B": 5.0}

    out = real_shell.output("echo {N} {FLAG} {A} {B}", values, tmp_path, "bash", SLOTS)

    assert out == b'12345678901234567890 true {"k": [1, null]} 5\n'


def test_arithmetic_takes_numbers(tmp_path: Path) -> None:
    text = "a[{N}]=x; echo $(( 5 -{N} )) ${a[{N}]} $(( {N} > 1 )); y=abc; echo ${y:{N}:1}"

    assert real_shell.output(text, {"N": 2}, tmp_path, "bash", SLOTS) == b"3 x 1\nc\n"
    assert real_shell.output("echo $(( 5 -{N} ))", {"N": -2}, tmp_path, "bash", SLOTS) == b"7\n"


@pytest.mark.parametrize(
    ("name", "value"), [("N", "1"), ("N", True), ("N", ["1"]), ("FLAG", "true"), ("WORD", "x")]
)
def test_nothing_else_passes_for_a_number_or_a_boolean(name: str, value: object) -> None:
    with pytest.raises(ValueRefused) as refused:
        render(f"echo {{{name}}}", **{name: value})

    assert refused.value.name == name


# --- RAW, URL, JSON ------------------------------------------------------------------------------


def test_raw_text_is_inserted_as_it_is() -> None:
    assert render("ls {RAW:A} '{RAW:A}' # {RAW:A}", A="-l | wc") == Rendered(
        "ls -l | wc '-l | wc' # ", ""
    )


def test_raw_text_in_a_quoted_heredoc_stays_literal(tmp_path: Path) -> None:
    out = real_shell.output("cat <<'EOF'\n{RAW:A}\nEOF", {"A": "$x `y` \\"}, tmp_path)

    assert out == b"$x `y` \\\n"


def test_url_and_json_are_written_before_they_are_bound(tmp_path: Path) -> None:
    values = {"A": 'New "York"/\n€', "N": 3}
    text = """echo 'h/{URL:A}?d={URL:N}' '{"q": "{JSON:A}"}'"""

    out = real_shell.output(text, values, tmp_path, "bash", SLOTS).decode()

    url, _, body = out.partition(" ")
    assert url == "h/New%20%22York%22%2F%0A%E2%82%AC?d=3"
    assert json.loads(body) == {"q": values["A"]}


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["a\0b", ["a", "b\0"]])
@pytest.mark.parametrize("text", ["echo {L}", 'echo "{L}"', "echo {RAW:L}"])
def test_a_nul_is_refused(text: str, value: object) -> None:
    with pytest.raises(ValueRefused) as refused:
        render(text, L=value)

    assert refused.value.name == "L"


@pytest.mark.parametrize("dialect", ["bash", "sh"])
def test_a_megabyte_arrives_whole(dialect: str, tmp_path: Path) -> None:
    value = "it's 1 $(touch canary) €\n" * 40_000
    text = "printf '%s' \"{A}\" | cat; cat <<EOF\n{A}\nEOF\n"

    out = real_shell.output(text, {"A": value}, tmp_path, dialect)

    assert out == utf8(value + value + "\n")


@pytest.mark.parametrize("data", [b"\xe2", b"\xe2\x82", b"a\xff'b", b"\xed\xa0\x80"])
@pytest.mark.parametrize("dialect", ["bash", "sh"])
def test_bytes_that_are_no_characters_arrive_exactly(
    data: bytes, dialect: str, tmp_path: Path
) -> None:
    value = data.decode("utf-8", "surrogateescape")
    text = "printf '%s\\n' {A} \"{A}\" '{A}' \"$(printf %s {A})\""

    out = real_shell.output(text, {"A": value}, tmp_path, dialect)

    assert out == utf8(f"{value}\n" * 4)


@pytest.mark.parametrize("dialect", ["bash", "sh"])
def test_a_value_names_a_file_to_write(dialect: str, tmp_path: Path) -> None:
    name = "a 'file' $(touch canary)\n*"

    real_shell.output("echo one > {A}; echo two >> '{A}'", {"A": name}, tmp_path, dialect)

    assert (tmp_path / name).read_text() == "one\ntwo\n"
    assert not (tmp_path / real_shell.CANARY).exists()


# --- the specification's own examples ------------------------------------------------------------


def test_bash_has_a_program_called_command_which_runs_what_its_value_names() -> None:
    # The specification writes `command {PARAM1} {PARAM2}` and means any program; bash would run
    # `eval` with the second value.
    with pytest.raises(TemplateError) as caught:
        shell.compile("command {A} {B}", {"A": Slot("A"), "B": Slot("B")})

    assert caught.value.rule == "program-name"


@pytest.mark.parametrize(
    "text",
    [
        "curl -s 'wttr.in/{LOCATION}?format={FORMAT}'",
        'curl -s "https://api.github.com/repos/{OWNER}/{REPO}/commits?per_page=10"',
        (
            "echo '{fetch-commits.output}' | jq 'group_by(.commit.author.name) | "
            "map({author: .[0].commit.author.name, count: length}) | sort_by(.count) | reverse'"
        ),
        "echo '{count-authors.output}' | jq -r '.[] | \"\\(.author): \\(.count) commits\"'",
        'grep -r {CASE_SENSITIVE} {WHOLE_WORD} "{PATTERN}" {DIRECTORY} --include="*.{FILE_TYPE}"',
        "curl -s '{URL}' > data.json",
        "jq '.items' data.json",
        "command1 {PARAM1} {RAW:PARAM2}",
        "another-command {step1.output}",
    ],
)
def test_the_examples_of_the_specification_load(text: str) -> None:
    names = (
        "LOCATION FORMAT OWNER REPO fetch-commits.output count-authors.output CASE_SENSITIVE "
        "WHOLE_WORD PATTERN DIRECTORY FILE_TYPE URL PARAM1 PARAM2 step1.output"
    )
    known = {name: Slot(name) for name in names.split()}

    template = shell.compile(text, known)

    assert template.render(dict.fromkeys(known, "a'b")).script != ""
    assert shell.check_programs(text, known) == []


def test_search_code_does_what_its_comments_say(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("TODO x\ntodo\nTODOs\n")
    known = {
        "CASE_SENSITIVE": Slot("CASE_SENSITIVE", "boolean", false_value="-i"),
        "WHOLE_WORD": Slot("WHOLE_WORD", "boolean", true_value="-w"),
        **{name: Slot(name) for name in ("PATTERN", "DIRECTORY", "FILE_TYPE")},
    }
    text = (
        'grep -rh {CASE_SENSITIVE} {WHOLE_WORD} "{PATTERN}" {DIRECTORY} --include="*.{FILE_TYPE}"'
    )
    values = {"PATTERN": "todo", "DIRECTORY": ".", "FILE_TYPE": "py"}

    def found(**flags: bool) -> bytes:
        return real_shell.output(text, {**values, **flags}, tmp_path, "bash", known)

    assert found(CASE_SENSITIVE=False, WHOLE_WORD=True) == b"TODO x\ntodo\n"
    assert found(CASE_SENSITIVE=True, WHOLE_WORD=False) == b"todo\n"
