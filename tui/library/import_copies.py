"""Find imported results that are copies: of results in other runs, or in another format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from tui.judge.copies import Fingerprint, copied, fingerprint, of_operations, pairs
from tui.model.event import Contradiction
from tui.model.record import CopyRecord
from tui.workloads.base import ImportedOutput, KeptFile, KeptRun

NAMED = 8  # files named


def _fingerprint(host: str, output: ImportedOutput) -> Fingerprint | None:
    if output.metadata is not None:
        return of_operations(host, output.metadata)
    return fingerprint(host, output.result.dirs)


def copies_of(runs: Sequence[KeptRun]) -> list[list[CopyRecord]]:
    """Return, for each run, the results that are copies of one in another run."""
    copies: list[list[CopyRecord]] = [[] for _ in runs]
    found = [
        (at, step, each)
        for at, run in enumerate(runs)
        for step, measured in enumerate(run.measurements)
        for host, output in measured.items()
        if (each := _fingerprint(host, output)) is not None
    ]
    for places in pairs([each for _, _, each in found]) if len(runs) > 1 else ():
        one, other = (found[place] for place in places)
        copy = copied(one[2], other[2]) if one[0] != other[0] else None
        if copy is None:
            continue
        turned = 1 / copy.factor if copy.factor else None
        for (at, step, own), (of, *_), factor in (
            (one, other, copy.factor),
            (other, one, turned),
        ):
            names = ", ".join(PurePosixPath(file.name).name for file in runs[of].files[:NAMED])
            copies[at].append(
                CopyRecord(
                    host=own.name,
                    step=step,
                    of=names,
                    equal=copy.equal,
                    counts=copy.counts,
                    expected=round(copy.expected, 1),
                    factor=factor,
                    figures=copy.figures,
                )
            )
    return copies


Found = tuple[KeptFile, list[ImportedOutput]]


def without_copies(found: Sequence[Found]) -> list[Found]:
    """Return the files, leaving out those with the same measurements in another format.

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
