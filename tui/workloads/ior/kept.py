"""Import saved IOR output: tables, also within other text, and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tui.model.event import MetadataResult
from tui.model.operands import Told, clause
from tui.model.problem import Problem, UsageError
from tui.model.quantities import parse_stamp
from tui.workloads.base import ImportedOutput
from tui.workloads.ior.contradictions import IorReport, contradictions
from tui.workloads.ior.details import FAKED, IorFigures
from tui.workloads.ior.output import MIB, AccessFigures, IorOutput
from tui.workloads.ior.program import RULES
from tui.workloads.messages import Explainer, explainer
from tui.workloads.mpi import RANK_PREFIX
from tui.workloads.mpi_kept import kept_result, load_options, with_results
from tui.workloads.reading import budget, clean, numbered, version_numbers

NOT_OF_THE_LOAD = frozenset("hlOov")  # file, verbosity, form of the output

TITLE = re.compile(r"^IOR-\S+: MPI Coordinated Test of Parallel I/O")
STAMP = re.compile(r"^(?P<what>Began|Finished) +: (?P<stamp>.+)$")

# first characters of lines of IOR's JSON; other ranks may have printed lines in between
OF_JSON = tuple('{}[],"')
VERSION = re.compile(r'\{\s*"Version"\s*:')
STAMP_ERROR_S = 1.0


@dataclass
class KeptIor(IorReport):
    """Parses the output of one IOR run, line by line."""

    explainer: Explainer = field(default_factory=lambda: explainer(RULES[0]))
    line: int = 1  # where it begins

    @property
    def problems(self) -> list[tuple[str, Told]]:
        """Reasons to reject the figures, as (code, message): IOR errors, a missing summary."""
        found = list(self.explainer.codes.items())
        if not self.output.finished or any(
            each.summary is None for each in self.output.figures.values()
        ):
            told = clause("no-summary", iteration=self.output.iteration)
            found.append(("ior-incomplete", told))
        return found


def import_output(text: str, file: str) -> Sequence[ImportedOutput]:
    """Return the IOR outputs in a text that have figures, in order.

    Raises UsageError if IOR ran, but no output has figures, and for JSON that cannot be read.
    """
    read = _documents if VERSION.search(text) else _tables
    found = with_results(read(text, file), "IOR printed no results", file, "ior")
    return [_imported(place, kept) for place, kept in enumerate(found)]


def _tables(text: str, file: str) -> Iterator[KeptIor]:
    """Yield each human-readable IOR output, which begins with IOR's title."""
    now: KeptIor | None = None
    for number, raw in numbered(text, file):
        line = RANK_PREFIX.sub("", clean(raw.encode(), 1 << 14))
        if TITLE.match(line):
            if now is not None:
                yield now
            now = KeptIor(line=number)
        if now is None or now.output.finished:
            continue
        if match := STAMP.match(line):
            stamp = parse_stamp(match["stamp"])
            now.start_s, now.end_s = (
                (stamp, now.end_s) if match["what"] == "Began" else (now.start_s, stamp)
            )
        if now.output.line(line) is None and line:
            now.explainer.explain(line)
        now.details.line(line)
        if line.startswith("Command line"):
            now.details.command(now.output.command, version_numbers(now.output.version))
    if now is not None:
        yield now


def _documents(text: str, file: str) -> Iterator[KeptIor]:
    """Yield each test in IOR's JSON documents.

    Raises UsageError for a document that cannot be read.
    """
    messages, faked = explainer(RULES[0]), False
    lines = []
    for _, raw in numbered(text, file):
        if raw.lstrip().startswith(OF_JSON):
            lines.append(raw)
        elif line := clean(raw.encode(), 1 << 14):
            faked = faked or line.startswith(FAKED)
            messages.explain(line)
    kept, decoder, at = "\n".join(lines), json.JSONDecoder(), 0
    budget().check_json(kept, file)
    while match := VERSION.search(kept, at):
        try:
            document, at = decoder.raw_decode(kept, match.start())
            for each in _tests(document, messages):
                each.details.faked = faked
                yield each
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            why = f"missing key {error}" if isinstance(error, KeyError) else str(error)
            raise UsageError(Problem(f"cannot read IOR's JSON: {why}", file=file)) from None


def _tests(document: Mapping[str, Any], messages: Explainer) -> Iterator[KeptIor]:
    for test in document["tests"]:
        known, options = test["Parameters"], test["Options"]
        output = IorOutput(
            iterations=_count(known["repetitions"]),
            version=clean(str(document["Version"]).encode(), 99),
            tasks=_count(options["tasks"]),
            nodes=_count(known["nodes"]),
            per_node=_count(known["tasksPerNode"]),
            segments=_count(known["segmentCount"]),
            transfer=_count(known["transferSize"]),
            block=_count(known["blockSize"]),
            stonewall_s=_count(known.get("deadlineForStonewall", 0)),
            command=clean(str(document.get("Command line", "")).encode()),
            finished="Finished" in document,
        )
        details = IorFigures()
        details.command(output.command, version_numbers(output.version))
        for row in _flat(test.get("Results", [])):
            _add_row(output, row)
            details.add_json_row(row)
        summary = [row for row in document.get("summary", []) if row["TestID"] == test["TestID"]]
        for row in summary:
            _add_summary(output, row)
        details.add_json(test, {row["operation"]: row for row in summary}, test.get("max"))
        began, finished = (
            parse_stamp(str(document.get(name, ""))) for name in ("Began", "Finished")
        )
        yield KeptIor(output, details, began, finished, messages)


def _flat(rows: Any) -> Iterator[Mapping[str, Any]]:
    for row in rows:
        if isinstance(row, list):
            yield from _flat(row)
        else:
            yield row


def _add_row(output: IorOutput, row: Mapping[str, Any]) -> None:
    if row["access"] not in ("write", "read"):
        return
    known = output.figures.setdefault(row["access"], AccessFigures())
    known.rates.append(_figure(row["bwMiB"]) * MIB / max(output.transfer, 1))
    known.seconds.append(_figure(row["totalTime"]))
    output.iteration = len(known.rates)


def _add_summary(output: IorOutput, row: Mapping[str, Any]) -> None:
    known = output.figures.setdefault(row["operation"], AccessFigures())
    high, low, mean, deviation = (
        _figure(row[f"OPs{name}"]) for name in ("Max", "Min", "Mean", "SD")
    )
    known.summary, known.moved_bytes = (high, low, mean, deviation), _figure(row["xsizeMiB"]) * MIB


def _count(value: Any) -> int:
    number = int(value)
    if not 0 <= number < 1 << 62:
        raise ValueError(f"found {number}, expected a count of 0 or more")
    return number


def _figure(value: Any) -> float:
    number = float(value)
    if not 0 <= number < 1e30:  # an infinite one is written as text
        raise ValueError(f"found {value}, expected a finite number, 0 or more")
    return number


def _imported(place: int, kept: KeptIor) -> ImportedOutput:
    output = kept.output
    result = kept_result(place, kept, contradictions(kept))
    metadata = MetadataResult(
        t=0.0,
        step=place,
        tool="ior",
        version=output.version,
        tasks=output.tasks,
        nodes=output.nodes,
        items=output.block // output.transfer * output.segments
        if output.transfer and not output.stonewall_s
        else 0,
        iterations=output.iterations,
        operations=output.results(),
        ranks_per_node=output.per_node,
        final=result.final,
    )
    return ImportedOutput(
        place,
        "ior",
        result,
        command=output.command,
        stamp_error_s=STAMP_ERROR_S,
        metadata=metadata,
        problems=kept.problems,
        options=None
        if "f" in kept.details.given  # the settings are in a file
        else load_options(kept.details.given, NOT_OF_THE_LOAD),
    )
