"""The looks of an experiment, each kept with the run that it came after: what they have spent stays spent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field

from tui.journal.rundir import write_atomic
from tui.model.bounded import MOST_SMALL_BYTES, read_file
from tui.model.no_json import NO_JSON
from tui.model.plain_data import PlainDecoder
from tui.model.problem import NotComparableError, Problem
from tui.model.rundir import LOOKS_FILE
from tui.results.compare.sequential import Look, Made

LOOK_SCHEMA = "benchtui.looks/1"


class KeptLook(Struct, frozen=True):
    """A look, and the runs of both sides that it was at, in their order."""

    look: Look
    a: list[str]
    b: list[str]


class _File(Struct):
    schema: str = LOOK_SCHEMA
    looks: list[KeptLook] = field(default_factory=list)


_decoder = PlainDecoder(_File)


def keep_looks(looks: Iterable[Look], a: Sequence[str], b: Sequence[str], runs_dir: Path) -> list[KeptLook]:
    """Keep looks at the runs of two sides, given by their ids in order, and return what is kept.

    Raises NotComparableError.
    """
    found = [KeptLook(look, list(a[: look.runs // 2]), list(b[: look.runs // 2])) for look in looks]
    for each in found:
        run_dir = runs_dir / max(each.a + each.b)
        text = msgspec.json.format(msgspec.json.encode(_File(looks=[*looks_after(run_dir), each])))
        try:
            write_atomic(run_dir / LOOKS_FILE, text + b"\n")
        except OSError as error:
            told = Problem(f"cannot be written: {error.strerror}", file=str(run_dir / LOOKS_FILE))
            raise NotComparableError(told) from error
    return found


def looks_after(run_dir: Path) -> list[KeptLook]:
    """Return the looks that were kept with a run. Raises NotComparableError for what cannot be read."""
    path = run_dir / LOOKS_FILE
    try:
        return _decoder.decode(read_file(path, MOST_SMALL_BYTES)).looks
    except FileNotFoundError:
        return []
    except (OSError, *NO_JSON) as error:
        raise NotComparableError(Problem(f"cannot be read: {error}", file=str(path))) from error


def made_at(kept: Iterable[KeptLook], a: Sequence[str], b: Sequence[str]) -> Made:
    """Return what looks are worth at these runs: of one at others nothing is left but what it has spent."""
    looks, lost = list[Look](), 0.0
    for each in kept:
        if each.a == list(a[: len(each.a)]) and each.b == list(b[: len(each.b)]):
            looks.append(each.look)
        else:
            lost += each.look.alpha
    return Made(looks, lost)
