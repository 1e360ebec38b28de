"""Replay recorded output in chunks of all sizes; the codes of mistakes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from tui.metrics import units
from tui.model.event import HostResult, MetadataPhase, MetadataResult, Sample
from tui.workloads.base import Item, Reader

CODES = {
    "plug-in": "a method raised something, or returned what the contract does not allow",
    "chunks": "items, result or problems depend on how the output is split into chunks",
    "asked-twice": "a second call of `result` or `problems` returns something else",
    "no-samples": "the whole output gives no samples",
    "time": ("a sample ends before the previous one, overlaps it, or begins at the same time"),
    "after-end": "a sample ends later than the result does",
    "direction": "a direction that benchtui does not know, or that was planned and has no result",
    "histogram-count": "a histogram counts more or fewer I/Os than there were",
    "latency-sum": "lat_sum_ns cannot be the sum of what the histogram counts",
    "maximum": "lat_max_ns falls, or is below what the histogram counts",
    "joint": "`both` is not reads and writes together",
    "no-result": "the whole output gives no result",
    "not-final": "the whole output of a successful load gives problems, or a result that is not "
    "final",
    "too-final": ("truncated output, or a bad exit code, gives a final result without a problem"),
    "contradiction": "the result and the samples do not cover the same I/O",
    "rate": "iops or bw_bytes_per_s of the result is not ios or bytes divided by runtime_s",
    "journal": "what is read from the journal is not what was written",
    "live": "a screen that follows the run fails",
    "record": "the record cannot be built, or does not include all results",
    "verify": "`runs verify` finds differences",
    "export": "an exporter fails",
    "compare": "the run cannot be compared with itself",
    "target-check": "a check of a target needs a command that is no requirement",
    "capacity": "the steps or points of a search cannot be built",
}


class Mistake(Struct, frozen=True):
    """A mistake: its name in `CODES`, where, and what was found."""

    code: str
    text: str

    def __str__(self) -> str:
        return f"[{self.code}] {self.text}"


class ContractError(AssertionError):
    """A load generator broke its contract; the text has one line per mistake."""

    def __init__(self, name: str, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        count = f"{len(mistakes)} mistake{'' if len(mistakes) == 1 else 's'}"
        super().__init__("\n".join([f"load generator {name}: {count}", *map(str, mistakes)]))

    @property
    def codes(self) -> set[str]:
        """The codes of the mistakes."""
        return {each.code for each in self.mistakes}


SINGLY = 1 << 15  # bytes fed one by one; the rest of a longer output in pages
PAGE = 1 << 12
SEEDS = (1, 2, 3)
CUTS = (0.3, 0.6, 0.9)
BAD_EXITS = (1, 137)
GARBAGE = b"\x00\xff{[<\x1b[31m" * 3 + b"\n"

Make = Callable[[], Reader]


class Output(Struct, frozen=True):
    """What one host printed, and how its command ended."""

    out: bytes
    err: bytes = b""
    exit_code: int = 0


class Read(Struct):
    """What a reader returned for an output. `figures`: of an MPI program over all hosts."""

    items: list[Item] = field(default_factory=list)
    result: HostResult | None = None
    problems: list[tuple[str, str]] = field(default_factory=list)
    figures: MetadataResult | None = None

    @property
    def samples(self) -> list[Sample]:
        """The samples in order of arrival."""
        return [item for item in self.items if isinstance(item, Sample)]


def read(reader: Reader, pieces: Sequence[bytes], err: bytes, exit_code: int | None) -> Read:
    """Return what a new reader returns for an output in these chunks, called as the engine does."""
    found = Read()
    for piece in pieces:
        found.items += reader.feed(piece)
    found.items += reader.feed_stderr(err)
    found.items += reader.flush()
    found.items = [_timeless(item) for item in found.items]
    found.result = reader.result(exit_code)
    found.problems = list(reader.problems(exit_code))
    if hasattr(reader, "figures"):
        found.figures = reader.figures(exit_code)
    return found


def _timeless(item: Item) -> Item:
    """Return an item without the fields that depend on when its bytes arrived."""
    return replace(item, seconds=None) if isinstance(item, MetadataPhase) else item


def ways(data: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Yield an output split into chunks in many ways, each with its name."""
    pages = [data[at : at + PAGE] for at in range(SINGLY, len(data), PAGE)]
    yield "byte by byte", [*(data[at : at + 1] for at in range(min(SINGLY, len(data)))), *pages]
    yield "line by line", data.splitlines(keepends=True)
    for seed in SEEDS:
        yield f"in chunks of random length (seed {seed})", list(_random(data, seed))


def _random(data: bytes, seed: int) -> Iterator[bytes]:
    lengths, at = random.Random(seed), 0
    while at < len(data):
        end = at + lengths.choice((1, 2, 7, 100, PAGE))
        yield data[at:end]
        at = end


def check_chunks(make: Make, output: Output, whole: Read, where: str) -> Iterator[Mistake]:
    """Yield what depends on how the output is split into chunks."""
    for name, pieces in ways(output.out):
        other = read(make(), pieces, output.err, output.exit_code)
        for part in Read.__struct_fields__:
            if getattr(other, part) != getattr(whole, part):
                what = "samples" if part == "items" and other.samples != whole.samples else part
                yield Mistake(
                    "chunks", f"{where}: {what} differ between feeding {name} and all at once"
                )
                return


def check_ends(make: Make, output: Output, whole: Read, where: str) -> Iterator[Mistake]:
    """Yield missing problems for truncated output, a bad exit code, and garbage."""
    if whole.result is None:
        return
    for share in CUTS:
        cut = output.out[: round(len(output.out) * share)]
        found = read(make(), [cut], b"", None)
        if found.result is not None and found.result.final and not found.problems:
            yield Mistake(
                "too-final",
                f"{where}: its first {units.share(share)} give a final result without a problem",
            )
            break
    for exit_code in BAD_EXITS:
        found = read(make(), [output.out], output.err, exit_code)
        if found.result is not None and found.result.final and not found.problems:
            yield Mistake(
                "too-final",
                f"{where}: exit code {exit_code} gives a final result without a problem",
            )
            break
    read(make(), [GARBAGE, output.out, GARBAGE], GARBAGE, 0)
    read(make(), [], b"", None)


def check_twice(make: Make, output: Output, where: str) -> Iterator[Mistake]:
    """Yield what changes when it is asked for again."""
    reader = make()
    reader.feed(output.out)
    reader.flush()
    for name in ("result", "problems"):
        ask = getattr(reader, name)
        if ask(output.exit_code) != ask(output.exit_code):
            yield Mistake("asked-twice", f"{where}: {name}")
