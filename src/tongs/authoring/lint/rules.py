"""The rules of `tongs lint`: what each one is called, how much it matters, why, and the fix."""

from __future__ import annotations

from tongs.authoring.lint.rule import Rule
from tongs.authoring.lint.rules_shapes import SHAPE_RULES
from tongs.core.errors import Severity

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


# In the order of the reference page: what makes a file unusable first.
_TABLE = (
    Rule(
        "yaml",
        _ERROR,
        "a file that is not YAML as Tongs reads it",
        "Tongs reads one strict dialect, so that a reviewer and a run see the same definition",
        "mend the line named; put unusual text in quotes or in a block (`|`)",
    ),
    Rule(
        "colon-trap",
        _ERROR,
        "a `: ` inside a text without quotes",
        "YAML reads `: ` as the start of a value, even in the middle of a command",
        "write the text as a block: `bash: |` and the command on the next line, indented",
    ),
    Rule(
        "schema",
        _ERROR,
        "a key that does not exist, or a value of the wrong type",
        "what does not fit the format would be ignored or misread without anybody noticing",
        "compare with `tongs schema` of that kind of file",
    ),
    Rule(
        "definition",
        _ERROR,
        "keys that contradict each other, or nothing to run",
        "a tool runs exactly one thing: an action (one for each platform), or steps; in a manifest"
        " what `kind` says",
        "keep one of run, cmd, bash, pwsh, python, script, tool, steps",
    ),
    Rule(
        "template",
        _ERROR,
        "a placeholder in a place where no value can be put safely",
        "Tongs refuses what it cannot quote with certainty, instead of guessing",
        "move the placeholder into a word or a string of its own",
    ),
    Rule(
        "shell-syntax",
        _ERROR,
        "shell text that cannot be read with certainty",
        "how a value has to be quoted depends on the quotes around it, so doubt is refused",
        "close the quote, bracket or heredoc that is named",
    ),
    Rule(
        "second-interpreter",
        _ERROR,
        "a value inside the program text of `bash -c`, `awk`, `jq`, `ssh` and the like",
        "no quoting holds for two languages at once: the value would run as code",
        "pass the value as an argument of that program, or give the parameter an `enum`",
    ),
    Rule(
        "program-name",
        _ERROR,
        "a value that chooses the program to run",
        "whoever gives the value could run any program",
        "write the program's name, or list the allowed ones with `enum`",
    ),
    Rule(
        "array-in-sh",
        _ERROR,
        "an array as words of an `sh` script",
        "sh has no arrays, so the elements could not stay apart",
        "use `bash:`, or put the placeholder in quotes for one text joined by blanks",
    ),
    Rule(
        "unknown-shell",
        _ERROR,
        "a placeholder in a script for a shell Tongs cannot quote for",
        "safe quoting is known for bash, sh, python, pwsh and cmd only",
        "pass the value through `arguments:`, or write `{RAW:NAME}` if it is code",
    ),
    Rule(
        "raw-in-read-tool",
        _ERROR,
        "`{RAW:NAME}` without bounds in a tool tagged `read`",
        "RAW lets the caller write code, and `read` promises that nothing is changed",
        "give the parameter an `enum` or `pattern`, drop RAW, or tag the tool `run`",
    ),
    Rule(
        "unreadable",
        _ERROR,
        "a definition that cannot be opened",
        "a tool that cannot be read is missing for everybody who calls it",
        "check the file and its permissions",
    ),
    Rule(
        "place",
        _ERROR,
        "a user or global tool that somebody else could change",
        "these folders are trusted for their place, so the place has to be the person's own",
        "take the write permission away from others, or move the file",
    ),
    Rule(
        "duplicate-file",
        _ERROR,
        "`x.yaml` beside `x.yml`, or `tool.yaml` beside `tool.yml`",
        "nobody could say which of the two is meant",
        "keep one of the two files",
    ),
    Rule(
        "duplicate-name",
        _ERROR,
        "two definitions of one name in one scope",
        "the short name is refused, since either could be meant",
        "rename one of them",
    ),
    Rule(
        "tool-cycle",
        _ERROR,
        "a tool that calls itself, directly or through others",
        "such a call would never end, so it is refused",
        "break the circle",
    ),
    Rule(
        "reserved-name",
        _WARNING,
        "a tool named like a built-in one",
        "agents rely on what these names do, so a definition answers only to its qualified name",
        "choose another name, or call it as `yaml:NAME`, `exec:NAME` or `manifest:NAME`",
    ),
    Rule(
        "raw",
        _WARNING,
        "`{RAW:NAME}`",
        "the value is inserted as it is, so whoever gives it writes code",
        "write `{NAME}`, or bound the parameter with `enum` or `pattern`",
    ),
    Rule(
        "bare-boolean",
        _WARNING,
        "a boolean as a word of a command, without `true-value` and `false-value`",
        "the program gets the word `true` or `false`, which is rarely what it expects",
        "write the option itself: `true-value: --verbose`; for the other value nothing is inserted",
    ),
    Rule(
        "unknown-placeholder",
        _WARNING,
        "`{NAME}` in capitals, or `{RAW:name}`, that is no parameter",
        "an unknown name stays as it is, so the command gets the braces",
        "correct the name, or declare it under `parameters:`",
    ),
    Rule(
        "unknown-step",
        _WARNING,
        "`{step.output}` where no earlier step has that name, or a property that does not exist",
        "only earlier steps have a result; anything else stays as it is, with its braces",
        "name an earlier step and one of output, stdout, stderr, exit-code",
    ),
    Rule(
        "unknown-tool",
        _WARNING,
        "`tool: NAME` where no tool of that name can be found",
        "the call would fail every time",
        "correct the name, or define the tool under `with: {tools: […]}`",
    ),
    Rule(
        "unknown-server",
        _WARNING,
        "`mcp: NAME` or `uses.mcp` where no MCP server of that name can be found",
        "the call would fail every time",
        "correct the name, add the server with `tongs mcp add`, or define it under"
        " `with: {mcps: […]}`",
    ),
    Rule(
        "unused-parameter",
        _WARNING,
        "a parameter that no placeholder uses",
        "a caller fills it in and nothing changes",
        "use `{NAME}` somewhere, or remove the parameter",
    ),
    Rule(
        "arguments-unused",
        _WARNING,
        "a script that gets `arguments:` and never looks at them",
        "they become the script's own `$@` and are not appended to a command in it",
        'use `"$@"` or `$1` (Python: `sys.argv`) in the script, or placeholders',
    ),
    Rule(
        "ignored-key",
        _WARNING,
        "a key that has no effect where it stands, or that no description of an executable has",
        "it looks as if it did something",
        "remove it, or move it to where it counts",
    ),
    Rule(
        "platform",
        _WARNING,
        "`platforms` and the scripts that do not fit together",
        "a call there could not run, or a script is never used",
        "add the script for that platform, or change `platforms`",
    ),
    Rule(
        "suspicious-timeout",
        _WARNING,
        "a timeout that looks like seconds, is very long, or is longer than the tool's",
        "`timeout` counts milliseconds, and the tool's own covers all its steps",
        "write milliseconds: `timeout: 30000` is half a minute",
    ),
    Rule(
        "environment-from-caller",
        _ERROR,
        "a value in a variable that makes programs load or run something else",
        "through `LD_PRELOAD`, `PATH`, `PYTHONPATH` and their like a value becomes code",
        "write that variable's text yourself, or bound the parameter with `enum`",
    ),
    Rule(
        "environment-name",
        _WARNING,
        "a variable that Tongs needs for itself",
        "values reach bash through `BASH_ENV`, so an author's own is replaced",
        "source the file in the script: `. ./file.sh`",
    ),
    Rule(
        "step-name",
        _NOTE,
        "a step named like a parameter",
        "`{X}` and `{X.output}` then mean two different things",
        "rename the step",
    ),
    Rule(
        "missing-end-of-options",
        _NOTE,
        "a value that starts a word of a command, with no `--` before it",
        "a value that starts with `-` would be read as an option of the program; where an option"
        " can run another one (ssh, git, tar, sed, python …), this is a warning",
        "put `--` before the first such word, with all options before the `--`",
    ),
    Rule(
        "url-without-encoding",
        _NOTE,
        "a text inside a URL without `URL:`",
        "a blank, `&`, `?` or `/` in the value breaks the address or changes its meaning",
        "write `{URL:NAME}`, which percent-encodes the value",
    ),
    Rule(
        "missing-description",
        _NOTE,
        "a tool or a parameter without `description`",
        "a model chooses tools and fills in parameters by their descriptions",
        "say in one sentence what it does or means",
    ),
    Rule(
        "no-security-tag",
        _NOTE,
        "a tool without the tag `read`, `write` or `run`",
        "it is treated as `run`, so that agents have to ask before every call",
        "add the tag that says how much it does: `tags: [read]`",
    ),
    Rule(
        "shadowed-tool",
        _NOTE,
        "a tool that a nearer scope hides",
        "the short name reaches the other one: local comes before user, user before global",
        "rename one of them if both are meant to be used",
    ),
)

RULES = {rule.name: rule for rule in (*_TABLE, *SHAPE_RULES)}


def why(rule: str) -> str:
    """Why a finding of this rule matters; empty for a rule that only a loader knows."""
    return RULES[rule].why if rule in RULES else ""


__all__ = ["RULES", "Rule", "why"]
