"""The rules for manifests, executables and config files; `rules` puts all of them together."""

from __future__ import annotations

from tongs.authoring.lint.rule import Rule
from tongs.core.errors import Severity

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

SHAPE_RULES = (
    Rule(
        "unknown-name",
        _ERROR,
        "`${x}` in a manifest that is no input, no declared secret and not `tool_dir`",
        "nobody would ever give it a value",
        "declare it, or write `$${x}` for the text itself",
    ),
    Rule(
        "missing-file",
        _ERROR,
        "an entrypoint or a module that is not there",
        "the tool would fail every time",
        "correct the path: it starts at the project root, in user and global scope at the tool's"
        " directory",
    ),
    Rule(
        "not-executable",
        _ERROR,
        "an entrypoint without the executable bit",
        "the system refuses to start it",
        "chmod +x it, which `tongs lint --fix` does where it has a `#!` line",
    ),
    Rule(
        "bundle",
        _ERROR,
        "a tool directory that is too large, or has parts that cannot be read",
        "trust covers every file of the directory, so all of them are read and kept",
        "keep data and packages out of the directory of a tool",
    ),
    Rule(
        "description",
        _ERROR,
        "an executable that does not answer `description`, or with something else, or a Python"
        " file that does not say which tools it has",
        "without it nobody knows what the tool is called and what it takes",
        "change what is named; for an executable, run `FILE description` and compare with"
        " `tongs schema description`",
    ),
    Rule(
        "not-applied",
        _ERROR,
        "a wall in a config file that this version cannot build",
        "to run without a wall that somebody asked for would be weaker than they think",
        "remove it, or use what the message names instead",
    ),
    Rule(
        "config-ignored",
        _WARNING,
        "a setting of a project's config.yml that has no effect",
        "a project may only tighten what its user allows, until the user accepts its file",
        "read the file, then `tongs trust` it, or set it in your own config.yml",
    ),
    Rule(
        "rule",
        _ERROR,
        "a rule of a config file that cannot be used",
        "a rule that says nothing would be a wall that is not there",
        "`tongs schema config` shows what a rule can say",
    ),
    Rule(
        "rule-example",
        _ERROR,
        "a rule that does not match its own example, or one that it should leave alone",
        "the rule does not do what its author thinks; in a file that is trusted no call runs then",
        "mend the rule or the example; `tongs rules explain COMMAND` tells what a rule sees",
    ),
    Rule(
        "slow-pattern",
        _WARNING,
        "a pattern of a rule whose time grows beyond all bounds with the text",
        "one text can keep Tongs busy for years; in a file that nobody trusts the rule only asks",
        "repeat no group that itself repeats or chooses: `(a+)+` is `a+`, `(a|b)*` is `[ab]*`",
    ),
    Rule(
        "secret-in-args",
        _WARNING,
        "a secret in the `args` of a command",
        "the arguments of a process can be read by every user of the machine",
        "drop it: the program finds the secret in its environment, under its name",
    ),
    Rule(
        "unused-input",
        _WARNING,
        "an input of a manifest that no `${x}` uses",
        "a caller fills it in and nothing changes",
        "use `${NAME}` in `exec`, or remove the input",
    ),
    Rule(
        "unused-secret",
        _WARNING,
        "a declared secret that nothing uses",
        "every run asks for it, and whatever the tool does could give it away",
        "use `${NAME}` in `exec`, or remove the secret",
    ),
    Rule(
        "secrets-without-approval",
        _WARNING,
        "a tool with secrets and network that asks nobody",
        "whoever can call it can spend the secret",
        "write `approval: {required: true, reason: …}`, or tag the tool `read` if any caller may",
    ),
    Rule(
        "example-params",
        _WARNING,
        "an example whose `params` the tool itself would refuse",
        "models are shown the examples and do as they say",
        "mend the example, or the schema",
    ),
    Rule(
        "example-output",
        _WARNING,
        "an `expected_output` that the tool can never give",
        "models are shown it, and `tongs tool test` compares with it",
        'write JSON, with "..." for what may differ',
    ),
    Rule(
        "missing-venv",
        _WARNING,
        "a virtual environment that is not there",
        "the function cannot be called without its interpreter",
        "make it with `python -m venv`, or correct the path",
    ),
    Rule(
        "missing-function",
        _WARNING,
        "a function that its module does not define",
        "the call would fail every time",
        "correct `function`, or define it at the top of the module",
    ),
    Rule(
        "missing-requirement",
        _WARNING,
        "something in `requires` that this machine does not have",
        "no call of the tool is run here before it is installed",
        "install what is named, or correct `requires`",
    ),
    Rule(
        "no-interpreter-line",
        _WARNING,
        "an executable text that does not start with `#!`",
        "the system does not know which program reads it",
        "start it with a line such as `#!/usr/bin/env python3`",
    ),
    Rule(
        "no-executable-bit",
        _WARNING,
        "a file with a `#!` line in a tool folder that is not executable",
        "it is no tool, and no list mentions it",
        "chmod +x it, which `tongs lint --fix` does, or move it elsewhere",
    ),
    Rule(
        "name-differs",
        _WARNING,
        "an executable that calls itself by another name than its file has",
        "people look for a tool under the name of its file",
        "rename the file, or print the file's name in `description`",
    ),
    Rule(
        "not-asked",
        _NOTE,
        "an executable or a Python file that is not trusted, and so was not looked into",
        "only it can say what it is, and to ask it is to run its code",
        "read it, then `tongs trust` it, and lint again",
    ),
    Rule(
        "wide-write",
        _NOTE,
        "`fs.write` that covers the whole project or more",
        "a tool that goes wrong can change everything it may write; beyond the project this is a"
        " warning",
        "name the folders it writes to",
    ),
    Rule(
        "wide-network",
        _NOTE,
        "`network: true` in a manifest of kind http",
        "its one host stands in the manifest, so it needs no other",
        "list that host: `network: [HOST]`",
    ),
    Rule(
        "open-inputs",
        _NOTE,
        "a manifest whose inputs do not say `additionalProperties`",
        "a misspelt input is then ignored, and its default used instead",
        "write `additionalProperties: false` beside `properties`",
    ),
    Rule(
        "no-examples",
        _NOTE,
        "a manifest without `examples`",
        "models learn from them how to call the tool, and `tongs tool test` runs them",
        "add one with `params` and `expected_output`",
    ),
)
