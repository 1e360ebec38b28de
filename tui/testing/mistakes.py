"""What the kit finds, each under a name that stays."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

CODES = {
    "plug-in": "a method raised something, or returned what the contract does not allow",
    "chunks": "the same output in other pieces gives other items, another result or other problems",
    "asked-twice": "the second `result` or `problems` is another one than the first",
    "no-samples": "no sample came of the whole output",
    "time": "a sample ends before the one before it, begins before that one ended, or begins with it",
    "after-end": "a sample ends later than the result does",
    "direction": "a direction that benchtui does not know, or that was planned and has no result",
    "histogram-count": "a histogram counts more or fewer I/Os than there were",
    "latency-sum": "lat_sum_ns cannot be the sum of what the histogram counts",
    "maximum": "lat_max_ns falls, or is below what the histogram counts",
    "joint": "`both` is not reads and writes together",
    "no-result": "the whole output gives no result",
    "not-final": "the whole output of a good end gives a result that is not final, or problems",
    "too-final": "output that was cut off, or a bad exit code, gives a final result without a problem",
    "contradiction": "the result and the samples are not of the same I/O",
    "rate": "iops or bw_bytes_per_s of the result is not ios or bytes over runtime_s",
    "journal": "what is read from the journal is not what was written",
    "live": "a screen that follows the run fails",
    "record": "the record cannot be made, or is not of all results",
    "verify": "`runs verify` finds differences",
    "export": "an exporter fails",
    "compare": "the run cannot be compared with itself",
    "capacity": "the steps of a search, or its points, cannot be made",
}


class Mistake(Struct, frozen=True):
    """One thing that is wrong: its name in `CODES`, where, and what was found."""

    code: str
    text: str

    def __str__(self) -> str:
        return f"[{self.code}] {self.text}"


class ContractError(AssertionError):
    """A load generator broke its contract; the text has a line for each mistake."""

    def __init__(self, name: str, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        count = f"{len(mistakes)} mistake{'' if len(mistakes) == 1 else 's'}"
        super().__init__("\n".join([f"load generator {name}: {count}", *map(str, mistakes)]))

    @property
    def codes(self) -> set[str]:
        """The names of what was found."""
        return {each.code for each in self.mistakes}
