"""Import saved output of MPI programs: what does not depend on the program.

Command lines are parsed as these programs do: clusters of flags, values after a space or not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from tui.model.event import Contradiction, HostResult
from tui.model.operands import Told, of_tool
from tui.model.problem import Problem, UsageError
from tui.text.problem_texts import problem_text
from tui.workloads.base import LoadOptions
from tui.workloads.mpi import RanksOutput, host_result
from tui.workloads.reading import MOST_CONTRADICTIONS, STAMP_S, may_be_set_back


class Stamped(Protocol):
    """Output with its begin and end in local time; None if unknown."""

    start_s: float | None
    end_s: float | None


class KeptRanks(Stamped, Protocol):
    """One output in a text; `line` is where it begins."""

    line: int

    @property
    def output(self) -> RanksOutput:
        """The parsed output."""

    @property
    def problems(self) -> Sequence[tuple[str, Told]]:
        """Reasons to reject the figures, as (code, message)."""


Kept = TypeVar("Kept", bound=KeptRanks)


def with_results(outputs: Iterable[Kept], failure: str, file: str, tool: str) -> list[Kept]:
    """Return the outputs that have results.

    Raises UsageError with `failure` if the program ran, but no output has results. `tool`: its
    name.
    """
    every = list(outputs)
    found = [kept for kept in every if kept.output.results()]
    if not found and (failed := [kept for kept in every if kept.output.started]):
        first = [problem_text(of_tool(tool, told)) for _, told in failed[-1].problems[:1]]
        why = "".join(f": {text}" for text in first)
        raise UsageError(Problem(f"{failure}{why}", file=file, line=failed[-1].line))
    return found


def kept_result(place: int, kept: KeptRanks, found: Iterable[Contradiction]) -> HostResult:
    """Return the result of the `place`-th output of its text, with the first few contradictions
    found.
    """
    result = host_result("", place, kept.output.version, final=not kept.problems)
    result.contradictions = list(islice(found, MOST_CONTRADICTIONS))
    if kept.start_s is not None and kept.end_s is not None:
        result.start_ms, result.end_ms = int(kept.start_s * 1000), int(kept.end_s * 1000)
    return result


def clock_contradictions(stamped: Stamped, took_s: float) -> Iterator[Contradiction]:
    """Yield a contradiction if phases took longer than the time between start and end stamp."""
    if stamped.start_s is None or stamped.end_s is None:
        return
    went_s = stamped.end_s - stamped.start_s
    if took_s > went_s + STAMP_S and not may_be_set_back(stamped.end_s, took_s - went_s):
        if went_s < -STAMP_S:
            yield Contradiction("backwards", -went_s, 0.0)
        else:
            yield Contradiction("clock", took_s, max(went_s, 0.0))


UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
NUMBER = re.compile(r"(?P<digits>\d{1,15})(?P<unit>[kmgt]?)(?:i?b)?", re.IGNORECASE)


def options(
    words: Sequence[str], valued: Collection[str], *, clusters: bool = True
) -> dict[str, str]:
    """Return the one-letter options of a command line with their values, empty for flags.

    `valued`: options with a value; several values of one are joined by commas. Without `clusters`,
    only the first flag of several counts.
    """
    found: dict[str, str] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word.startswith("--"):
            continue
        cluster, equals, value = word[1:].partition("=")
        for at, name in enumerate(cluster):
            if name not in valued:
                found[name] = ""
                if clusters:
                    continue
                break
            rest = value if equals else cluster[at + 1 :]
            rest = rest or (left.pop(0) if left else "")
            found[name] = f"{found[name]},{rest}" if name in found else rest
            break
    return found


def number(given: Mapping[str, str], name: str) -> int | None:
    """Return an option's number, the last one given; None if there is none."""
    match = NUMBER.fullmatch(given.get(name, "").rpartition(",")[2])
    return int(match["digits"]) * UNITS[match["unit"].lower()] if match else None


def load_options(given: Mapping[str, str], left_out: Collection[str]) -> LoadOptions | None:
    """Return the options of a command line by letter, such as ``-b``, except those in `left_out`;
    None if the command line has no options.

    Sizes are numbers of bytes.
    """
    values = {
        f"-{name}": str(number(given, name) or value) if value else "1"
        for name, value in sorted(given.items())
        if name not in left_out and name.isalnum()
    }
    return LoadOptions(values) if given else None
