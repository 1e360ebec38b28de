"""One parser of the whole command line, for those who look at all of it: completion, the man page, the reference."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Container
from typing import Protocol

from tui.cli.shared.arguments import Arguments
from tui.cli.shared.verbs import VERBS

ABOUT = "Storage benchmarks on many hosts from one terminal, over SSH, every run kept."


class VerbModule(Protocol):
    """What each verb's module offers."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the verb's arguments."""

    def main(self, args: argparse.Namespace) -> int:
        """Do it and return the exit code."""


Load = Callable[[str], VerbModule]
"""Imports the module of a verb: parsers know names alone."""


def parser_with(load: Load, wanted: Container[str], *, screens: bool = False) -> argparse.ArgumentParser:
    """Return a parser of all verbs, of which the wanted ones know their arguments: others need not be loaded.

    `screens`: it takes the options of the screens too, as a command line without a verb does.
    """
    parser = Arguments(prog="benchtui", description=ABOUT)
    verbs = parser.add_subparsers(dest="verb_of_line", metavar="VERB")
    for name, text in VERBS.items():
        below = verbs.add_parser(name, help=text, description=text)
        if name in wanted:
            load(name).configure(below)
    if screens:
        load("app").configure(parser)
    return parser


def verbs_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers below one, by name, each once; empty when there are none."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                if below not in found.values():
                    found[name] = below
    return found
