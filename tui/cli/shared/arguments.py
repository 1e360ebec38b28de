"""Command lines: the list of verbs, their parsers, usage errors, filtered output."""

from __future__ import annotations

import argparse
import codecs
import io
import os
import re
import sys
from collections.abc import Callable, Container, Iterable
from typing import Any, NoReturn, Protocol

from tui.model.plain import printable
from tui.model.problem import did_you_mean

VERBS: dict[str, str] = {
    "run": "run a profile on hosts and keep the result",
    "capacity": "find the highest load within limits",
    "attach": "watch a live run, or replay a finished one",
    "stop": "finish a run now and keep what was measured",
    "clean": "remove a run's files from its hosts",
    "profiles": "list, show, check and edit benchmark profiles",
    "hosts": "list, check, trust and add hosts",
    "runs": "list, show and annotate saved runs",
    "compare": "compare runs: what changed, with confidence intervals",
    "ab": "A/B-test two settings, interleaved, until decided",
    "noise": "measure a profile's run-to-run noise, for compare",
    "trend": "show a profile's history, and where its figures changed",
    "export": "write a saved run in a format that other tools read",
    "import": "check and save the output of a load generator that ran elsewhere",
    "report": "write a report of runs: HTML, or Markdown for a ticket",
    "baselines": "list published results, or compare a run with them",
    "findings": "list every check and what its finding means",
    "schema": "print the JSON Schema of profile, inventory or run",
    "config": "show or change settings such as theme, hosts and tags",
    "completion": "print a completion script for bash, zsh or fish",
    "man": "show the manual page",
    "doctor": "check this jump host",
    "app": "open the screens (the default without a verb)",
}
HIDDEN = ("engine",)  # not for people


class Arguments(argparse.ArgumentParser):
    """The parser of a verb's arguments.

    Options must be spelled out; an abbreviation is an error that names the option.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **more})

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> Any:
        """Parse as argparse does, but report unknown options before missing arguments."""
        words = sys.argv[1:] if args is None else list(args)
        for word in self._own(words):
            self._check_option(word)
        found, rest = super().parse_known_args(words, namespace)
        # argparse only takes them in one piece; others may follow options
        if hasattr(found, "terms"):
            found.terms += [word for word in rest if not word.startswith("-")]
            rest = [word for word in rest if word.startswith("-")]
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Print the error and where to find help; exit with 2."""
        verb = self.prog.removeprefix("benchtui").strip()
        self.exit(
            2,
            f"benchtui: {f'{verb}: ' if verb else ''}{printable(message)}; see"
            f" {self.prog} --help\n",
        )

    def _own(self, words: list[str]) -> Iterable[str]:
        """Yield the words that belong to this verb.

        They end at `--` or at a nested verb, whose own parser checks the rest.
        """
        verbs = [each for each in self._actions if isinstance(each, argparse._SubParsersAction)]
        below = {name for each in verbs for name in each.choices}
        for word in words:
            if word == "--" or word in below:
                return
            yield word

    def _check_option(self, word: str) -> None:
        """Exit with an error if a word looks like an option but is unknown."""
        name = word.partition("=")[0]
        known = self._option_string_actions
        if name.startswith("--"):
            if " " not in word and name not in known:
                self.error(f"unknown option {name}{did_you_mean(name, known)}")
        elif len(name) > 2 and f"-{name}" in known:
            self.error(f"unknown option {name}{did_you_mean(name, [f'-{name}'])}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(each) for each in action.choices]
            what = f"'{value}'{did_you_mean(str(value), known)}"
            raise argparse.ArgumentError(
                action, f"invalid choice: {what}; choose from {', '.join(known)}"
            )

    # argparse ignores a full disk
    def _print_message(self, message: str, file: Any = None) -> None:
        (file or sys.stderr).write(message)


ABOUT = "Run storage benchmarks on many hosts over SSH from one terminal, and keep every run."


class VerbModule(Protocol):
    """The interface of a verb's module."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the verb's arguments."""

    def main(self, args: argparse.Namespace) -> int:
        """Run the verb and return the exit code."""


Load = Callable[[str], VerbModule]
"""Imports the module of a verb, by the verb's name; parsers know names only."""


EXAMPLE = "benchtui run 4k random read /mnt/x --hosts 'h[1-4]'"


def parser_with(
    load: Load, wanted: Container[str], *, screens: bool = False
) -> argparse.ArgumentParser:
    """Return a parser of all verbs; only the wanted verbs have their arguments.

    The modules of the other verbs are not loaded. `screens`: also accept the options of the
    screens, which open without a verb.
    """
    parser = Arguments(prog="benchtui", description=ABOUT, epilog=f"example: {EXAMPLE}")
    verbs = parser.add_subparsers(dest="verb_of_line", metavar="VERB")
    for name, text in VERBS.items():
        below = verbs.add_parser(name, help=text, description=text)
        if name in wanted:
            load(name).configure(below)
    if screens:
        load("app").configure(parser)
    return parser


def verbs_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the nested parsers of a parser by name, aliases left out; empty if there are none."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                if below not in found.values():
                    found[name] = below
    return found


WIDEST = 400  # columns that a chart takes: COLUMNS may say anything, and each column costs memory
CONTROLS = re.compile(
    r"\r\x1b\[K|\x1b\[[0-9;]*m"  # ours: the line of progress and colours
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
SAFE = bytes((*b"\t\n", *range(32, 127)))


class PlainOutput:
    """A text stream that replaces terminal control characters with spaces.

    Text from files is already printable; this covers paths and typed words.
    """

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; colours are kept."""
        if not is_plain(text):
            text = CONTROLS.sub(lambda found: " " if len(found[0]) == 1 else found[0], text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the underlying stream."""
        return getattr(self._stream, name)


def is_plain(text: str) -> bool:
    """Return whether a text has no control characters.

    Fast enough for documents of many MB.
    """
    if text.isascii():
        return not text.encode().translate(None, SAFE)
    return text.replace("\n", "").replace("\t", "").isprintable()


def guard() -> None:
    """Print to stdout and stderr through `PlainOutput` from now on.

    Characters that the encoding cannot represent become `?`: no file name stops a verb. The screens
    are drawn on `sys.__stderr__`, which is not filtered.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            if stream.errors == "strict" or not is_utf8(stream):
                stream.reconfigure(errors="replace")
            setattr(sys, name, PlainOutput(stream))


def is_utf8(stream: io.TextIOWrapper) -> bool:
    """Return whether a stream can print every character; other encodings may refuse some."""
    return codecs.lookup(stream.encoding).name == "utf-8"


def wants_colour() -> bool:
    """Return whether standard output is a terminal with colours that the user has not disabled."""
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") != "dumb"
    )


def columns() -> int:
    """Return the width of the terminal in columns, 80 without a terminal."""
    import shutil

    return min(shutil.get_terminal_size((80, 24)).columns, WIDEST)


def text_width() -> int | None:
    """Return the maximum width of text on standard output; None (unlimited) for pipes.

    On a terminal it is the terminal's width, but at least 80.
    """
    return max(80, columns()) if sys.stdout.isatty() else None
