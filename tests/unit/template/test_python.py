"""Values in Python sources: forms, refusals, names."""

import math
from typing import Any

import pytest

from tongs.template import python
from tongs.template.values import ABSENT, Slot, TemplateError, ValueRefused

SLOTS = {
    "A": Slot("A"),
    "B": Slot("B"),
    "N": Slot("N", "number"),
    "KIND": Slot("KIND", closed=True),
    "FLAG": Slot("FLAG", "boolean"),
    "CASE": Slot("CASE", "boolean", true_value="re.I", false_value="0"),
    "REVERSE": Slot("REVERSE", "boolean", true_value=", reverse=True"),
}


def render(source: str, **values: Any) -> str:
    return python.compile(source, SLOTS).render(values)


def refusal(source: str, slots: dict[str, Slot] | None = None) -> TemplateError:
    with pytest.raises(TemplateError) as refused:
        python.compile(source, slots or SLOTS)
    return refused.value


@pytest.mark.parametrize(
    "value",
    [
        "text", "", "'\"\\\n\0\ud800é", 0, 5, -5, 10**30, -(10**30), 2.5, -2.5, 1e300, 1e16, True,
        False, None, [], [1, "a", [None]], {}, {"a": {"b'": [True, -1.5]}}, math.inf, -math.inf,
    ],
)  # fmt: skip
@pytest.mark.parametrize("source", ["{A}", "( {A} )", "f({A})", "f'{f({A})}'", "f'{ {A}!r}'"])
def test_a_value_in_code_is_a_literal_that_means_the_value(source: str, value: Any) -> None:
    rendered = render(source, A=value)

    result = eval(rendered, {"f": lambda x: x})

    assert result == (str(value) if "f'{f(" in source else repr(value) if "!r" in source else value)


def test_not_a_number_is_a_literal_too() -> None:
    assert render("x = {N}", N=math.nan) == "x = float('nan')"


def test_absent_in_code_is_none_and_in_text_empty() -> None:
    assert render("x = {A}; y = 'a{A}b'") == "x = None; y = 'ab'"
    assert render("x = {A}; y = 'a{A}b'", A=ABSENT) == "x = None; y = 'ab'"


def test_a_whole_float_prints_as_a_person_writes_it() -> None:
    assert render("data.head({N})", N=5.0) == "data.head(5)"


def test_a_negative_number_binds_as_one_value() -> None:
    assert eval(render("{N} ** 2", N=-3)) == 9


def test_an_attribute_of_a_number_can_be_asked_for() -> None:
    assert eval(render("{N}.real", N=5)) == 5


def test_an_array_inside_a_literal_is_joined_by_blanks() -> None:
    assert render("'{A}'", A=["a", 1, True]) == "'a 1 true'"


def test_booleans_are_python_in_code_and_text_inside_quotes() -> None:
    assert render("f({FLAG}, '{FLAG}')", FLAG=True) == "f(True, 'true')"


def test_a_mapped_boolean_inserts_the_authors_code() -> None:
    assert render("re.search(p, s, {CASE})", CASE=True) == "re.search(p, s, re.I)"
    assert render("re.search(p, s, {CASE})", CASE=False) == "re.search(p, s, 0)"
    assert render("re.search(p, s, {CASE})") == "re.search(p, s, None)"
    assert render("sorted(x {REVERSE})", REVERSE=True) == "sorted(x , reverse=True)"
    assert render("sorted(x {REVERSE})", REVERSE=False) == "sorted(x )"
    assert render("'{CASE}'", CASE=True) == "'re.I'"


@pytest.mark.parametrize("code", ["'open", "x # rest", "'''", "x \\"])
def test_the_authors_code_for_a_boolean_must_be_complete(code: str) -> None:
    slots = {"FLAG": Slot("FLAG", "boolean", true_value=code)}

    assert refusal("x = {FLAG}", slots).offset == 4


def test_raw_inserts_the_text_as_it_is() -> None:
    source = "x = {RAW:A}; y = '{RAW:A}'; z = r'\\{RAW:A}'; w = f'{ {RAW:A} }'"

    assert render(source, A="a'\\") == "x = a'\\; y = 'a'\\'; z = r'\\a'\\'; w = f'{ a'\\ }'"


def test_doubled_braces_are_literal_braces() -> None:
    assert render("x = '{{A}} {A}'", A="v") == "x = '{A} v'"
    assert render("x = f'{{A}} {A}'", A="v") == "x = f'{{A}} v'"
    assert render("x = {{A}}") == "x = {A}"


def test_a_comment_keeps_the_placeholder_unused() -> None:
    template = python.compile("# {A} {RAW:B}\nx = 1  # {{A}}", SLOTS)

    assert template.render({"A": "\n", "B": "coding: utf-7"}) == "# {A} {RAW:B}\nx = 1  # {{A}}"
    assert (template.names, template.raw_names) == (frozenset(), frozenset())


def test_the_names_in_use_are_known() -> None:
    template = python.compile("x = {A} + '{RAW:B}'", SLOTS)

    assert (template.names, template.raw_names) == (frozenset("AB"), frozenset("B"))


@pytest.mark.parametrize(
    "source", ["", "'unterminated {x}", "f'{x", "# coding: utf-7\n", "awk '{print}' {OTHER}"]
)
def test_a_source_without_placeholders_is_unchanged(source: str) -> None:
    assert render(source) == source


@pytest.mark.parametrize("glued", ["f{A}", "r{A}", "x.{A}", "1{A}", "''{A}", '{A}""', "{A}x",
                                   "{A}{B}", "{A}{RAW:B}", "é{A}", "f'{x{A}}'"])  # fmt: skip
def test_a_placeholder_in_code_must_stand_alone(glued: str) -> None:
    assert refusal("x = " + glued).offset == 4 + glued.index("{A}")


@pytest.mark.parametrize(
    ("source", "offset"),
    [
        ("x = 'open {A}", 4),
        ("x = 'open {A}\ny = '", 4),
        ("x = '''open {A}", 4),
        ("x = f'{ {A} '", 12),
        ("x = f'{ {A} ", 4),
        ("x = f'{y:{A}", 4),
        ("x = f'{y:{A}'", 4),
        ("x = '{A}\\", 4),
        ("x = r'{A}\\'", 4),
        ("x = rb'{A}\\", 4),
    ],
)
def test_a_literal_that_does_not_end_is_refused(source: str, offset: int) -> None:
    assert refusal(source).offset == offset


@pytest.mark.parametrize(
    "source",
    [
        "'\\N{A}'",
        "'\\x4{A}'",
        "'\\u{A}'",
        "'\\U0001{A}'",
        "f'{{{A}}}'",
        "f'{{A}.x}'",
        "r'{A} {RAW:B}'",
        "rf'{x:\\d} {A}'",
        "r'{A}\\\n'",
        "r'{A}\\\r\n'",
        "f'{d[\"{A}\"]}'",
        "f'{f\"{A}\"}'",
        "f'{ {CASE} }'",
        "f'''{x:''{A}}'''",
        "f'{" * 30 + "f'{A}'",
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(source: str) -> None:
    refusal(source)


def test_an_escape_before_raw_text_is_the_authors_own_business() -> None:
    assert render("'\\x{RAW:A}'", A="41") == "'\\x41'"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'''a''{A}'b'''", "a'''b"),
        ("r'''a''{A}'b'''", "a'''b"),
        ("'''a'{A}'''", "a'"),
        ("f'''{A}''{B}'''", "''"),
        ("'''a'b{A}'''", "a'b"),
        ("f'{{}}\"{A}}}'", '{}"}'),
        ("'{A}''b'", "b"),
        ("r'{A}''{B}'", ""),
        ("''r'{A}'", ""),
        ("'a''{A}'''", "a"),
        ("\"{A}\"'b'", "b"),
    ],
)
def test_quotes_beside_an_empty_value_do_not_join(source: str, text: str) -> None:
    assert eval(render(source, A="", B="")) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'\\{A}'", "\\'"),
        ("r'\\{A}'", "\\'"),
        ("r'\\d\\\\{A}\\''", "\\d\\\\'\\'"),
        ("'\\0{A}\\07'", "\0'\x07"),
        ("f'\\{1}{A}'", "\\1'"),
        ("rf'\\{1}{A}'", "\\1'"),
        ("'\\x41{A}'", "A'"),
        ("'\\{{A}}{A}'", "\\{A}'"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning")
def test_backslashes_before_a_value_keep_their_meaning(source: str, text: str) -> None:
    assert eval(render(source, A="'")) == text


def test_a_value_in_bytes_is_its_utf_8() -> None:
    assert eval(render("b'{A}'", A="'é\udcff\ud800")) == b"'\xc3\xa9\xff\xed\xa0\x80"
    assert eval(render("rb'\\{A}'", A="'é\udcff")) == b"\\'\xc3\xa9\xff"


def test_a_format_specification_takes_plain_text_only() -> None:
    assert eval(render("f'{5:{A}}'", A=">3")) == "  5"
    assert eval(render("f'''{5:\"{N}}'''".replace('"', ""), N=3)) == "  5"
    assert eval(render("rf'{5:>3}{A}'", A="x")) == "  5x"
    assert eval(render('f"""{5:\'>3}{A}"""', A="x")) == "''5x"
    for hostile in ["{x}", "'", '"', "\\", "\n", "\0", "\ud800"]:
        with pytest.raises(ValueRefused):
            render("f'{5:{A}}'", A=hostile)


def test_a_field_may_hold_comments_and_nested_fields() -> None:
    source = "f'''{ [1, # {A}\n 2][0]:{ {N} }}{A}'''"

    assert render(source, A="x", N=3) == "f'''{ [1, # {A}\n 2][0]:{ (3) }}x'''"


@pytest.mark.parametrize(
    "head",
    [
        "# coding: latin-1\n",
        "#!/usr/bin/python\n# -*- coding: gbk -*-\n",
        "\ufeff# vim: fileencoding=shift_jis\n",
    ],
)
def test_a_source_in_another_encoding_takes_no_values(head: str) -> None:
    refusal(head + "x = '{A}'")


def test_a_source_that_says_it_is_utf_8_takes_values() -> None:
    assert render("# coding: UTF_8\nx = '{A}'", A="é") == "# coding: UTF_8\nx = '\\xe9'"


@pytest.mark.parametrize(
    "source",
    ["os.system('ls {A}')", "eval({A})", "exec( f'{A}' )", "os.popen(\n 'x {A}')",
     "subprocess.getoutput('ls {A}')", "os.system('ls ' + {A})", "os.system(('ls {A}'))",
     "os.system('ls' ' {A}')", "os.system(command='ls {A}')", "os.system('ls {}'.format({A}))",
     "system('ls {A}')", "eval(  # {B}\n '{A}')", "builtins.eval({A})",
     "eval(compile({A}, '', 'x'))",
     "subprocess.run('ls {A}', shell=True)", "run(f'ls {A}', shell = 1, check=True)",
     "subprocess.run(\n  args='ls {A}',\n  shell=True,\n)",
     "subprocess.run(['sh', '-c', 'ls {A}'])",
     "os.execvp('bash', ['/bin/bash', '-lc', f'ls {A}'])", "cmd = f'ls {A}'\nos.system(cmd)",
     "cmd = f'ls {A}'\nprint(other)\nos.system(cmd)",
     "if 1:\n  cmd: str = 'ls ' + {A}\n  subprocess.check_output(cmd, shell=True)",
     "asyncio.create_subprocess_shell('ls {A}')"],
)  # fmt: skip
def test_program_text_for_a_second_interpreter_is_refused(source: str) -> None:
    assert refusal(source).rule == "second-interpreter"


@pytest.mark.parametrize(
    "source",
    ["os.system('ls {KIND}')", "eval('{N}')", "df.eval('{A}')", "exec('{RAW:A}')", "print({A})",
     "os.system('ls ' + shlex.quote({A}))", "os.system(f'ls {shlex.quote({A})}')",
     "cmd = shlex.join(['ls', {A}])\nsubprocess.run(cmd, shell=True)",
     "subprocess.run('echo \"$X\"', shell=True, env={'X': {A}})",
     "subprocess.run('cat', shell=True, input={A})", "subprocess.run(['ls', '{A}'])",
     "cmd = ['ls', {A}]\nsubprocess.run(cmd)", "eval('a + 1', {'a': {A}})", "re.compile('{A}')",
     "print(platform.system(), {A})", "name = {A}\nprint(name)", "# os.system('{A}')"],
)  # fmt: skip
def test_harmless_program_text_is_allowed(source: str) -> None:
    python.compile(source, SLOTS)
