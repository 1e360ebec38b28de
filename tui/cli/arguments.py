"""How verbs parse their arguments: what is wrong with them is one line, as every other error is."""

from __future__ import annotations

import argparse
import sys
from typing import Any, NoReturn


class Arguments(argparse.ArgumentParser):
    """The arguments of a verb."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and end with 2."""
        verb = self.prog.removeprefix("benchtui").strip()
        self.exit(2, f"benchtui: {f'{verb}: ' if verb else ''}{message}; see {self.prog} --help\n")

    def _print_message(self, message: str, file: Any = None) -> None:  # argparse says nothing of a full disk
        (file or sys.stderr).write(message)
