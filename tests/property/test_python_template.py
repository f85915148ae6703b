"""Values through Python templates and a real Python: exact, and never executed."""

import io
import json
import random
import subprocess
import sys
import sysconfig
import tokenize
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import examples

from tongs.template import python
from tongs.template.placeholder import Literal, find
from tongs.template.python_source import Place, scan
from tongs.template.values import Slot, TemplateError, utf8

SLOTS = {"A": Slot("A"), "step-1.output": Slot("step-1.output")}
BLNS: list[str] = json.loads((Path(__file__).parents[1] / "data/blns.json").read_text("utf-8"))

# Each tries to end the literal it lands in, or to be code where it lands.
HOSTILE = [
    "__canary__()",
    "'+__canary__()+'",
    '"+__canary__()+"',
    "'''+__canary__()+'''",
    '"""+__canary__()+"""',
    "\\'+__canary__()+\\'",
    '\\"+__canary__()+\\"',
    "\\\\'+__canary__()+'",
    "'\n__canary__()\n'",
    '"\n__canary__()\n"',
    "'\r__canary__()\r'",
    "\n__canary__()\n",
    "\r__canary__()\r",
    "\x0c__canary__()",
    "\u2028__canary__()\u2029",
    "{__canary__()}",
    "{{__canary__()}}",
    "}{__canary__()}{",
    "{A}",
    "{{A}}",
    "{RAW:A}",
    "${A}",
    "');__canary__();('",
    '");__canary__();("',
    "]);__canary__();([",
    "'; __canary__() #",
    "# coding: utf-7\n+AF8AXw-canary+AF8AXw-()",
    "\\N{LATIN SMALL LETTER A}",
    "\\x27+__canary__()+\\x27",
    "\\u0027 \\U00000027 \\047",
    "\\",
    "\\\\",
    "ends with a backslash\\",
    "'",
    '"',
    "'''",
    '"""',
    "''",
    "0",
    "7",
    "",
    " ",
    "\0",
    "\x00\x01\x7f\x80\xff",
    "\ud800",
    "\udcff\udc80",
    "\udfff\ud800 reversed",
    "\U0001f600",
    "%s %d %(x)s",
    "line\\\ncontinued",
]

Expect = Callable[[str], Any]


def same(value: str) -> Any:
    return value


def after(prefix: str, suffix: str = "") -> Expect:
    return lambda value: prefix + value + suffix


def in_bytes(prefix: bytes = b"", suffix: bytes = b"") -> Expect:
    return lambda value: (prefix + utf8(value) + suffix).decode("latin-1")


TEMPLATES: list[tuple[str, Expect]] = [
    # code
    ("result = {A}", same),
    ("result = str({A})", same),
    ("result = [{A}, 1][0]", same),
    ("result = {'k': {A}}['k']", same),
    ("result = {A}.__str__()", same),
    ("result = (lambda x={A}: x)()", same),
    ("result = {A} if {A} == {A} else __canary__()", same),
    ("result = 'a' + {A} + 'b'", after("a", "b")),
    ("result = '%s' % {A}", same),
    ("result = {step-1.output}", same),
    ("def f(x):\n    return x\nresult = f(\n    {A}\n)", same),
    ("# about {A}\nresult = {A}  # also {A} and '''", same),
    # plain literals
    ("result = '{A}'", same),
    ('result = "{A}"', same),
    ("result = '''{A}'''", same),
    ('result = """{A}"""', same),
    ("result = u'{A}'", same),
    ("result = 'x{A}y'", after("x", "y")),
    ("result = ('a' \"{A}\" 'b')", after("a", "b")),
    ("result = '''\n'{A}'\n\"{A}\"'''", lambda v: f"\n'{v}'\n\"{v}\""),
    ("result = ''''{A}'''", after("'")),
    ("result = 'it\\'s {A}'", after("it's ")),
    ("result = '\\\\{A}'", after("\\")),
    ("result = '\\{A}'", after("\\")),
    ("result = '\\0{A}'", after("\0")),
    ("result = '\\x41\\u0042\\U00000043{A}'", after("ABC")),
    ("result = '\\N{BULLET}{A}'", after("\N{BULLET}")),
    ("result = 'a\\\n{A}'", after("a")),
    ("result = 'a\\\r\n{A}'", after("a")),
    ("result = 1 and'{A}'", same),
    ("result = 'a''{A}''{A}'''", lambda v: "a" + v + v),
    # raw literals
    ("result = r'{A}'", same),
    ('result = R"{A}"', same),
    ('result = r"""{A}"""', same),
    ("result = r'C:\\dir\\{A}'", after("C:\\dir\\")),
    ("result = r'{A}\\d+'", after("", "\\d+")),
    ("result = r'\\'{A}\\\"'", after("\\'", '\\"')),
    ("result = r'\\\\{A}\\\\'", after("\\\\", "\\\\")),
    ("result = r'''\\\n{A}'''", after("\\\n")),
    # Not the first statement: a docstring may hold no half surrogate pair in Python 3.13.
    ("1\nr'''{A}'''\nresult = {A}", same),
    ("result = r''r'{A}'R''", same),
    # bytes
    ("result = b'{A}'", in_bytes()),
    ('result = B"""{A}"""', in_bytes()),
    ("result = b'\\0{A}\\xff'", in_bytes(b"\0", b"\xff")),
    ("result = rb'\\d{A}'", in_bytes(b"\\d")),
    ('result = Rb"{A}"', in_bytes()),
    # f-strings
    ("result = f'{A}'", same),
    ('result = F"{A}"', same),
    ('result = f"""\n{A}"""', after("\n")),
    ("result = f'{A}{1 + 1}{{}}{A}'", lambda v: f"{v}2{{}}{v}"),
    ("result = f'{{A}} {A}'", after("{A} ")),
    ("result = f'{{{{A}}}} {A}'", after("{{A}} ")),
    ("x = 5\nresult = f'{x:>3}{A}'", after("  5")),
    ("x, w = 5, 3\nresult = f'{x:{w}}{A}{x!r}'", after("  5", "5")),
    ("result = f'\\{1}{A}'", after("\\1")),
    ("result = f'\\N{BULLET}{A}'", after("\N{BULLET}")),
    ("d = {'k': 1}\nresult = f\"{d['k']}{A}\"", after("1")),
    ("result = rf'\\d{A}\\{1}'", after("\\d", "\\1")),
    ('result = Fr"""{A}\\n"""', after("", "\\n")),
    ("result = f'{ {A} }'", same),
    ('result = f"{ {A} }"', same),
    ("result = f'''{ {A} }'''", same),
    ("result = f'{ {A}!s}'", same),
    ("result = f'{ {A}:}'", same),
    ("result = f'{str({A})}'", same),
    ("result = f\"{ {'k': {A}}['k'] }\"", same),
    ("result = f'{ {A}.__str__() }'", same),
    ("result = rf'{ {A} }\\d'", after("", "\\d")),
    # other modes
    ("result = '{JSON:A}'", lambda v: json.dumps(v, ensure_ascii=False)[1:-1]),
    ("result = {JSON:A}", lambda v: json.dumps(v, ensure_ascii=False)[1:-1]),
]

# Executes every source in a namespace of its own, in one real Python.
RUNNER = """
import builtins, json, sys, warnings
warnings.simplefilter("ignore")
fired = []
builtins.__canary__ = lambda: fired.append(1) or "canary"
answers = []
for source in json.load(sys.stdin):
    fired.clear()
    space = {}
    try:
        exec(compile(source, "<template>", "exec"), space)
        result = space.get("result")
        result = result.decode("latin-1") if isinstance(result, bytes) else result
    except BaseException as error:
        result = ["failed", repr(error)]
    answers.append([result, len(fired)])
json.dump(answers, sys.stdout, default=repr)
"""


def run(sources: list[str]) -> list[tuple[Any, int]]:
    done = subprocess.run(
        [sys.executable, "-I", "-c", RUNNER],
        input=json.dumps(sources),
        capture_output=True,
        text=True,
        check=True,
    )
    return [(result, fired) for result, fired in json.loads(done.stdout)]


def naive(source: str, value: str) -> str:
    return source.replace("{A}", value).replace("{step-1.output}", value)


@pytest.fixture(scope="module")
def values() -> list[str]:
    return HOSTILE + BLNS


def test_values_arrive_exactly_and_nothing_planted_runs(
    values: list[str], record_property: Callable[[str, object], None]
) -> None:
    cases: list[tuple[str, str, Any]] = []
    for source, expect in TEMPLATES:
        template = python.compile(source, SLOTS)
        cases += [
            (source, template.render(dict.fromkeys(SLOTS, value)), expect(value))
            for value in values
        ]

    answers = run([rendered for _, rendered, _ in cases])

    assert len(TEMPLATES) >= 60
    assert len(answers) >= 30_000
    record_property("substitutions through real Python", len(answers))
    wrong = [
        (source, rendered, answer)
        for (source, rendered, expected), answer in zip(cases, answers, strict=True)
        if answer != (expected, 0)
    ]
    assert wrong == []


def test_the_same_values_do_execute_when_pasted_naively() -> None:
    fired = {
        source
        for source, _ in TEMPLATES
        for _, count in run([naive(source, value) for value in HOSTILE])
        if count
    }

    assert len(fired) >= 40


def test_a_percent_encoded_value_decodes_to_the_same_bytes(values: list[str]) -> None:
    template = python.compile("result = '{URL:A}'", SLOTS)

    answers = run([template.render({"A": value}) for value in values])

    assert [unquote_to_bytes(result) for result, _ in answers] == [utf8(v) for v in values]


ANY_TEXT = st.text(st.characters(exclude_categories=()))
FRAGMENTS = [
    "{A}", "{A}", "{A}", "{{A}}", "abc", "0", "7", "é", " ", "$", "n", "x", "\\", "\\\\", "\\n",
    "\\'", '\\"', "'", '"', "\\0", "\\12", "\\x41", "\\u0041", "\\N{DASH}", "{{", "}}", "{", "}",
    "{x}", "{x!r:>{w}}", "{d['k']}", "{x:%d}", "\n", "\\\n",
]  # fmt: skip
ONE_LITERAL = st.builds(
    lambda prefix, quote, body: prefix + quote + "".join(body) + quote,
    st.sampled_from([*"r u b f br rb fr rf R F Rb".split(), ""]),
    st.sampled_from(["'", '"', "'''", '"""']),
    st.lists(st.sampled_from(FRAGMENTS), max_size=6),
)
# Side by side without a blank, since Python joins literals, and quotes that meet may be misread.
TWO_LITERALS = st.builds(lambda a, b: (a + b).replace("{{A}}", ""), ONE_LITERAL, ONE_LITERAL)
MARK = "Mark"


def evaluated(source: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = eval(source, {"x": 5, "w": 3, "d": {"k": 1}})
    return result.decode("latin-1") if isinstance(result, bytes) else result


def marked(source: str) -> str:
    """The source as the author means it, with a word in place of the value."""
    formatted = "f" in source.partition(source.lstrip("rRuUbBfF")[0])[0].lower()
    for item in reversed(list(find(source, SLOTS))):
        if isinstance(item, Literal):
            text = source[item.start : item.end] if formatted else item.text
        else:
            text = MARK
        source = source[: item.start] + text + source[item.end :]
    return source


@examples(3000)
@given(source=ONE_LITERAL | TWO_LITERALS, value=ANY_TEXT | st.sampled_from(HOSTILE))
def test_any_literal_means_the_same_with_the_value_in_place_of_a_word(
    source: str, value: str
) -> None:
    try:
        meant = evaluated(marked(source))
    except (SyntaxError, NameError, ValueError, TypeError):
        return  # no Python, so the author has nothing to lose
    try:
        template = python.compile(source, SLOTS)
    except TemplateError:
        return  # refusing is always allowed; the templates above show that it is rare

    written = utf8(value).decode("latin-1") if "b" in source[:2].lower() else value
    assert evaluated(template.render({"A": value})) == meant.replace(MARK, written)


def tokens(text: str) -> Iterator[tuple[Place, int, int]]:
    """Comments and string literals without f-strings, as the standard library sees them."""
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        start, end = (lines[row - 1] + column for row, column in (token.start, token.end))
        if token.type == tokenize.COMMENT:
            yield Place.COMMENT, start + 1, end
        elif token.type == tokenize.STRING and "f" not in token.string[:2].lower():
            quotes = 3 if token.string.lstrip("rRbBuU")[:3] in ('"""', "'''") else 1
            prefix = len(token.string) - len(token.string.lstrip("rRbBuU"))
            yield Place.TEXT, start + prefix + quotes, end - quotes
        elif token.type == tokenize.NAME:
            yield Place.CODE, start, start


def test_the_scanner_agrees_with_tokenize_on_the_standard_library() -> None:
    choose = random.Random(1)
    library = Path(sysconfig.get_path("stdlib"))
    checked = 0
    for path in choose.sample(sorted(library.glob("*.py")), 60):
        text = path.read_text("utf-8")
        if "\f" in text or "\r" in text:
            continue  # `splitlines` counts lines differently from tokenize there
        places = list(tokens(text))
        for place, start, end in choose.sample(places, min(15, len(places))):
            offset = choose.randint(start, end)
            changed = text[:offset] + "{A}" + text[offset:]
            items = list(find(changed, SLOTS))
            if [item.start for item in items] != [offset] or changed[offset - 1] == "\\":
                continue
            try:
                spots = scan(changed, items).spots
            except TemplateError:
                continue
            assert [spot.place for spot in spots] == [place], (path.name, offset)
            checked += 1

    assert checked > 500
