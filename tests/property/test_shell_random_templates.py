"""Templates nobody thought of: what is accepted must mean what the author's text means.

The oracle is the shell itself. For a value that is inert everywhere, replacing the placeholder by
plain text is exactly what the author had in mind, so both scripts must print the same.
"""

import random
from pathlib import Path

import pytest
from tests import real_shell

from tongs.template import shell
from tongs.template.shell import Rendered
from tongs.template.values import Slot, TemplateError

SLOTS = {"A": Slot("A")}
# Not a name, so that `$y{A}` stays `$y` and the value; not special at the start of any word.
INERT = "+Qz"
HOSTILE = (
    "h'\"`touch canary`$(touch canary)\ntouch canary\n';touch canary;\";touch canary;}\n)\n"
    "EOF\ntouch canary\n*\\"
)
FRAMES = [
    "echo %s",
    'echo "%s"',
    "echo '%s'",
    "echo $(echo %s)",
    "echo `echo %s`",
    "cat <<EOF\n%s\nEOF\n",
    "cat <<'EOF'\n%s\nEOF\n",
    "cat <<-EOF\n\t%s\n\tEOF\n",
    "echo ${x:-%s}",
    'echo "${x:-%s}"',
    "case %s in *) echo %s;; esac",
    "[[ %s ]] && echo ok",
    "[[ a == %s ]] || echo no",
    'a=( %s ); echo "${a[@]}"',
    'echo "$(echo "%s")"',
    "if true; then %s; fi",
    "f() { %s; }; f",
    "echo $'%s'",
    "( %s )",
    "{ %s; }",
    'for i in %s; do echo "$i"; done',
    "cat <<< %s",
    'y=%s; echo "$y"',
    'echo "`echo "%s"`"',
    "%s\n%s",
    "%s; %s",
    "%s%s",
    "echo $( (%s) )",
    'x=$(cat <<EOF\n%s\nEOF\n); echo "$x"',
    'while read -r l; do echo "$l"; done <<EOF\n%s\nEOF\n',
]
PARTS = [
    *("{A}", "{A}", "a", '"{A}"', "'{A}'", '"$y{A}"', "x{A}y", "$(echo {A})", "echo {A}"),
    *("echo '{A}'", 'echo "{A}"', "\\{", '"\\"{A}"', "it'\\''s{A}", "`echo {A}`", "# {A}\n"),
    *("{A} b", '"a b"{A}', "${y#{A}}", "${y:-{A}}", '"${x:-{A}}"', '"${y/{A}/b}"', "\n"),
    *("{{A}}", "$'\\n{A}'", "# it's\n{A}", "{A}#x", "\\\n{A}", "$y{A}", '"a\\\\{A}"'),
    '"$(echo "{A}" \'{A}\')"',
]
PIECES = [
    *("echo ", 'printf "<%s>" ', "{A}", "{A}", "{A}", '"', "'", "`", "$(", ")", "${x:-", "}"),
    *("$'", "\\", "\\\\", " ", "\n", "; ", "a", "$y", "#", " # ", "<<EOF\n", "<<'EOF'\n"),
    *("<<-EOF\n\t", "\nEOF\n", "EOF\n", "\n\tEOF\n", "cat ", "<<< ", "<(echo ", "case ", " in "),
    *("*) ", ";;", " esac", "[[ ", " ]]", " == ", "((", "))", "$((", "{ ", "; }", "f() ", "{"),
    *("if true; then ", "; fi", "for i in ", "; do ", "; done", "a=( ", " )", "y=", "y[0]="),
    *("&& ", "|| ", "| cat", "> /dev/null", "2>&1", "&", "(", '"$y"', "'s q'", '"d q"', '$"'),
    *("!", "@(", "|", "${y#", "${y/", "/", '"${x:-', "]", "[", "~", "$#", "${#y}", "\t", "<"),
    *("`echo ", "\\`", '\\"', "=~ ", "$", "${y:", "1", "\r", "\\\n"),
]


def nested(choose: random.Random, depth: int) -> str:
    """A template grown from the inside of frames."""
    if depth == 0 or choose.random() < 0.25:
        return choose.choice(PARTS)
    first, *others = choose.choice(FRAMES).split("%s")
    return first + "".join(nested(choose, depth - 1) + other for other in others)


def sequence(choose: random.Random) -> str:
    """A template of pieces in any order, mostly broken."""
    return "".join(choose.choice(PIECES) for _ in range(choose.randint(2, 9)))


def with_inert_text(text: str) -> str:
    return text.replace("{{A}}", "\0").replace("{A}", INERT).replace("\0", "{A}")


def seen(rendered: Rendered, directory: Path, dialect: str) -> tuple[int, bytes]:
    known = Rendered("y=yy; " + rendered.script, rendered.preamble)
    done = real_shell.run(known, directory, dialect)
    return done.returncode, done.stdout


@pytest.mark.parametrize("dialect", ["bash", "sh"])
@pytest.mark.parametrize("seed", range(4))
def test_accepted_templates_mean_what_the_author_wrote(
    seed: int, dialect: str, tmp_path: Path
) -> None:
    choose = random.Random(seed)
    accepted = 0
    while accepted < 100:
        text = sequence(choose) if choose.random() < 0.3 else nested(choose, choose.randint(1, 4))
        if "{A}" not in text or "${A}" in text:
            continue
        try:
            template = shell.compile(text, SLOTS, dialect=dialect)
        except TemplateError:
            continue
        intended = seen(Rendered(with_inert_text(text), ""), tmp_path, dialect)
        if intended[0] != 0:
            # The author's own mistake: after a syntax error a shell guesses, too.
            continue
        accepted += 1

        assert seen(template.render({"A": INERT}), tmp_path, dialect) == intended, text
        seen(template.render({"A": HOSTILE}), tmp_path, dialect)
        assert not (tmp_path / real_shell.CANARY).exists(), text
