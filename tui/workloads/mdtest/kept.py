"""Output of mdtest that was kept: text of all versions, with whatever stands around it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tui.model.event import HostResult, MetadataResult
from tui.model.problem import Problem, UsageError
from tui.workloads.base import ImportedOutput
from tui.workloads.lines import clean, numbered
from tui.workloads.mdtest.command import item_phases
from tui.workloads.mdtest.messages import stdout_explainer
from tui.workloads.mdtest.output import Output
from tui.workloads.mdtest.reader import shortened
from tui.workloads.messages import Explainer

STARTED = re.compile(r"-- started at (\S+ \S+) --")
FINISHED = re.compile(r"-- finished at (\S+ \S+) --")
LAUNCHED = re.compile(r"mdtest-\S+ was launched with")
SUMMARY = re.compile(r"SUMMARY(?: rate| time)?(?: \([^()]*\))?: \(of \d+ iterations\)")
COMMAND = re.compile(r"[\s>$#%]*+(?:\S.*\s)?(?:\S*/)?mdtest\s+(?P<words>-.*)")
OWN_COMMAND = "Command line used:"
RANK = re.compile(r"^\[\d+(?:,\d+)?\](?:<stdout>:)?\s?")  # what mpiexec is told to put before each line
NUMBERED = {"-n": "items", "-i": "iterations", "-np": "ranks"}
STAMP_ERROR_S = 1.0


@dataclass
class Kept:
    """One mdtest as its text goes on. `numbers` are those of its command line, by what they are."""

    command: str = ""
    output: Output = field(default_factory=Output)
    explainer: Explainer = field(default_factory=stdout_explainer)
    numbers: dict[str, int] = field(default_factory=dict)
    line: int = 1  # where it begins
    start_s: float | None = None
    end_s: float | None = None

    def take_command(self, words: Sequence[str], command: str) -> None:
        """Take what a command line tells of the load."""
        for at, word in enumerate(words[:-1]):
            if word in NUMBERED and words[at + 1].isdigit():
                self.numbers[NUMBERED[word]] = int(words[at + 1])
        self.output.item_phases = item_phases([shlex.quote(word) for word in words])
        self.command = command


def import_output(text: str, file: str) -> Sequence[ImportedOutput]:
    """Return every output of mdtest in a text, in order. Raises UsageError when it ran and gave no figures at all."""
    all_kept = list(_kept(text, file))
    found = [kept for kept in all_kept if kept.output.results()]
    if not found and (failed := [kept for kept in all_kept if kept.output.started]):
        why = next((message for _, message in _problems(failed[-1])), "")
        raise UsageError(
            Problem(f"mdtest printed no rates{f': {why}' if why else ''}", file=file, line=failed[-1].line)
        )
    return [_output(place, kept) for place, kept in enumerate(found)]


def _kept(text: str, file: str) -> Iterator[Kept]:
    """Yield what each mdtest printed: it begins with its stamp, with its launch, or where its summary does."""
    now, command = Kept(), ""
    for number, raw in numbered(text, file):
        line = RANK.sub("", clean(raw.encode(), 1 << 14))
        if _begins_anew(line, now):
            yield now
            now = Kept(line=number)
        if COMMAND.fullmatch(line):
            command = line.strip(" >$#%\t")
        _take(now, line, command)
    yield now


def _begins_anew(line: str, now: Kept) -> bool:
    output = now.output
    if STARTED.match(line):
        return True
    if LAUNCHED.match(line):
        return output.started
    return bool(SUMMARY.match(line)) and output.summary_iterations is not None and output.finished


def _take(now: Kept, line: str, command: str) -> None:
    if match := STARTED.match(line):
        now.start_s = _stamp(match[1])
    elif match := FINISHED.match(line):
        now.end_s = _stamp(match[1])
    elif line.startswith(OWN_COMMAND):
        now.take_command(_words(line.removeprefix(OWN_COMMAND)), line.removeprefix(OWN_COMMAND).strip())
    elif SUMMARY.match(line) and not now.output.started and command:
        now.take_command(_words(command), command)
    elif now.output.started:
        now.explainer.explain(line)
    now.output.line(line)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _stamp(text: str) -> float | None:
    """Return a stamp in seconds as if it were UTC; None for another text."""
    try:
        return datetime.strptime(text, "%m/%d/%Y %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _output(place: int, kept: Kept) -> ImportedOutput:
    result = HostResult(
        t=0.0, host="", step=place, dirs={}, tool_version=kept.output.version, final=not _problems(kept)
    )
    if kept.start_s is not None and kept.end_s is not None:
        result.start_ms, result.end_ms = int(kept.start_s * 1000), int(kept.end_s * 1000)
    return ImportedOutput(
        place,
        "mdtest",
        result,
        command=kept.command,
        stamp_error_s=STAMP_ERROR_S,
        metadata=_metadata(place, kept, final=result.final),
        problems=_problems(kept),
    )


def _metadata(place: int, kept: Kept, *, final: bool) -> MetadataResult:
    """Return the figures; what neither the output nor its command tells is 0."""
    output, numbers = kept.output, kept.numbers
    tasks = output.tasks or numbers.get("ranks", 0)
    nodes = output.nodes
    alone = {len(each.iterations) for each in output.operations.values()}
    return MetadataResult(
        t=0.0,
        step=place,
        tool="mdtest",
        version=output.version,
        tasks=tasks,
        nodes=nodes,
        items=numbers.get("items") or (output.items // tasks if tasks else 0),
        iterations=output.summary_iterations or numbers.get("iterations") or max(alone, default=1),
        operations=output.results(),
        shift=output.shift,
        ranks_per_node=tasks // nodes if nodes and tasks % nodes == 0 else 0,
        nodemap=shortened(output.nodemap),
        final=final,
        dealt=nodes > 1 and output.nodemap[1:2] == "0",
    )


def _problems(kept: Kept) -> list[tuple[str, str]]:
    """Return (code, message) of what makes the figures void: what mdtest complained of, a summary that is missing."""
    found = list(kept.explainer.codes.items())
    if kept.output.summary_iterations is None:
        found.append(("mdtest-incomplete", f"mdtest gave no summary; it came to iteration {kept.output.iteration}"))
    return found
