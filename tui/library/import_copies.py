"""Find imported results that are copies of results of other runs imported with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from tui.judge.copies import Fingerprint, copied, fingerprint, of_operations, pairs
from tui.model.record import CopyRecord
from tui.workloads.base import ImportedOutput, KeptRun

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
