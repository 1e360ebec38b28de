"""Finding published figures on disk: those that ship with benchtui, and the user's own."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tui.model.bounded import read_text
from tui.model.paths import presets_dir
from tui.model.problem import Problem, UsageError, unreadable

if TYPE_CHECKING:
    from tui.model.baseline import Baseline

SUFFIXES = (".yaml", ".yml")


class BaselineFiles(Struct, frozen=True):
    """Baselines with what is wrong in files that could not be read; such a file hides nothing else."""

    baselines: tuple[Baseline, ...]
    problems: tuple[Problem, ...]

    def of(self, tags: Collection[str]) -> list[Baseline]:
        """Return the baselines of these profiles, variants included."""
        return [each for each in self.baselines if each.profile in tags or any(tag in tags for tag in each.variants)]


def find_baselines(user_dir: Path | None, tags: Collection[str] | None = None) -> BaselineFiles:
    """Return all baselines, shipped ones first; with `tags` only files that name one of these are parsed."""
    found: list[Baseline] = []
    problems: list[Problem] = []
    for path in _files(user_dir):
        try:
            text = baseline_text(path)
            if tags is None or any(tag in text for tag in tags):
                found += _parsed(text, str(path))
        except UsageError as error:
            problems += error.problems
    return BaselineFiles(tuple(found), tuple(problems))


def baseline_text(path: Path, *, pipes: bool = False) -> str:
    """Return the text of a file; `pipes`: a person named it. Raises UsageError."""
    try:
        return read_text(path, encoding="utf-8-sig", pipes=pipes)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error


@functools.lru_cache(maxsize=64)
def _parsed(text: str, file: str) -> tuple[Baseline, ...]:
    from tui.model.baseline import load_baselines

    return tuple(load_baselines(text, file))


def _files(user_dir: Path | None) -> Iterator[Path]:
    for folder in filter(None, (presets_dir() / "baselines", user_dir)):
        yield from sorted(path for path in folder.glob("*") if path.suffix in SUFFIXES)
