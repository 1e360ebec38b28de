"""Read the times of ranks from the CSV files that mdtest writes for the phases of IO500."""

from __future__ import annotations

from collections.abc import Mapping

from tui.model.event import OperationResult
from tui.workloads.io500.output import PHASES

# Those of IOR's phases are of no use: each rank's time includes the wait for the slowest.
FILES = tuple(f"{name}.csv" for name in PHASES if name.startswith("mdtest"))
FIRST, TIME = "rank,items,", "time-File "
DIGITS = 6


def take_ranks(
    operations: Mapping[str, OperationResult], texts: Mapping[str, str], tasks: int
) -> None:
    """Put the seconds of each rank into the phases whose CSV file has all `tasks` ranks.

    `texts`: files of the result directory by name.
    """
    for name, each in operations.items():
        if (file := f"{name}.csv") in FILES:
            each.rank_seconds = seconds_of(texts.get(file, ""), tasks)


def seconds_of(text: str, tasks: int) -> list[float]:
    """Return the seconds of each rank before the last barrier of a phase, in the order of ranks.

    Empty unless all `tasks` ranks have the time of one operation on files.
    """
    header, *lines = text.splitlines() or [""]
    columns = header.split(",")
    if not header.startswith(FIRST):
        return []
    places = [place for place, name in enumerate(columns) if name.startswith(TIME)]
    found: dict[str, float] = {}
    for words in (line.split(",") for line in lines):
        told = [words[place] for place in places if place < len(words) and words[place]]
        if not words[0].isdigit():
            continue  # the row of all ranks
        try:
            (found[words[0]],) = map(float, told)
        except ValueError:  # none, several, or no number
            return []
    ranks = [found.get(str(rank)) for rank in range(tasks)]
    known = [round(each, DIGITS) for each in ranks if each is not None and 0 <= each < float("inf")]
    return known if len(known) == tasks == len(found) else []
