"""The command line: parse, call the runtime, render. No logic of its own.

One module per command, each with two functions:

    options(parser)     adds the command's own options
    run(invocation)     does it and returns the exit code

`commands` is the table of them, `main` the way in; `help/` holds one page of text per command.
"""
