"""Import saved IO500 output: what it printed, result_summary.txt, or a result directory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import PurePosixPath

from tui.workloads.base import ImportedOutput, KeptFile, KeptRun
from tui.workloads.io500.contradictions import FILES, against_phases, contradictions
from tui.workloads.io500.output import FILES as RANKS
from tui.workloads.io500.output import REASON, TITLE, Io500Output, add_rank_seconds, easy_bytes_of
from tui.workloads.mpi import host_result
from tui.workloads.reading import MOST_CONTRADICTIONS, clean, numbered

SUMMARY, CONFIG, RESULT = "result_summary.txt", "config.ini", "result.txt"
ALL_HOSTS = "all-hosts"
DIGITS = 9
SECTION = re.compile(r"^\[(?P<name>[\w-]+)\]")
PAIR = re.compile(r"^(?P<key>[\w-]+)\s*=\s*(?P<value>.*?)\s*$")
CLOCK = re.compile(r"^; (?P<key>START|END) (?P<value>\d.*)$")


def import_output(text: str, file: str) -> Sequence[ImportedOutput]:
    """Return the IO500 runs with results in a text."""
    return _outputs(text, file, ResultFiles())


def import_tree(files: Sequence[KeptFile]) -> Sequence[KeptRun]:
    """Return one run per IO500 result directory."""
    runs = []
    for summary in (each for each in files if PurePosixPath(each.name).name == SUMMARY):
        folder = PurePosixPath(summary.name).parent
        beside = {
            PurePosixPath(each.name).name: each
            for each in files
            if PurePosixPath(each.name).parent == folder
        }
        read = [
            each for name in (SUMMARY, CONFIG, RESULT) if (each := beside.get(name)) is not None
        ]
        phases = [each for name in (*FILES, *RANKS) if (each := beside.get(name)) is not None]
        found = _result_files(read[1:])
        found.texts = {PurePosixPath(each.name).name: each.text for each in phases}
        read += phases
        if outputs := _outputs(summary.text, summary.place, found):
            runs.append(KeptRun(folder.name, [{each.host: each} for each in outputs], read))
    return runs


def _outputs(text: str, file: str, beside: ResultFiles) -> list[ImportedOutput]:
    found: list[Io500Output] = []
    procs = beside.settings.get("run.procs", "")
    ranks = int(procs) if procs.isdigit() and len(procs) < DIGITS else 0
    for _, raw in numbered(text, file):
        line = clean(raw.encode(), 1 << 12)
        if TITLE.match(line):
            of_run = list(beside.reasons.get("run", ()))
            easy = easy_bytes_of(beside.settings)
            found.append(
                Io500Output(
                    ranks=ranks, easy_bytes=easy, of_run=of_run, phase_reasons=beside.reasons
                )
            )
        if found:
            found[-1].line(line)
    return [
        _imported(place, each, beside)
        for place, each in enumerate(each for each in found if each.results())
    ]


@dataclass
class ResultFiles:
    """What the files next to the summary add to it."""

    # of config.ini and result.txt, as section.key in lower case
    settings: dict[str, str] = field(default_factory=dict)
    result: dict[str, dict[str, str]] = field(default_factory=dict)  # sections of result.txt
    reasons: dict[str, list[str]] = field(default_factory=dict)  # why invalid, by section
    texts: dict[str, str] = field(default_factory=dict)  # outputs of phases by file name


def _result_files(files: Sequence[KeptFile]) -> ResultFiles:
    found = ResultFiles()
    for file in files:
        section = ""
        for _, raw in numbered(file.text, file.place):
            line = clean(raw.encode(), 1 << 12)
            if match := SECTION.match(line):
                section = match["name"]
            elif match := PAIR.match(line) or CLOCK.match(line):
                found.settings[f"{section}.{match['key']}".lower()] = match["value"]
                if PurePosixPath(file.name).name == RESULT:
                    found.result.setdefault(section, {})[match["key"]] = match["value"]
            elif match := REASON.match(line.removeprefix("; ")):
                found.reasons.setdefault(section, []).append(match["why"].strip())
    return found


def _imported(place: int, output: Io500Output, beside: ResultFiles) -> ImportedOutput:
    problems = [] if output.score_text else [("io500-incomplete", "IO500 printed no score")]
    found = chain(
        output.wrong_means(),
        contradictions(output, beside.result),
        against_phases(output, beside.texts, output.ranks),
    )
    output.step = place
    metadata = output.metadata(final=not problems)
    if metadata is not None:
        add_rank_seconds(metadata.operations, beside.texts, output.ranks)
    result = host_result("", place, output.version, final=not problems)
    result.contradictions = list(islice(found, MOST_CONTRADICTIONS))
    return ImportedOutput(place, "io500", result, ALL_HOSTS, metadata=metadata, problems=problems)
