"""Entry point of `benchtui`: load the module of a verb, run it, turn errors into exit codes."""

from __future__ import annotations

import argparse
import errno
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType

import tui
from tui.cli.shared.arguments import HIDDEN, VERBS, Arguments, VerbModule, guard
from tui.model.plain import printable
from tui.model.problem import BenchtuiError, did_you_mean
from tui.model.rundir import keep_private

MODULES = {
    "runs": "tui.cli.runs",
    "import": "tui.cli.import_output",
    "app": "tui.cli.open_app",
}  # verbs whose module has a different name
BROKEN_PIPE = 141
INTERRUPTED = 130
NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
STDOUT = 1
# new objects between garbage collections; Python's 700 cause a hundred while modules are loaded
COLLECTED_EVERY = 20_000
SHORT_VERBS_EVERY = 200_000  # most verbs end before the first collection: saves 20 ms of a dry run
LONG_LIVED = ("app", "attach", "engine")


def without_pydantic_plugins() -> None:
    """Keep pydantic from searching every package for plugins.

    The search imports importlib.metadata, and takes a tenth of a dry run.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    loader = ModuleType("pydantic.plugin._loader")
    vars(loader)["get_plugins"] = tuple
    sys.modules.setdefault(loader.__name__, loader)


def entry() -> None:
    """Run the command and exit with its code.

    Exits without a message if the reader of stdout has gone.
    """
    gc.set_threshold(COLLECTED_EVERY if is_long_lived(sys.argv[1:]) else SHORT_VERBS_EVERY)
    keep_private()
    open_closed_streams()
    guard()
    try:
        # the shell asks what may follow: argcomplete answers and ends the process
        if "_ARGCOMPLETE" in os.environ:
            importlib.import_module("tui.cli.completion").complete(verb_module)
        without_pydantic_plugins()
        try:
            code = main(sys.argv[1:])
        except SystemExit as end:  # argparse has printed its message
            code = end.code if isinstance(end.code, int) else 1
        sys.stdout.flush()
    except KeyboardInterrupt:  # while modules are loaded, or the last lines are written
        code = INTERRUPTED
    # unexpected, or on our own output: full disk, reader gone
    except OSError as error:
        if sys.argv[1:] and sys.argv[1] in HIDDEN:
            raise  # the engine logs the traceback
        code = BROKEN_PIPE if isinstance(error, BrokenPipeError) else 1
        if code != BROKEN_PIPE:
            print(f"benchtui: {os_error_text(error)}", file=sys.stderr)
        # the interpreter flushes once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)
    sys.exit(code)


def is_long_lived(argv: Sequence[str]) -> bool:
    """Return whether a command line opens the screens, is `attach`, or is an engine."""
    return not argv or argv[0].startswith("-") or argv[0] in LONG_LIVED


def os_error_text(error: OSError) -> str:
    """Return an OSError as text: the file, and what failed."""
    where = error.filename or ("cannot write the output" if error.errno in NOT_WRITTEN else "")
    what = error.strerror or str(error)
    return printable(f"{where}: {what}" if where and error.strerror else what)


def open_closed_streams() -> None:
    """Open /dev/null in place of a closed stdin, stdout or stderr.

    Otherwise the next file opened would get its descriptor.
    """
    for number, name, mode in ((0, "stdin", "r"), (STDOUT, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115  # as long as the process


def main(argv: Sequence[str]) -> int:
    """Run the command line `argv` (without the program's name) and return the exit code."""
    if argv and argv[0] in ("-h", "--help", "help"):
        print(usage(), end="")
        return 0
    if argv and argv[0] in ("-V", "--version"):
        print(f"benchtui {tui.__version__}")
        return 0
    verb, rest = (argv[0], argv[1:]) if argv and not argv[0].startswith("-") else ("app", argv)
    if verb not in VERBS and verb not in HIDDEN:
        unknown = f"unknown verb '{printable(verb)}'{did_you_mean(verb, VERBS)}"
        print(f"benchtui: {unknown}; see benchtui --help", file=sys.stderr)
        return 2
    return run_verb(verb, rest)


def verb_module(verb: str) -> VerbModule:
    """Import and return the module of a verb."""
    found: VerbModule = importlib.import_module(MODULES.get(verb, f"tui.cli.{verb}"))
    return found


def run_verb(verb: str, rest: Sequence[str]) -> int:
    """Load a verb, parse its arguments, run it.

    Expected errors are printed as one line on stderr and become an exit code.
    """
    prog = "benchtui" if verb == "app" else f"benchtui {verb}"
    try:
        module = verb_module(verb)
        parser = Arguments(prog=prog, description=VERBS.get(verb, ""))
        module.configure(parser)
        args, more = parser.parse_known_args(rest, argparse.Namespace(verb_module=verb_module))
        if more:
            is_late = verb == "app" and more[0] in VERBS
            late = f"the verb must come first: benchtui {more[0]} ..."
            parser.error(late if is_late else f"unrecognized arguments: {' '.join(more)}")
        return module.main(args)
    except BenchtuiError as error:
        for problem in error.problems:
            print(f"benchtui: {problem}", file=sys.stderr)
        return error.exit_code
    except UnicodeEncodeError as error:  # from the command line; no file we write can contain it
        print(f"benchtui: {error.object!r}: not UTF-8 text", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED


def usage() -> str:
    """Return the text of `benchtui --help`."""
    lines = [f"benchtui {tui.__version__}: storage benchmarks on many hosts from one terminal", ""]
    lines += ["usage: benchtui                 open the screens"]
    lines += ["       benchtui VERB [...]      headless; every verb has --help", ""]
    lines += [f"  {verb:<10} {text}" for verb, text in VERBS.items()]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    entry()
