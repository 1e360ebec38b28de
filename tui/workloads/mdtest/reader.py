"""Read mdtest's output, live or saved, and explain its messages."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePath

from tui.model.event import MetadataResult
from tui.model.operands import Told, clause
from tui.workloads.base import ImportedOutput
from tui.workloads.mdtest.contradictions import MdtestReport, contradictions
from tui.workloads.mdtest.output import (
    VALUED,
    MdtestOutput,
    at_least,
    chosen_phases,
    item_phases,
)
from tui.workloads.messages import (
    HELP,
    Explainer,
    explainer,
    rejected_option,
    rule,
    rules_of_program,
    silent,
    warnings,
)
from tui.workloads.mpi import RANK_PREFIX, RanksReader
from tui.workloads.mpi_kept import kept_result, load_options, options, with_results
from tui.workloads.reading import clean, numbered

_HARMLESS = silent(
    r"Read bytes is 0, thus, a read test|^(Invalid options|V-\d|Path\b|FS\b|Continue stonewall)"
)
_TABLE = silent(
    r"^(-- (started|finished)|mdtest-\S+ was|Command line|\d+ tasks, |SUMMARY|Nodemap|  "
    r" |[a-z_]+(\(s\))? *:)",
    HELP,
)
RULES = rules_of_program(
    (
        _HARMLESS,
        rejected_option("mdtest", "mdtest-bad-option"),
        rule(r"File exists", "error", "leftovers of an earlier run: {line}", "mdtest-leftovers"),
    ),
    warnings(
        "mdtest",
        "mdtest-warnings",
        r"use realpath|gpfs_fcntl|BeeGFS|Lustre|statfs|stonewall status file",
        "its rates include failed operations, so they are invalid",
    ),
    (
        rule(r"FAILED in |\bERROR\b|unable to |assert", "error", "mdtest: {line}", "mdtest-error"),
        _TABLE,
    ),
    (rule(r"FAILED in |\bERROR\b|assert|mdtest", "error", "{line}", "mdtest-error"),),
)
NODEMAP_CHARACTERS = 200  # of the map of ranks to the first node


class MdtestReader(RanksReader):
    """Reads mdtest's output, as passed on by mpiexec."""

    tool = "mdtest"
    rules = RULES
    void_on_stderr = ("mdtest-bad-option",)
    output: MdtestOutput

    def new_output(self) -> MdtestOutput:
        """Return the parser of mdtest's output."""
        phases = item_phases(self.launch.options)
        return MdtestOutput(self.step.index, self.launch.iterations, phases)

    def figures(self, exit_code: int | None) -> MetadataResult | None:
        """Return the results; None until an operation of all ranks has ended."""
        result = super().figures(exit_code)
        if result is not None:
            result.shift, result.nodemap = self.output.shift, shortened(self.output.nodemap)
        return result

    def _missing(self) -> list[Told]:
        """Return which parts of a complete run are missing."""
        output = self.output
        missing: list[Told] = []
        covered, asked = output.summary_iterations, self.launch.iterations
        files, expected = output.items, self.ranks * self.launch.items
        if covered is None:
            told = clause("no-summary", iteration=output.iteration, iterations=asked)
            missing.append(told)
        elif covered != asked:
            missing.append(clause("summary-covers", covered=covered, iterations=asked))
        elif not output.finished:
            missing.append(clause("output-cut"))
        if files and files != expected:
            missing.append(clause("files-worked-on", files=files, expected=expected))
        return missing


def shortened(nodemap: str) -> str:
    """Return the map of ranks to nodes, shortened for a message."""
    return nodemap if len(nodemap) <= NODEMAP_CHARACTERS else nodemap[:NODEMAP_CHARACTERS] + "..."


STARTED = re.compile(r"-- started at (\S+ \S+) --")
FINISHED = re.compile(r"-- finished at (\S+ \S+) --")
LAUNCHED = re.compile(r"mdtest-\S+ was launched with")
SUMMARY = re.compile(r"SUMMARY(?: rate| time)?(?: \([^()]*\))?: \(of \d+ iterations\)")
COMMAND = re.compile(r"[\s>$#%]*+(?:\S.*\s)?(?:\S*/)?mdtest\s+(?P<words>-.*)")
OWN_COMMAND = "Command line used:"
NUMBERED = {"-n": "items", "-i": "iterations", "-np": "ranks"}
CLUSTERS = (4, 0)  # since this version, "-FC" is two flags, as it was up to 1.9
NOT_OF_THE_LOAD = frozenset("dvVZx")  # directory, verbosity, file of a time limit
STAMP_ERROR_S = 1.0


@dataclass
class KeptMdtest(MdtestReport):
    """Parses the output of one mdtest line by line.

    `numbers` are the numbers in its command line, by meaning.
    """

    command: str = ""
    explainer: Explainer = field(default_factory=lambda: explainer(RULES[0]))
    numbers: dict[str, int] = field(default_factory=dict)
    line: int = 1  # where it begins

    @property
    def problems(self) -> list[tuple[str, Told]]:
        """Reasons to reject the figures, as (code, message): errors, a missing summary."""
        found = list(self.explainer.codes.items())
        if self.output.summary_iterations is None:
            told = clause("no-kept-summary", iteration=self.output.iteration)
            found.append(("mdtest-incomplete", told))
        return found

    def parse_command(self, command: str) -> None:
        """Set command, numbers, options and phases from a command line."""
        words = _words(command)
        for at, word in enumerate(words[:-1]):
            if word in NUMBERED and words[at + 1].isdigit():
                self.numbers[NUMBERED[word]] = int(words[at + 1])
        version = self.output.version
        clusters = at_least(version, CLUSTERS) or not at_least(version, (3, 0))
        begin = next((at for at, word in enumerate(words) if PurePath(word).name == "mdtest"), 0)
        self.given = options(words[begin:], VALUED, clusters=clusters)
        self.output.item_phases = chosen_phases(self.given)
        self.command = command


def import_output(text: str, file: str) -> Sequence[ImportedOutput]:
    """Return the mdtest outputs in a text that have figures, in order.

    Raises UsageError if mdtest ran, but no output has figures.
    """
    found = with_results(_kept(text, file), "mdtest printed no rates", file, "mdtest")
    return [_imported(place, kept) for place, kept in enumerate(found)]


def _kept(text: str, file: str) -> Iterator[KeptMdtest]:
    """Yield each mdtest output, which begins with a time stamp, launch line or summary.

    The first one may be empty: text before mdtest's output.
    """
    now, command = KeptMdtest(), ""
    for number, raw in numbered(text, file):
        line = RANK_PREFIX.sub("", clean(raw.encode(), 1 << 14))
        if _begins_anew(line, now):
            yield now
            now = KeptMdtest(line=number)
        if COMMAND.fullmatch(line):
            command = line.strip(" >$#%\t")
        _parse_line(now, line, command)
    yield now


def _begins_anew(line: str, now: KeptMdtest) -> bool:
    output = now.output
    if STARTED.match(line):
        return True
    if LAUNCHED.match(line):
        return output.started
    return bool(SUMMARY.match(line)) and output.summary_iterations is not None and output.finished


def _parse_line(now: KeptMdtest, line: str, command: str) -> None:
    if match := STARTED.match(line):
        now.start_s = _stamp(match[1])
    elif match := FINISHED.match(line):
        now.end_s = _stamp(match[1])
    elif line.startswith(OWN_COMMAND):
        now.parse_command(line.removeprefix(OWN_COMMAND).strip())
    elif SUMMARY.match(line) and not now.output.started and command:
        now.parse_command(command)
    elif now.output.started:
        now.explainer.explain(line)
    now.output.line(line)
    now.details.line(line)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _stamp(text: str) -> float | None:
    """Return a time stamp in epoch seconds, read as UTC; None for other text."""
    try:
        return datetime.strptime(text, "%m/%d/%Y %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _imported(place: int, kept: KeptMdtest) -> ImportedOutput:
    result = kept_result(place, kept, contradictions(kept))
    return ImportedOutput(
        place,
        "mdtest",
        result,
        command=kept.command,
        stamp_error_s=STAMP_ERROR_S,
        metadata=_metadata(place, kept, final=result.final),
        problems=kept.problems,
        options=load_options(kept.given, NOT_OF_THE_LOAD),
    )


def _metadata(place: int, kept: KeptMdtest, *, final: bool) -> MetadataResult:
    """Return the results.

    Counts that are neither in the output nor in the command are 0, except that at least 1 iteration
    is assumed; an unknown shift is -1.
    """
    output, numbers = kept.output, kept.numbers
    tasks = output.tasks or numbers.get("ranks", 0)
    nodes = output.nodes
    completed = {len(each.iterations) for each in output.operations.values()}
    return MetadataResult(
        t=0.0,
        step=place,
        tool="mdtest",
        version=output.version,
        tasks=tasks,
        nodes=nodes,
        items=numbers.get("items") or (output.items // tasks if tasks else 0),
        iterations=(
            output.summary_iterations or numbers.get("iterations") or max(completed, default=1)
        ),
        operations=output.results(),
        shift=output.shift,
        ranks_per_node=tasks // nodes if nodes and tasks % nodes == 0 else 0,
        nodemap=shortened(output.nodemap),
        final=final,
        dealt=nodes > 1 and output.nodemap[1:2] == "0",
    )
