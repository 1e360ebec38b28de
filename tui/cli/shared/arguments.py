"""How verbs parse their arguments: what is wrong with them is one line, as every other error is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from tui.model.plain import printable
from tui.model.problem import did_you_mean


class Arguments(argparse.ArgumentParser):
    """The arguments of a verb. Options are written in full: an abbreviation is an error that names the option."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **more})

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> Any:
        """Parse as argparse does; an unknown option is named before anything that is missing because of it."""
        words = sys.argv[1:] if args is None else list(args)
        for word in self._own(words):
            self._check_option(word)
        return super().parse_known_args(words, namespace)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and end with 2."""
        verb = self.prog.removeprefix("benchtui").strip()
        self.exit(2, f"benchtui: {f'{verb}: ' if verb else ''}{printable(message)}; see {self.prog} --help\n")

    def _own(self, words: list[str]) -> Iterable[str]:
        """Yield the words up to `--` or to the verb below, whose own parser checks the rest."""
        verbs = [each for each in self._actions if isinstance(each, argparse._SubParsersAction)]
        below = {name for each in verbs for name in each.choices}
        for word in words:
            if word == "--" or word in below:
                return
            yield word

    def _check_option(self, word: str) -> None:
        """End with an error for a word that argparse would take as an option which there is not."""
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
            raise argparse.ArgumentError(action, f"invalid choice: {what}; choose from {', '.join(known)}")

    def _print_message(self, message: str, file: Any = None) -> None:  # argparse says nothing of a full disk
        (file or sys.stderr).write(message)
