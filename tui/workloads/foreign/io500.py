"""IO500: what it prints of each phase (its result_summary.txt): bandwidths of IOR, rates of mdtest and of find.

A phase that IO500 calls INVALID is an error with its reasons. The score is not kept, but must be that of the phases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import geometric_mean

from msgspec.structs import replace

from tui.model.event import DirectionResult, HostResult, MetadataResult, OperationResult
from tui.workloads.base import Format, ImportedOutput
from tui.workloads.reading import clean, numbered

TITLE = re.compile(r"^IO500 version (?P<version>\S+)")
PHASE = re.compile(
    r"^\[(?P<scored>RESULT| +)\] +(?P<name>[\w-]+) +(?P<value>\d[\d.]*) (?P<unit>GiB/s|kIOPS)"
    r" : time (?P<seconds>\d[\d.]*) seconds(?P<invalid> *\[INVALID\])?"
)
SCORE = re.compile(r"^\[SCORE \] Bandwidth (?P<bandwidth>\d[\d.]*) GiB/s : IOPS (?P<rate>\d[\d.]*) kiops")
REASON = re.compile(r"^ERROR INVALID (?:\([^()]*\) )?(?P<why>.+)$")
OPERATIONS = {"write": "create", "stat": "stat", "read": "read", "delete": "remove", "find": "find"}
ROUNDED = ("ios", "bytes", "iops", "lat")
ALL_HOSTS = "all-hosts"
GIB = 1 << 30
MOST_REASONS = 3
OFF = 1e-3  # of a mean of figures with six digits


@dataclass
class KeptIo500:
    """One IO500 as its text goes on: its version, its phases, and why the phase to come is invalid."""

    version: str
    phases: list[ImportedOutput] = field(default_factory=list)
    scored: dict[str, list[float]] = field(default_factory=dict)  # figures of scored phases by unit
    reasons: list[str] = field(default_factory=list)

    def take(self, line: str) -> None:
        """Take a line behind the title."""
        if match := REASON.match(line):
            self.reasons.append(match["why"])
        elif match := PHASE.match(line):
            if (value := float(match["value"])) > 0:  # the phase `timestamp` measures nothing
                self.phases.append(self._phase(match))
                if match["scored"] == "RESULT":
                    self.scored.setdefault(match["unit"], []).append(value)
            self.reasons = []
        elif (match := SCORE.match(line)) and self.phases:
            wrong = list(self._wrong_means(float(match["bandwidth"]), float(match["rate"])))
            self.phases[-1] = replace(self.phases[-1], problems=[*self.phases[-1].problems, *wrong])

    def _wrong_means(self, bandwidth: float, rate: float) -> Iterator[tuple[str, str]]:
        """Yield where the score has another mean than its phases: some of them are missing, or were changed."""
        for unit, said in (("GiB/s", bandwidth), ("kIOPS", rate)):
            own = geometric_mean(self.scored[unit]) if unit in self.scored else 0.0
            if abs(own - said) > OFF * said:
                yield "io500-score", f"the score is made of {said:.6g} {unit}; its phases have {own:.6g} in the mean"

    def _phase(self, match: re.Match[str]) -> ImportedOutput:
        name, value, seconds = match["name"], float(match["value"]), float(match["seconds"])
        why = "; ".join(self.reasons[:MOST_REASONS])
        said = f"INVALID by IO500: {why}" if why else "INVALID by IO500"
        problems = [("io500-invalid", said)] if match["invalid"] else []
        result = HostResult(t=0.0, host="", step=0, dirs={}, tool_version=self.version, final=not problems)
        metadata, kind = None, name.rpartition("-")[2]
        if match["unit"] == "GiB/s":
            moved = value * GIB
            part = DirectionResult(0, round(moved * seconds), seconds, 0.0, moved, rounded=list(ROUNDED))
            result.dirs = {"read" if kind == "read" else "write": part}
        else:
            each = OperationResult(mean=value * 1000, iterations=[value * 1000], seconds=[seconds])
            metadata = MetadataResult(
                t=0.0,
                step=0,
                tool=FORMAT.name,
                version=self.version,
                tasks=0,
                nodes=0,
                items=0,
                iterations=1,
                operations={OPERATIONS.get(kind, name): each},
                final=not problems,
            )
        return ImportedOutput(0, name, result, ALL_HOSTS, metadata=metadata, problems=problems)


class Io500(Format):
    """Results of IO500."""

    name = "io500"

    def import_output(self, text: str, file: str) -> Sequence[ImportedOutput]:
        """Return the phases that it printed, each as a measurement of all hosts together."""
        found: list[KeptIo500] = []
        for _, raw in numbered(text, file):
            line = clean(raw.encode(), 1 << 12)
            if match := TITLE.match(line):
                found.append(KeptIo500(match["version"].removeprefix("io500-")))
            elif found:
                found[-1].take(line)
        phases = [phase for each in found for phase in each.phases]
        return [_at(place, phase) for place, phase in enumerate(phases)]


def _at(place: int, phase: ImportedOutput) -> ImportedOutput:
    phase.result.step = place
    return replace(phase, place=place)


FORMAT = Io500()
