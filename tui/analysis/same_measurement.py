"""Find runs that hold the same measurement: one output imported twice, or a copied run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from math import pi, prod, sqrt

from tui.metrics.figures import Latency, latency_of
from tui.model.record import RunRecord

LEAST_BYTES = 64  # of shared output: less, such as empty files as they are saved, holds no result
LEAST_IOS = 100  # with fewer, clocks that count microseconds may agree by chance
NEVER = 1e-9  # probability: once in a thousand collections of 1,400 runs, a million pairs


def copies_among(records: Sequence[RunRecord]) -> list[tuple[int, int]]:
    """Return the pairs of runs that hold the same measurement, as indexes, the earlier one first.

    Either a latency is the same in count, mean, deviation and maximum, or files with at least half
    of the raw output of one of the two are the same byte for byte: some hosts' files may be in one
    import only, and other output of programs, such as an empty stderr, is alike anyway.
    """
    by_mark: dict[tuple[object, ...], int] = {}
    by_file: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    outputs = [_output(record) for record in records]
    for place, record in enumerate(records):
        marks = set(_marks(record))
        alike = {by_mark[mark] for mark in marks if mark in by_mark}
        shared: Counter[int] = Counter()
        for file, size in outputs[place].items():
            if file in by_file:
                shared[by_file[file]] += size
        alike |= {
            other
            for other, size in shared.items()
            if size >= LEAST_BYTES
            and 2 * size >= min(sum(outputs[other].values()), sum(outputs[place].values()))
        }
        found += [(other, place) for other in sorted(alike)]
        by_mark = dict.fromkeys(marks, place) | by_mark
        by_file = dict.fromkeys(outputs[place], place) | by_file
    return found


def _output(record: RunRecord) -> dict[str, int]:
    """Return the bytes of each file of raw output, by checksum."""
    return {each.sha256: each.bytes for each in record.provenance.artefacts}


def _marks(record: RunRecord) -> Iterator[tuple[object, ...]]:
    """Yield marks that two measurements never share: count, mean, deviation and maximum of a
    latency, with the rate unless they cannot agree by chance.
    """
    for step in record.steps:
        for name, total in step.results.aggregate.items():
            latency = latency_of(total, name, record.latency_kind)
            if latency is not None and latency.n >= LEAST_IOS and latency.stddev_ns:
                figures = name, latency.n, latency.mean_ns, latency.stddev_ns, latency.max_ns
                yield (*figures, total.iops)
                if _by_chance(latency) < NEVER:
                    yield figures


def _by_chance(latency: Latency) -> float:
    """Return an upper bound on the probability that another measurement has the same mean and
    deviation.

    Two values with a normal error are the same to within their resolution with a probability of
    resolution / (2 sqrt(pi) error). The mean of n whole ticks of the clock has a resolution of a
    tick / n, their variance one of a tick squared / n, and neither one finer than as printed.
    """
    mean, deviation, n = latency.mean_ns, latency.stddev_ns, latency.n
    if mean is None or not deviation or latency.max_ns is None:
        return 1.0
    tick = 1e3 if latency.max_ns % 1000 == 0 else 1.0  # a clock of microseconds
    steps = (
        max(tick / n, _printed(mean)) / (deviation / sqrt(n)),
        max(tick**2 / (2 * n * deviation), _printed(deviation)) / (deviation / sqrt(2 * n)),
    )
    return prod(min(1.0, step / (2 * sqrt(pi))) for step in steps)


def _printed(value: float) -> float:
    """Return the value of the last digit of a figure."""
    return 10.0 ** int(Decimal(repr(value)).normalize().as_tuple().exponent)
