"""Values through shell templates and real shells: exact, and never executed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import real_shell
from tests.thorough import examples

from tongs.template import shell
from tongs.template.shell import Rendered
from tongs.template.values import Slot, utf8

SLOTS = {"A": Slot("A")}
END = b"== end of one script =="


def itself(value: str) -> list[str]:
    return [value]


@dataclass(frozen=True)
class Context:
    """A template that prints what it received, each text ended by a NUL."""

    name: str
    text: str
    expected: Callable[[str], list[str]] = itself
    sh: bool = True
    # Starts a process for each value, so it gets the hostile ones only.
    heavy: bool = False


CONTEXTS = [
    Context("bare", r"printf '%s\0' {A}"),
    Context("bare twice", r"printf '%s\0' {A} {A}", lambda v: [v, v]),
    Context("glued", r"printf '%s\0' pre{A}post", lambda v: [f"pre{v}post"]),
    Context("option", r"printf '%s\0' --x={A}", lambda v: [f"--x={v}"]),
    Context("two touching", r"printf '%s\0' {A}{A}", lambda v: [v + v]),
    Context("double quotes", r"""printf '%s\0' "<{A}>" """, lambda v: [f"<{v}>"]),
    Context("double after name", r"""x=1; printf '%s\0' "$x{A}y" """, lambda v: [f"1{v}y"]),
    Context("double with escapes", r"""printf '%s\0' "\"\\{A}\$" """, lambda v: [f'"\\{v}$']),
    Context("single quotes", r"printf '%s\0' '<{A}>'", lambda v: [f"<{v}>"]),
    Context("single with dollar", r"printf '%s\0' '$x `y` {A}'", lambda v: [f"$x `y` {v}"]),
    Context("ansi quotes", r"printf '%s\0' $'a\t\'{A}\'\x41'", lambda v: [f"a\t'{v}'A"], sh=False),
    Context("locale quotes", r"""printf '%s\0' $"<{A}>" """, lambda v: [f"<{v}>"], sh=False),
    Context("mixed quotes", r"""printf '%s\0' 'a'{A}"b"{A}c""", lambda v: [f"a{v}b{v}c"]),
    Context(
        "heredoc",
        "IFS= read -r -d '' x <<EOF\n[{A}] \\$y \"q\"\nEOF\nprintf '%s\\0' \"$x\"",
        lambda v: [f'[{v}] $y "q"\n'],
        sh=False,
    ),
    Context(
        "quoted heredoc",
        "IFS= read -r -d '' x <<'EOF'\n$y `z` \\ \\\\ [{A}]\\\nEOF\nprintf '%s\\0' \"$x\"",
        lambda v: [f"$y `z` \\ \\\\ [{v}]\\\n"],
        sh=False,
    ),
    Context(
        "tabbed heredoc",
        "IFS= read -r -d '' x <<-EOF\n\t\t[{A}]\n\tEOF\nprintf '%s\\0' \"$x\"",
        lambda v: [f"[{v}]\n"],
        sh=False,
    ),
    Context(
        "tabbed quoted heredoc",
        "IFS= read -r -d '' x <<-\\EOF\n\t$y [{A}]\n\tEOF\nprintf '%s\\0' \"$x\"",
        lambda v: [f"$y [{v}]\n"],
        sh=False,
    ),
    Context(
        "two heredocs on a line",
        "IFS= read -r -d '' x <<X; IFS= read -r -d '' y <<\"EOF\"\n1{A}\nX\n2{A}\nEOF\n"
        'printf \'%s\\0\' "$x" "$y"',
        lambda v: [f"1{v}\n", f"2{v}\n"],
        sh=False,
    ),
    Context(
        "heredoc in a substitution",
        "x=$(cat <<EOF\n[{A}]\nEOF\n); printf '%s\\0' \"$x\"",
        lambda v: [f"[{v}]"],
        heavy=True,
    ),
    Context(
        "quoted heredoc in a substitution",
        "x=\"$(cat <<'EOF'\n$[{A}]\nEOF\n)\"; printf '%s\\0' \"$x\"",
        lambda v: [f"$[{v}]"],
        heavy=True,
    ),
    Context(
        "substitution in a heredoc",
        "IFS= read -r -d '' x <<EOF\n$(printf '%s' '{A}' \"{A}\" {A}).\nEOF\nprintf '%s\\0' \"$x\"",
        lambda v: [(v * 3).rstrip("\n") + ".\n"],
        sh=False,
    ),
    Context(
        "herestring",
        "IFS= read -r -d '' x <<< {A}; printf '%s\\0' \"$x\"",
        lambda v: [v + "\n"],
        sh=False,
    ),
    Context(
        "quoted herestring",
        "IFS= read -r -d '' x <<<\"<{A}>\"; printf '%s\\0' \"$x\"",
        lambda v: [f"<{v}>\n"],
        sh=False,
    ),
    Context("substitution", r"""x=$(printf '%s.' {A}); printf '%s\0' "$x" """, lambda v: [v + "."]),
    Context(
        "quotes in a quoted substitution",
        r"""printf '%s\0' "$(printf '%s.' "{A}" '{A}')" """,
        lambda v: [f"{v}.{v}."],
    ),
    Context(
        "substitution with a comment",
        "x=$(printf '%s.' {A} # it's )\n); printf '%s\\0' \"$x\"",
        lambda v: [v + "."],
    ),
    Context(
        "case in a substitution",
        r"""x=$(case a in a) printf '%s.' {A};; esac); printf '%s\0' "$x" """,
        lambda v: [v + "."],
    ),
    Context("backticks", r"""x=`printf '%s.' {A}`; printf '%s\0' "$x" """, lambda v: [v + "."]),
    Context(
        "quoted backticks",
        r"""printf '%s\0' "`printf '%s.' \"{A}\" '{A}'`" """,
        lambda v: [f"{v}.{v}."],
    ),
    Context(
        "nested backticks",
        r"""x=`printf '%s.' "\`printf '%s.' '{A}'\`"`; printf '%s\0' "$x" """,
        lambda v: [v + ".."],
    ),
    Context("default", r"unset x; printf '%s\0' ${x:-{A}}"),
    Context("quoted default", r"""unset x; printf '%s\0' "${x:-<{A}>}" """, lambda v: [f"<{v}>"]),
    Context("default in quotes", r"""unset x; printf '%s\0' ${x-"{A}"'{A}'}""", lambda v: [v + v]),
    Context("alternative", r"""x=1; printf '%s\0' "${x:+{A}}" """),
    Context("assigning default", r"""unset x; : "${x:={A}}"; printf '%s\0' "$x" """),
    Context("removed prefix", r"""x={A}.; printf '%s\0' "${x#{A}}" """, lambda _: ["."]),
    Context("removed suffix", r"""x=.{A}; y=${x%'{A}'}; printf '%s\0' "$y" """, lambda _: ["."]),
    Context(
        "replacement",
        r"""x=abc; y=${x//b/'{A}'}; printf '%s\0' "${x/b/{A}}" "$y" """,
        lambda v: [f"a{v}c"] * 2,
        sh=False,
    ),
    Context(
        "case",
        r"""case {A} in "{A}x") :;; ({A}) printf '%s\0' same;; *) printf '%s\0' no;; esac""",
        lambda _: ["same"],
    ),
    Context("case clause", r"""case x in y) :;; x|z) printf '%s\0' "{A}" ;; esac"""),
    Context("condition", r"[[ {A} == {A} ]] && printf '%s\0' same", lambda _: ["same"], sh=False),
    Context(
        "pattern group",
        r"[[ {A} == @(zzz|{A}) && ! x == '{A}y' ]] && printf '%s\0' same",
        lambda _: ["same"],
        sh=False,
    ),
    Context(
        "regular expression",
        r"""x=1; [[ "<"{A}">" =~ ^("<"){A}'>'$ ]] && printf '%s\0' same""",
        lambda _: ["same"],
        sh=False,
    ),
    Context("test", r"""[ {A} = "{A}" ] && printf '%s\0' same""", lambda _: ["same"]),
    Context("function argument", r"""f() { printf '%s\0' "$1"; }; f {A}"""),
    Context("function body", r"f() { printf '%s\0' {A}; }; f"),
    Context("local", r"""f() { local x={A}; printf '%s\0' "$x"; }; f"""),
    Context(
        "array", r"""a=( x {A} "{A}" ); printf '%s\0' "${a[@]}" """, lambda v: ["x", v, v], sh=False
    ),
    Context("element", r"""a[3]={A}; printf '%s\0' "${a[3]}" """, sh=False),
    Context("assignment", r"""x={A}; printf '%s\0' "$x" """),
    Context("assignment glued", r"""x=a"{A}"b; printf '%s\0' "$x" """, lambda v: [f"a{v}b"]),
    Context("export", r"""export x={A}; printf '%s\0' "$x" """),
    Context("loop", r"""for x in a {A}; do printf '%s\0' "$x"; done""", lambda v: ["a", v]),
    Context("positional", r"""set -- {A}; printf '%s\0' "$1" """),
    Context(
        "process substitution",
        r"""IFS= read -r -d '' x < <(printf '%s\0' {A}); printf '%s\0' "$x" """,
        sh=False,
    ),
    Context("comment", "printf '%s\\0' ok # {A} \"{A}\" '{A}\n", lambda _: ["ok"]),
    Context("comment with a quote", "# it's {A}\nprintf '%s\\0' {A}"),
    Context("subshell", r"( printf '%s\0' {A} )"),
    Context("group and condition", r"{ if true; then printf '%s\0' {A}; fi; } || :"),
    Context("pipeline", r"printf '%s' {A} | cat; printf '\0'", heavy=True),
    Context("continued line", "printf '%s\\0' \\\n  {A} \\\n  \"{A}\"", lambda v: [v, v]),
    Context(
        "options of the author",
        r"""set -fu; IFS=atc; printf '%s\0' {A} "{A}"x; set +fu; IFS=' '""",
        lambda v: [v, v + "x"],
    ),
    Context("json", r"""printf '%s\0' '{"q": "{A}"}'""", lambda v: [f'{{"q": "{v}"}}']),
    Context("url", r"printf '%s\0' 'h/{URL:A}'", lambda v: ["h/" + quote(utf8(v), safe="")]),
    Context("argument of bash -c", r"""bash -c 'printf "%s\0" "$1"' _ {A}""", sh=False, heavy=True),
    Context("argument of sh -c", r"""sh -c 'printf "%s\0" "$1"' _ "{A}" """, heavy=True),
    Context(
        "argument of xargs",
        r"printf last | xargs printf '%s\0' {A}",
        lambda v: [v, "last"],
        heavy=True,
    ),
]
VALUES = [*real_shell.HOSTILE, *real_shell.BLNS]


def dialects(context: Context) -> list[str]:
    return ["bash", "sh"] if context.sh else ["bash"]


CASES = [pytest.param(c, d, id=f"{c.name} in {d}") for c in CONTEXTS for d in dialects(c)]


def values_of(context: Context) -> list[str]:
    # A regular expression can hold no bytes that are no characters.
    values = [v for v in VALUES if context.name != "regular expression" or v.isprintable()]
    return values[: len(real_shell.HOSTILE)] if context.heavy else values


def in_one_process(template: shell.ShellTemplate, values: list[str]) -> Rendered:
    """The scripts for all values one after the other: the shell starts once, not 600 times."""
    scripts = []
    for value in values:
        rendered = template.render({"A": value})
        scripts.append(f"{rendered.preamble}{rendered.script}\nprintf '%s\\0' '{END.decode()}'\n")
    return Rendered("".join(scripts), "")


@pytest.mark.parametrize(("context", "dialect"), CASES)
def test_every_value_arrives_exactly_and_nothing_of_it_runs(
    context: Context,
    dialect: str,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    values = values_of(context)
    template = shell.compile(context.text, SLOTS, dialect=dialect)

    done = real_shell.run(in_one_process(template, values), tmp_path, dialect)

    received = done.stdout.split(END + b"\0")
    expected = [b"".join(utf8(text) + b"\0" for text in context.expected(v)) for v in values]
    assert (received, done.stderr) == ([*expected, b""], b"")
    assert not (tmp_path / real_shell.CANARY).exists()
    record_property("substitutions through real shells", len(values))


@pytest.mark.parametrize(("context", "dialect"), CASES)
def test_plain_replacement_would_have_run_the_value(
    context: Context, dialect: str, tmp_path: Path
) -> None:
    """The twin of the test above: it shows that the canary sings."""
    for attack in real_shell.HOSTILE:
        text = context.text.replace("{A}", attack).replace("{URL:A}", attack)
        real_shell.run(Rendered(text, ""), tmp_path, dialect)
        if (tmp_path / real_shell.CANARY).exists():
            return
    pytest.fail("no hostile value runs here, so the test above proves nothing")


@examples(60)
@given(
    st.lists(st.text(st.characters(exclude_characters="\0"), max_size=30), min_size=50, max_size=50)
)
@pytest.mark.parametrize("dialect", ["bash", "sh"])
def test_any_text_survives_every_kind_of_quotes(
    tmp_path_factory: pytest.TempPathFactory, dialect: str, values: list[str]
) -> None:
    text = r"""printf '%s\0' {A} "{A}" '{A}' a{A}"$(printf '%s.' {A} "`printf '%s.' '{A}'`")" """
    template = shell.compile(text, SLOTS, dialect=dialect)
    directory = tmp_path_factory.mktemp("any")

    done = real_shell.run(in_one_process(template, values), directory, dialect)

    expected = [[v, v, v, f"a{v}{v}.{v}.."] for v in values]
    received = done.stdout.split(END + b"\0")
    assert received == [*(b"".join(utf8(t) + b"\0" for t in texts) for texts in expected), b""]
