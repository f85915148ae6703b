"""`tongs` and `python -m tongs`. The version is answered before anything else is imported."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

import sys


def main() -> int:
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from tongs._version import __version__

        try:
            print(f"tongs {__version__}", flush=True)
            return _leave(0)
        except OSError:
            pass  # the slow way says what is wrong with the output
    import gc

    # Start-up makes many objects and no garbage; the usual threshold would look for some each time.
    gc.set_threshold(20_000, 10, 10)
    from tongs.surfaces.cli.main import main as command_line

    return _leave(command_line(arguments))


def _leave(code: int) -> int:
    """End the process at once, with the streams flushed already, unless somebody waits for its end.

    The interpreter would first take apart every module, for a tenth of a whole `tool list`.
    """
    import atexit
    import os

    if not atexit._ncallbacks():  # noqa: SLF001 - the only way to ask
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
