"""Runs as people type them: one, or several that are joined by commas as repetitions of one side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.cli.shared.common import RUN_HELP
from tui.model.paths import is_folder
from tui.model.problem import UsageError

if TYPE_CHECKING:
    from tui.results.store.runs import RunStore

SIDE_HELP = f"{RUN_HELP}; RUN,RUN,...: repetitions of one side"
ACROSS_HELP = "a parameter that is meant to differ; hosts: their number"


def side_of(store: RunStore, text: str) -> list[Path]:
    """Return the directories of one side. Raises UsageError for names of no run, and for a run that is named twice."""
    refs = [text] if "," in text and is_folder(Path(text)) else text.split(",")
    directories = [store.resolve(ref) for ref in refs if ref]
    if not directories:
        raise UsageError(f"'{text}' names no run")
    if len(set(directories)) < len(directories):
        raise UsageError(f"'{text}' names a run twice: a repetition is a run of its own")
    return directories


def sides_of(store: RunStore, texts: Sequence[str]) -> list[list[Path]]:
    """Return the directories of each side. Raises UsageError for a run that is on two of them."""
    sides = [side_of(store, text) for text in texts]
    known = [directory for side in sides for directory in side]
    if twice := {each.name for each in known if known.count(each) > 1}:
        raise UsageError(f"{', '.join(sorted(twice))} is on two sides: a run does not differ from itself")
    return sides
