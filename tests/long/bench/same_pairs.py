"""How often `compare` says that the same is different: pairs of runs of which both sides come from
one source.

Sources are real seconds of fio, resampled in long blocks, series with autocorrelation of which the
truth is known, and real runs beside each other. Each pair is compared whole, as `benchtui compare`
does it, with seconds and histograms.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from tests.samples.records import latency_of, run, step
from tui.analysis.compare import compare
from tui.analysis.measured import NoiseFloors, measure
from tui.model.record import RunRecord

DATA = Path(__file__).parents[2] / "data" / "compare" / "series.json"
SECONDS = 60
FLOOR_RUNS = 6
BETWEEN = (0.0, 0.02, 0.05)  # how far apart runs of the same come out
PAIRS = ((1, 1.0), (2, 1.1))  # seed, and how much quicker the other side is
DIFFERENT = ("better", "worse")
IOS_A_SECOND = 40
P99 = float(np.exp(0.3 * 2.326 - 0.045))  # of a second, in its means
Series = tuple[np.ndarray, np.ndarray]
"""IOPS and mean latency in ns, second by second."""
Random = np.random.Generator
Source = Callable[[Random], Series]


def real_runs() -> dict[str, list[Series]]:
    """Return the kept seconds of real runs, by configuration."""
    runs = json.loads(DATA.read_text())["runs"]
    return {name: [_series(each["iops"], each["lat_ns"]) for each in found]
            for name, found in runs.items()}  # fmt: skip


def _series(rates: list[float], means: list[float]) -> Series:
    n = min(len(rates), len(means))
    return np.array(rates[:n], float), np.array(means[:n], float)


def resampled(series: Series, block: int = 20) -> Source:
    """Return a source that draws blocks of random length, `block` seconds in the mean (Politis and
    Romano 1994).
    """

    def draw(random: Random) -> Series:
        n = len(series[0])
        at, places = int(random.integers(n)), []
        for _ in range(SECONDS):
            places.append(at)
            at = int(random.integers(n)) if random.random() < 1 / block else (at + 1) % n
        return series[0][places], series[1][places]

    return draw


def autocorrelated(phi: float, spread: float = 0.05) -> Source:
    """Return a source of a first-order autoregression around 10,000 IOPS."""

    def draw(random: Random) -> Series:
        noise = random.normal(0, 1, SECONDS)
        values = np.empty(SECONDS)
        values[0] = noise[0]
        for at in range(1, SECONDS):
            values[at] = phi * values[at - 1] + noise[at] * np.sqrt(1 - phi**2)
        return 10_000 * (1 + spread * values), 100_000 * (1 - spread * values)

    return draw


def record_of(series: Series, random: Random, factor: float = 1.0) -> RunRecord:
    """Return a run with these seconds, its I/Os drawn around each second's latency.

    `factor` makes it quicker.
    """
    rates, means = series[0] * factor, series[1] / factor
    drawn = (random.lognormal(-0.045, 0.3, (len(rates), IOS_A_SECOND)) * means[:, None]).ravel()
    latency = latency_of([max(1, int(each)) for each in drawn])
    made = step(float(rates.mean()), count=len(rates), latency=latency)
    assert made.series is not None
    columns = made.series.columns[0]
    columns.iops, columns.lat_mean_ns = [*map(float, rates)], [*map(float, means)]
    columns.p99_ns = [round(each * P99) for each in means]
    columns.bw_bytes_per_s = [float(each) * 4096 for each in rates]
    return run(made)


def sources() -> dict[str, Source]:
    """Return all sources that pairs can be drawn from, by name."""
    found: dict[str, Source] = {
        f"autocorrelation {phi:g}": autocorrelated(phi) for phi in (0.0, 0.5, 0.8, 0.9)
    }
    for name, runs in real_runs().items():
        longest = max(runs, key=lambda each: len(each[0]))
        found[f"{name}, resampled"] = resampled(longest)
    return found


def shares(
    source: Source,
    pairs: int,
    seed: int,
    factor: float = 1.0,
    *,
    between: float = 0.0,
    floor: int = FLOOR_RUNS,
) -> tuple[float, float]:
    """Return in how many of the pairs the headline, and any figure at all, is said to differ, as
    shares.

    Runs of the same differ by `between` (deviation of their speed, as a share). Each pair goes by a
    noise floor that was measured over `floor` runs of the same; 0: by none.
    """
    random = np.random.default_rng(seed)

    def one(factor: float = 1.0) -> RunRecord:
        return record_of(
            source(random), random, factor * float(np.exp(random.normal(0.0, between)))
        )

    found = []
    for _ in range(pairs):
        floors = NoiseFloors(Path("noise.json"))
        if floor:
            known = measure([one() for _ in range(floor)])
            floors = NoiseFloors(floors.path, {known.key: known})
        found.append(_said(one(), one(factor), floors))
    return sum(head for head, _ in found) / pairs, sum(some for _, some in found) / pairs


def _said(a: RunRecord, b: RunRecord, floors: NoiseFloors | None = None) -> tuple[bool, bool]:
    compared = compare([a], [b], floors)
    return compared.word in DIFFERENT, any(change.word in DIFFERENT for change in compared.changes)


def real_pairs(seed: int = 1) -> Iterator[tuple[str, int, int, int]]:
    """Yield of the real runs beside each other: the configuration, pairs, different headlines,
    different in any.
    """
    random = np.random.default_rng(seed)
    for name, runs in real_runs().items():
        said = [_said(record_of(a, random), record_of(b, random)) for a, b in combinations(runs, 2)]
        yield name, len(said), sum(head for head, _ in said), sum(some for _, some in said)


def main(pairs: int = 200) -> int:
    """Print the shares of all sources."""
    print(
        f"single runs of {SECONDS} s, {pairs} pairs each, noise floor of {FLOOR_RUNS} runs: called"
        " different"
    )
    for name, source in sources().items():
        for between in BETWEEN:
            (head, some), (found, _) = (
                shares(source, pairs, seed, by, between=between) for seed, by in PAIRS
            )
            said = f"{name}, {between:.0%} between runs"
            print(
                f"  {said:<62} headline {head:5.1%}  any figure {some:5.1%}  a true 10 %:"
                f" {found:5.1%}",
                flush=True,
            )
    for name, count, head_of, some_of in real_pairs():
        print(
            f"  {name + ', real pairs':<42} headline {head_of}/{count}  any figure"
            f" {some_of}/{count}"
        )
    return 0


if __name__ == "__main__":
    main()
