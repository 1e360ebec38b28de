"""Replay recorded output in chunks of many sizes, and check that its figures agree."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct, field
from msgspec.structs import replace

from tui.metrics import units
from tui.metrics.buckets import TOP_BUCKET, index_to_value
from tui.metrics.registry import BOTH, DIRECTIONS, direction
from tui.model.dense import listed
from tui.model.event import (
    Buckets,
    DirectionResult,
    DirectionSample,
    HostResult,
    LatencyResult,
    MetadataPhase,
    MetadataResult,
    Sample,
)
from tui.model.operands import Told
from tui.model.plan import Step
from tui.workloads.base import Item, Reader

CODES = {
    "plug-in": "a method raised an exception, or returned a value that the contract does not allow",
    "chunks": "items, result or problems depend on how the output is split into chunks",
    "asked-twice": "a second call to `result` or `problems` returns a different value",
    "no-samples": "the whole output gives no samples",
    "time": "a sample does not end after the previous one, or overlaps it",
    "after-end": "a sample ends after the end of the result",
    "direction": "benchtui does not know a direction, or a planned direction has no result",
    "histogram-count": "a histogram counts more I/Os than its sample or result",
    "latency-sum": "lat_sum_ns contradicts the histogram",
    "maximum": "lat_max_ns decreases, or is below the highest bucket of the histogram",
    "joint": "`both` is not the sum of reads and writes",
    "no-result": "the whole output gives no result",
    "not-final": "the whole output of a successful load gives problems, or a result that is not "
    "final",
    "too-final": ("truncated output, or a bad exit code, gives a final result without a problem"),
    "contradiction": "the result and the samples do not cover the same I/O",
    "rate": "iops of the result is not ios / runtime_s, or bw_bytes_per_s is not bytes / runtime_s",
    "journal": "events read from the journal differ from those written",
    "live": "a screen that follows the run fails",
    "record": "the record cannot be built, or does not include all results",
    "verify": "`runs verify` finds differences",
    "export": "an exporter fails",
    "compare": "the run cannot be compared with itself",
    "target-check": "a target check needs a command that `requirements` does not list",
    "capacity": "the steps or points of a search cannot be built, or have a wrong rate or runtime",
}
CLOCK_S = 0.01  # how far intervals may overlap: times are in ms
TORN = 0.02  # of a total: fio updates live counts while they are read
RATE = 0.02
BUCKET = 1 / 64  # of a value: the width of its bucket
END_MS = 1000


class Mistake(Struct, frozen=True):
    """A breach of the contract: its name in `CODES`, where, and what was found."""

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
    """What one host printed, and the exit code of its command."""

    out: bytes
    err: bytes = b""
    exit_code: int = 0


class Read(Struct):
    """What a reader returned for an output.

    `figures`: the result of an MPI program, over all hosts.
    """

    items: list[Item] = field(default_factory=list)
    result: HostResult | None = None
    problems: list[tuple[str, Told]] = field(default_factory=list)
    figures: MetadataResult | None = None

    @property
    def samples(self) -> list[Sample]:
        """The samples in order of arrival."""
        return [item for item in self.items if isinstance(item, Sample)]


def read(reader: Reader, pieces: Sequence[bytes], err: bytes, exit_code: int | None) -> Read:
    """Feed an output in these chunks to a new reader, as the engine does.

    Returns everything that the reader returned.
    """
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


def chunkings(data: bytes) -> Iterator[tuple[str, list[bytes]]]:
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
    """Yield a mistake if what the reader returns depends on how the output is split into chunks."""
    for name, pieces in chunkings(output.out):
        other = read(make(), pieces, output.err, output.exit_code)
        for part in Read.__struct_fields__:
            if getattr(other, part) != getattr(whole, part):
                what = "samples" if part == "items" and other.samples != whole.samples else part
                yield Mistake(
                    "chunks", f"{where}: {what} differ between feeding {name} and all at once"
                )
                return


def check_ends(make: Make, output: Output, whole: Read, where: str) -> Iterator[Mistake]:
    """Yield a mistake if truncated output, or a bad exit code, gives a final result without a
    problem.

    Garbage and empty output must not raise.
    """
    if whole.result is None:
        return
    for share in CUTS:
        cut = output.out[: round(len(output.out) * share)]
        found = read(make(), [cut], b"", None)
        if found.result is not None and found.result.final and not found.problems:
            yield Mistake(
                "too-final",
                f"{where}: the first {units.share(share)} of the output give a final result;"
                " expected a problem, or final=False",
            )
            break
    for exit_code in BAD_EXITS:
        found = read(make(), [output.out], output.err, exit_code)
        if found.result is not None and found.result.final and not found.problems:
            yield Mistake(
                "too-final",
                f"{where}: exit code {exit_code} gives a final result; expected a"
                " problem, or final=False",
            )
            break
    read(make(), [GARBAGE, output.out, GARBAGE], GARBAGE, 0)
    read(make(), [], b"", None)


def check_twice(make: Make, output: Output, where: str) -> Iterator[Mistake]:
    """Yield a mistake for each method whose result differs when it is called a second time."""
    reader = make()
    reader.feed(output.out)
    reader.flush()
    for name in ("result", "problems"):
        ask = getattr(reader, name)
        if ask(output.exit_code) != ask(output.exit_code):
            yield Mistake(
                "asked-twice", f"{where}: a second {name}() differs; expected the same value"
            )


def check_figures(found: Read, step: Step, where: str) -> Iterator[Mistake]:
    """Yield mistakes in the samples and the result of a host that completed its load."""
    samples = found.samples
    if not samples:
        yield Mistake("no-samples", f"{where}: found no samples; expected one or more")
    yield from _times(samples, where)
    yield from _samples(samples, where)
    if found.result is None:
        yield Mistake("no-result", f"{where}: result() is None; problems: {found.problems}")
        return
    if not found.result.final or found.problems:
        yield Mistake(
            "not-final",
            f"{where}: found final={found.result.final}, problems={found.problems}; expected"
            " final=True and no problems",
        )
    yield from _result(found.result, step, where)
    yield from _together(samples, found.result, where)


def _times(samples: Sequence[Sample], where: str) -> Iterator[Mistake]:
    for before, each in pairwise(samples):
        begin_s, end_s = each.host_time_ms / 1000 - each.interval_s, before.host_time_ms / 1000
        if each.host_time_ms <= before.host_time_ms:
            yield Mistake(
                "time",
                f"{where}: found a sample at {each.host_time_ms} ms after one at"
                f" {before.host_time_ms} ms; expected ascending times",
            )
            return
        if begin_s < end_s - CLOCK_S:
            early = (
                f"begins {end_s - begin_s:.3f} s before the previous one ended; expected no overlap"
            )
            yield Mistake("time", f"{where}: the sample at {each.host_time_ms} ms {early}")
            return


def _samples(samples: Sequence[Sample], where: str) -> Iterator[Mistake]:
    highest: dict[str, int] = {}
    reported: set[str] = set()
    for each in samples:
        if each.restart:
            highest.clear()
        for name, part in each.dirs.items():
            at = f"{where}, sample at {each.host_time_ms} ms, {name}"
            for mistake in _sample(name, part, highest.get(name, 0), at):
                if mistake.code not in reported:  # one mistake of each kind
                    reported.add(mistake.code)
                    yield mistake
            highest[name] = max(highest.get(name, 0), part.lat_max_ns)
        if (joint := each.dirs.get(BOTH)) is not None and "joint" not in reported:
            for mistake in _joint(joint, each.dirs, f"{where}, sample at {each.host_time_ms} ms"):
                reported.add(mistake.code)
                yield mistake


def _sample(name: str, part: DirectionSample, highest: int, at: str) -> Iterator[Mistake]:
    if name not in DIRECTIONS:
        yield Mistake("direction", f"{at}: unknown direction; expected {', '.join(DIRECTIONS)}")
    lat = listed(part.lat)
    counted = sum(lat.n)
    if counted > part.ios * (1 + TORN) + 1:
        yield Mistake(
            "histogram-count",
            f"{at}: the histogram counts {counted}; expected at most ios={part.ios}",
        )
    if counted:
        yield from _sum(lat, part.lat_sum_ns, at)
    if part.lat_max_ns and part.lat_max_ns < highest:
        yield Mistake(
            "maximum",
            f"{at}: lat_max_ns fell from {highest} to {part.lat_max_ns}; expected the maximum since"
            " the start, which never decreases",
        )
    elif counted and part.lat_max_ns < _low(lat.idx[-1]):
        yield Mistake(
            "maximum",
            f"{at}: found lat_max_ns={part.lat_max_ns}; expected {_low(lat.idx[-1])} or more, as in"
            " the histogram",
        )


def _sum(lat: Buckets, total_ns: int, at: str) -> Iterator[Mistake]:
    middle = sum(count * index_to_value(index) for index, count in zip(lat.idx, lat.n, strict=True))
    if lat.idx[-1] < TOP_BUCKET and abs(total_ns - middle) > middle * (BUCKET + TORN) + 1:
        yield Mistake(
            "latency-sum", f"{at}: found lat_sum_ns={total_ns}; the histogram gives {middle}"
        )


def _low(index: int) -> int:
    """Return the lowest value of a bucket, minus the width of one bucket as tolerance."""
    return round(index_to_value(index) * (1 - BUCKET)) - 1


def _joint(
    joint: DirectionSample | DirectionResult,
    dirs: dict[str, DirectionSample] | dict[str, DirectionResult],
    at: str,
) -> Iterator[Mistake]:
    parts = [part for name, part in dirs.items() if name in ("read", "write")]
    ios, amount = sum(part.ios for part in parts), sum(part.bytes for part in parts)
    if (joint.ios, joint.bytes) != (ios, amount):
        yield Mistake(
            "joint",
            f"{at}: found {joint.ios} I/Os, {joint.bytes} B for both; expected {ios} I/Os,"
            f" {amount} B, the sum of read and write",
        )


def _result(result: HostResult, step: Step, where: str) -> Iterator[Mistake]:
    for name in step.directions:
        if name not in result.dirs:
            yield Mistake(
                "direction",
                f"{where}: {name} was planned; the result has {', '.join(result.dirs) or 'none'}",
            )
    for name, part in result.dirs.items():
        at = f"{where}, result, {name}"
        if name not in DIRECTIONS:
            yield Mistake("direction", f"{at}: unknown direction; expected {', '.join(DIRECTIONS)}")
        for kind in ("clat", "lat"):
            yield from _latency(getattr(part, kind), part, f"{at}, {kind}")
        yield from _rates(part, at)
    if (joint := result.dirs.get(BOTH)) is not None:
        yield from _joint(joint, result.dirs, f"{where}, result")


def _latency(latency: LatencyResult | None, part: DirectionResult, at: str) -> Iterator[Mistake]:
    if latency is not None and latency.n > part.ios * (1 + TORN) + 1:
        yield Mistake(
            "histogram-count", f"{at}: found n={latency.n}; expected at most ios={part.ios}"
        )
    if (
        latency is not None
        and latency.buckets is not None
        and latency.buckets.idx
        and latency.bucket_width is None
    ):
        yield from _sum(latency.buckets, round(latency.mean_ns * latency.n), at)


def _rates(part: DirectionResult, at: str) -> Iterator[Mistake]:
    if not part.runtime_s:
        return
    for name, rate, total in (
        ("iops", part.iops, part.ios),
        ("bw_bytes_per_s", part.bw_bytes_per_s, part.bytes),
    ):
        right = total / part.runtime_s
        if abs(rate - right) > RATE * right + 1 / part.runtime_s:
            yield Mistake(
                "rate",
                f"{at}: found {name}={rate:g}; expected {right:g} ({total} in"
                f" {part.runtime_s:g} s)",
            )


def _together(samples: Sequence[Sample], result: HostResult, where: str) -> Iterator[Mistake]:
    """Yield differences between samples and result, which must cover the same I/O."""
    last = max((each.host_time_ms for each in samples), default=0)
    if result.end_ms is not None and last > result.end_ms + END_MS:
        yield Mistake(
            "after-end",
            f"{where}: the last sample ends at {last} ms; expected {result.end_ms + END_MS} ms or"
            f" earlier, because the result ends at {result.end_ms} ms",
        )
    measured = [each for each in samples[_begin(samples) :] if not each.ramp]
    for name in dict.fromkeys([*(name for each in measured for name in each.dirs), *result.dirs]):
        part = result.dirs.get(name)
        sampled = [each.dirs[name] for each in measured if name in each.dirs]
        at = f"{where}, {name}"
        for what in ("ios", "bytes") if measured and name in DIRECTIONS else ():
            amounts = [getattr(each, what) for each in sampled]
            yield from _total(what, amounts, getattr(part, what, 0), at)
        if part is not None:
            yield from _maximum(sampled, part, name, at)


def _begin(samples: Sequence[Sample]) -> int:
    return max((place for place, each in enumerate(samples) if each.restart), default=0)


def _total(what: str, amounts: Sequence[int], total: int, at: str) -> Iterator[Mistake]:
    """Yield a mistake if a total of the samples contradicts the result.

    The samples may miss the last interval, and live counts may be inconsistent, but samples must
    never exceed the result.
    """
    seen, slack = sum(amounts), total * TORN + 1
    if seen > total + slack:
        yield Mistake(
            "contradiction",
            f"{at}: the samples have {seen} {what}; expected at most {total}, as in the result",
        )
    elif total - seen > slack + 2 * max(amounts, default=0):
        yield Mistake(
            "contradiction",
            f"{at}: the samples have {seen} {what}; expected {total}, as in the result (only the"
            " last interval may be missing)",
        )


def _maximum(
    sampled: Sequence[DirectionSample], part: DirectionResult, name: str, at: str
) -> Iterator[Mistake]:
    kinds = [direction(name).latency] if direction(name).latency else ["clat", "lat"]
    known = [
        latency.max_ns for kind in kinds if kind and (latency := getattr(part, kind)) is not None
    ]
    highest = max((each.lat_max_ns for each in sampled), default=0)
    if known and highest > max(known):
        yield Mistake(
            "contradiction",
            f"{at}: a sample has {highest} ns; expected at most {max(known)}, as in the result",
        )
