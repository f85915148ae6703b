"""Whatever a script makes bash start, the reading knows of it, or says that it does not know."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import examples

from tongs.core.execution import CommandLine
from tongs.policy.shell.reading import read_line

_BODY = '#!/bin/sh\nprintf \'%s \' zap "$@" >> "$RECORD"\necho >> "$RECORD"\n'


def _quoted(char: str, way: int) -> str:
    return (
        char,
        f"'{char}'",
        f'"{char}"',
        f"\\{char}",
        f"$'\\x{ord(char):02x}'",
        f"$'\\{ord(char):03o}'",
        f'$"{char}"',
        f"{char}''",
        f"{char}\\\n",
    )[way]


def _spelled(word: str) -> st.SearchStrategy[str]:
    ways = st.lists(st.integers(0, 8), min_size=len(word), max_size=len(word))
    return ways.map(
        lambda chosen: "".join(_quoted(c, w) for c, w in zip(word, chosen, strict=True))
    )


# How the command itself is written: its words, a variable, an array, an expansion of braces.
_plain = st.tuples(_spelled("zap"), _spelled("-rf"), _spelled("x")).map(" ".join)
_command = st.one_of(
    _plain,
    st.sampled_from(
        [
            "v=zap; $v -rf x",
            "v=z; w=ap; $v$w -rf x",
            'v="zap -rf x"; $v',
            'v=(zap -rf x); "${v[@]}"',
            "{zap,-rf,x}",
            "zap${IFS}-rf${IFS}x",
            "for v in zap; do $v -rf x; done",
            "f() { zap -rf x; }; f",
            'f() { "$@"; }; f zap -rf x',
            "set -- zap -rf x; $1 $2 $3",
            'set -- zap -rf x; "$@"',
            "v=ls; v=zap; $v -rf x",
            "v=ls; if true; then v=zap; fi; $v -rf x",
            "v=zap; false && v=ls; $v -rf x",
            "v=ls; for i in 1 2; do $v -rf x; v=zap; done",
            'v=ls; while [ "$v" != stop ]; do $v -rf x; [ $v = zap ] && v=stop || v=zap; done',
            "v=zap; unset w; ${w:-$v} -rf x",
            "v=xzap; ${v#x} -rf x",
            "v=(ls zap); ${v[1]} -rf x",
            "declare v=zap; $v -rf x",
            "printf -v v %s zap; $v -rf x",
            "read v <<< zap; $v -rf x",
            "v=$(echo zap); $v -rf x",
            "v=`printf zap`; $v -rf x",
            "v=z; v+=ap; $v -rf x",
            "v=paz; w=$(rev <<< $v); $w -rf x",
        ]
    ),
)


def _around(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    texts = st.sampled_from(
        [
            "true && { {}\n}",
            "({})",
            "echo \"$({})\"",
            "cat <({})",
            "if {}\nthen :; fi",
            "if false; then :; else {}\nfi",
            "while {}\n[ 1 = 2 ]; do :; done",
            "case a in b) ;; a) {}\n;; esac",
            "{}\n# a comment with 'one quote",
            "echo $(( 1 + $({} >/dev/null; echo 1) ))",
            "echo \"${y:-$({})}\"",
            "x=$({})",
            "! {}",
            "time {}",
            "{} | cat",
            "cat <<END\n$({})\nEND",
            "[[ -n $({}) ]]",
            "y=( $({}) )",
            "g() {\n{}\n}; g",
            "true; {} &\nwait",
            "{ {}\n} 2>/dev/null",
            "until true; do :; done; {}",
            "echo 'a # b'; {}",
            "cat <<'END' >/dev/null\n$(ls 'x\nEND\n{}",
        ]
    )  # fmt: skip
    framed = st.tuples(texts, inner).map(lambda pair: pair[0].replace("{}", pair[1]))
    quoted = st.tuples(
        st.sampled_from(
            ["bash -c {}", "eval {}", "sh -c {}", "bash <<< {}", "echo {} | bash",
             "trap {} EXIT", "env bash -c {}", "timeout 5 bash -c {}", "command eval {}",
             "bash <(printf '%s' {})", ". <(printf %s {})", "exec bash -c {}"]
        ),
        inner,
    ).map(lambda pair: pair[0].replace("{}", shlex.quote(pair[1])))  # fmt: skip
    return st.one_of(framed, quoted)


_scripts = st.recursive(_command, _around, max_leaves=4)


@examples(300)
@given(_scripts)
def test_program_that_bash_starts_is_seen_or_doubted(script: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "zap")
        program.write_text(_BODY)
        program.chmod(0o755)
        record = Path(folder, "record")
        subprocess.run(
            ["bash", "-c", script],
            cwd=folder,
            env={"PATH": f"{folder}:{os.environ['PATH']}", "RECORD": str(record)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=30,
            check=False,
        )
        really = set(record.read_text().splitlines()) if record.exists() else set()

        reading = read_line(CommandLine(folder, text=script, given=True), folder)

    seen = {" ".join([*one.words, ""]) for one in reading.invocations if one.program == "zap"}
    assert reading.doubts or really <= seen, (script, really, seen)


@examples(500)
@given(st.text(alphabet="az -;|&()<>{}[]$`'\"\\\n#=*?!", max_size=60))
def test_reading_never_fails(script: str) -> None:
    reading = read_line(CommandLine("/work", text=script, given=True), "/people/me")

    assert all(one.words for one in reading.invocations)
