"""Recognise one measurement that was saved in several formats, and compare them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tui.model.event import Contradiction
from tui.workloads.base import ImportedOutput, KeptFile

Found = tuple[KeptFile, list[ImportedOutput]]


def without_copies(found: Sequence[Found]) -> list[Found]:
    """Return the files without those that contain the same measurements in another format.

    The format with the most figures remains; figures that differ become its contradictions.
    """
    ranked = sorted(range(len(found)), key=lambda at: _rank(found[at][1]))
    kept: dict[int, Found] = {}
    for at in ranked:
        file, outputs = found[at]
        twin = next((other for other, each in kept.items() if _contains(each[1], outputs)), None)
        if twin is None:
            kept[at] = (file, outputs)
        else:
            kept[twin] = (kept[twin][0], [_compared(each, outputs) for each in kept[twin][1]])
    return [kept[at] for at in sorted(kept)]


def _rank(outputs: Sequence[ImportedOutput]) -> int:
    return min((each.mark.rank for each in outputs if each.mark is not None), default=0)


def _contains(outputs: Sequence[ImportedOutput], others: Sequence[ImportedOutput]) -> bool:
    """Return whether each of the others is one of these measurements, in another format."""
    return bool(others) and all(any(_is_same(each, other) for each in outputs) for other in others)


def _is_same(one: ImportedOutput, other: ImportedOutput) -> bool:
    mark, its = one.mark, other.mark
    if mark is None or its is None or mark.rank == its.rank or one.tool != other.tool:
        return False
    if mark.moment and its.moment:
        return (mark.phase, mark.moment) == (its.phase, its.moment)
    return (mark.phase, mark.amounts) == (its.phase, its.amounts)


def _compared(output: ImportedOutput, others: Sequence[ImportedOutput]) -> ImportedOutput:
    """Return an output, with contradictions for the figures that differ in another format."""
    mark = output.mark
    for other in others:
        its = other.mark
        if mark is None or its is None or not _is_same(output, other):
            continue
        figures, its_figures = {**mark.amounts, **mark.rates}, {**its.amounts, **its.rates}
        wrong = [
            Contradiction(
                "formats", value, its_figures[name], "", "", (name, mark.format, its.format)
            )
            for name, value in figures.items()
            if its_figures.get(name, value) != value
        ]
        if wrong:
            found = [*(output.result.contradictions or ()), *wrong]
            return replace(output, result=replace(output.result, contradictions=found))
    return output
