"""Identities: results that were really measured violate none, and results that were doctored do,
whatever was done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.samples.evidence import evidence
from tests.samples.latencies import latency_of
from tui.judge.check import RunEvidence, UnknownError
from tui.judge.whole_results import IDENTITY_CHECKS
from tui.metrics.histogram import Histogram
from tui.model.event import DirectionResult, HostResult, LatencyResult
from tui.model.figure_record import SeriesColumns, SeriesRecord
from tui.model.plan import BlockShare, JobLoad
from tui.model.record import Finding

WORKERS = 4
BLOCK = 4096
JOB = JobLoad(
    "load", ("read",), workers=WORKERS, held=WORKERS, block_bytes=BLOCK, whole_blocks=True
)


def drawn(seed: int) -> list[int]:
    """Return latencies of a skewed distribution in ns.

    A seed of its own keeps failing examples small.
    """
    rng = Random(seed)
    scale, shape = rng.uniform(1e5, 1e7), rng.uniform(0.1, 1.5)
    return [int(scale * rng.lognormvariate(0, shape)) + 128 for _ in range(rng.randint(200, 400))]


LATENCIES = st.integers(0, 2**32).map(drawn)
OTHER = st.floats(0.05, 0.7) | st.floats(1.4, 20.0)  # a factor that is no rounding


def measured(values: Sequence[int], again: int = 3000) -> DirectionResult:
    """Return what workers that always have one I/O in flight print.

    Each latency comes `again` times.
    """
    whole = latency_of([*values] * 2)
    buckets = replace(whole.buckets, n=[count // 2 * again for count in whole.buckets.n])  # type: ignore[type-var, union-attr]
    whole = replace(whole, n=len(values) * again, buckets=buckets)
    whole.percentiles_ns = Histogram.from_buckets(buckets).percentiles(at_most=whole.max_ns)  # type: ignore[arg-type]
    seconds = round(whole.n * whole.mean_ns / 1e9 / WORKERS + 0.01, 3)
    return DirectionResult(
        whole.n,
        whole.n * BLOCK,
        seconds,
        whole.n / seconds,
        whole.n * BLOCK / seconds,
        clat=whole,
        lat=whole,
    )


def at_hosts(*parts: DirectionResult, jobs: Sequence[JobLoad] = (JOB,)) -> RunEvidence:
    at = evidence(jobs=list(jobs))
    hosts = {f"h{number}": part for number, part in enumerate(parts, 1)}
    results = {
        name: HostResult(t=0.0, host=name, step=0, dirs={"read": part})
        for name, part in hosts.items()
    }
    at.seen.state.at_step(0).results = results
    return at


def violated(at: RunEvidence) -> list[Finding]:
    found = []
    for check in IDENTITY_CHECKS:
        try:
            found += check.examine(at)
        except UnknownError:
            continue
    return found


def scaled(part: DirectionResult, factor: float, *names: str) -> DirectionResult:
    return replace(
        part, **{name: type(getattr(part, name))(getattr(part, name) * factor) for name in names}
    )


def with_latency(part: DirectionResult, **changed: object) -> DirectionResult:
    return replace(part, lat=replace(part.lat, **changed))  # type: ignore[type-var]


def lat(part: DirectionResult) -> LatencyResult:
    assert part.lat is not None
    return part.lat


@settings(max_examples=30, deadline=None)
@given(LATENCIES)
def test_a_result_that_was_measured_violates_nothing(values: Sequence[int]) -> None:
    assert violated(at_hosts(measured(values))) == []


LIES: dict[str, Callable[[DirectionResult, float], DirectionResult]] = {
    "iops": lambda part, by: scaled(part, by, "iops"),
    "bandwidth": lambda part, by: scaled(part, by, "bw_bytes_per_s"),
    "I/Os": lambda part, by: scaled(part, by, "ios"),
    "I/Os and their rate": lambda part, by: scaled(part, by, "ios", "iops"),
    "bytes": lambda part, by: scaled(part, by, "bytes"),
    "bytes and their rate": lambda part, by: scaled(part, by, "bytes", "bw_bytes_per_s"),
    "everything but latencies": lambda part, by: scaled(
        part, by, "ios", "bytes", "iops", "bw_bytes_per_s"
    ),
    "runtime": lambda part, by: scaled(part, by, "runtime_s"),
    "minimum": lambda part, by: with_latency(part, min_ns=int(lat(part).min_ns * by)),
    "maximum": lambda part, by: with_latency(part, max_ns=int(lat(part).max_ns * by)),
    "mean": lambda part, by: with_latency(part, mean_ns=lat(part).mean_ns * by),
    "count of latencies": lambda part, by: with_latency(part, n=int(lat(part).n * by)),
    "deviation": lambda part, by: with_latency(part, stddev_ns=(lat(part).max_ns or 0) * (1 + by)),
    "median": lambda part, by: with_latency(
        part, percentiles_ns={**lat(part).percentiles_ns, "50": lat(part).min_ns // 2}
    ),
    "p99": lambda part, by: with_latency(
        part, percentiles_ns={**lat(part).percentiles_ns, "99": int(lat(part).max_ns * 1.4)}
    ),
    "histogram": lambda part, by: with_latency(
        part,
        buckets=replace(lat(part).buckets, n=[count + 7 for count in lat(part).buckets.n]),  # type: ignore[type-var, union-attr]
    ),
}


@pytest.mark.parametrize("lie", LIES)
@settings(max_examples=10, deadline=None)
@given(LATENCIES, OTHER)
def test_a_changed_figure_is_an_error_with_both_numbers(
    lie: str, values: Sequence[int], by: float
) -> None:
    found = violated(at_hosts(LIES[lie](measured(values), by)))
    assert found and {each.severity for each in found} == {"error"}
    assert all(each.measured != each.threshold for each in found)


@settings(max_examples=10, deadline=None)
@given(LATENCIES, st.floats(1.2, 20.0))
def test_more_than_the_queue_depth_can_do_is_an_error_though_all_counts_agree(
    values: Sequence[int], by: float
) -> None:
    part = measured(values)
    whole = lat(part)
    assert whole.buckets is not None
    counts = [int(count * by) for count in whole.buckets.n]
    faster = replace(whole, n=sum(counts), buckets=replace(whole.buckets, n=counts))
    ios = sum(counts)
    seconds = part.runtime_s
    more = DirectionResult(
        ios, ios * BLOCK, seconds, ios / seconds, ios * BLOCK / seconds, clat=faster, lat=faster
    )
    assert "above-depth" in {each.id for each in violated(at_hosts(more))}


@settings(max_examples=10, deadline=None)
@given(LATENCIES, LATENCIES)
def test_a_copy_under_another_name_is_an_error_and_a_host_of_its_own_is_none(
    values: Sequence[int], others: Sequence[int]
) -> None:
    copied = violated(at_hosts(measured(values), measured(others), measured(values)))
    assert [(each.id, each.scope["hosts"]) for each in copied if each.id == "copied-output"] == (
        [("copied-output", "h1 h3")]
        if sorted(values) != sorted(others)
        else [("copied-output", "h1 h2 h3")]
    )


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.sampled_from((1, 2, 4, 8, 16)), min_size=2, max_size=4, unique=True),
    st.integers(0, 2**32),
    st.data(),
)
def test_bytes_of_split_sizes_are_those_of_their_shares(
    kib: list[int], seed: int, data: st.DataObject
) -> None:
    cut = sorted(
        data.draw(
            st.lists(st.integers(1, 99), min_size=len(kib) - 1, max_size=len(kib) - 1, unique=True)
        )
    )
    shares = [high - low for low, high in zip([0, *cut], [*cut, 100], strict=True)]
    job = replace(JOB, block_bytes=None, blocks={
        "read": tuple(BlockShare(size << 10, size << 10, share / 100) for size,
            share in zip(kib, shares, strict=True))
    })  # fmt: skip
    sizes = Random(seed).choices(kib, weights=shares, k=20_000)
    part = measured(range(50_000, 60_000, 50), again=100)
    part = replace(part, bytes=sum(sizes) << 10, bw_bytes_per_s=(sum(sizes) << 10) / part.runtime_s)
    assert violated(at_hosts(part, jobs=[job])) == []
    more = scaled(part, 1.5, "bytes", "bw_bytes_per_s")
    assert [each.id for each in violated(at_hosts(more, jobs=[job]))] == ["size-mismatch"]


@pytest.mark.parametrize("once", [True, False])
def test_random_io_that_uses_each_block_once_cuts_split_sizes_to_what_is_left(once: bool) -> None:
    split = (BlockShare(4096, 4096, 0.6), BlockShare(262144, 262144, 0.4))
    blocks = {"read": split}
    job = replace(
        JOB, block_bytes=None, blocks=blocks, random=True, each_once=once, range_bytes=1 << 30
    )
    part = measured(range(50_000, 60_000, 50), again=100)
    size = part.ios * 14_000  # fio 3.33: 229,329 random reads of 34.1 KiB on average were 13.6 KiB
    part = replace(part, bytes=size, bw_bytes_per_s=size / part.runtime_s)
    named = [each.id for each in violated(at_hosts(part, jobs=[job]))]
    assert named == ([] if once else ["size-mismatch"])


@pytest.mark.parametrize("again", [True, False])
def test_sizes_that_each_loop_draws_again_have_the_chance_of_one_loop(again: bool) -> None:
    split = (BlockShare(4096, 4096, 0.8), BlockShare(65536, 65536, 0.2))
    job = replace(JOB, block_bytes=None, blocks={"read": split}, random=True)
    job = replace(job, workers=1, range_bytes=1 << 20, redrawn_bytes=1 << 20 if again else None)
    part = measured(range(50_000, 60_000, 50), again=100)
    size = part.ios * 17_800  # nominally 16,384; one loop draws 64 sizes
    part = replace(part, bytes=size, bw_bytes_per_s=size / part.runtime_s)
    named = [each.id for each in violated(at_hosts(part, jobs=[job]))]
    assert named == ([] if again else ["size-mismatch"])


@pytest.mark.parametrize(("slat", "named"), [(100_000, False), (20_000, True)])
def test_a_latency_is_the_sum_of_submission_and_completion(slat: int, named: bool) -> None:
    values = range(200_000, 300_000, 500)
    waited = with_latency(measured(values))
    submitted = latency_of([slat] * lat(waited).n)
    completed = latency_of([value - 100_000 for value in values] * (lat(waited).n // len(values)))
    found = violated(at_hosts(replace(waited, slat=submitted, clat=completed)))
    assert bool(found) == named


def test_no_io_takes_longer_to_complete_than_in_all() -> None:
    part = measured(range(200_000, 300_000, 500))
    assert part.clat is not None
    longer = replace(part.clat, max_ns=400_000, buckets=None, percentiles_ns={})
    (only,) = violated(at_hosts(replace(part, clat=longer)))
    assert (only.id, only.measured, only.threshold) == ("latency-mismatch", 299_500.0, 400_000.0)


def test_jobs_that_only_read_write_nothing() -> None:
    part = measured(drawn(1))
    at = at_hosts(part)
    at.seen.state.at_step(0).results["h1"].dirs = {"write": part}
    assert "size-mismatch" in {each.id for each in violated(at)}


@settings(max_examples=20, deadline=None)
@given(st.floats(10.0, 100_000.0), st.floats(-0.3, 0.0), st.floats(1.05, 20.0), st.booleans())
def test_a_load_never_exceeds_its_rate(
    rate: float, behind: float, beyond: float, poisson: bool
) -> None:
    seconds = 10_000.0 / rate + 1.0
    job = replace(JOB, rate_iops={"read": rate}, paced=True, poisson=poisson)

    def at(factor: float) -> list[str]:
        ios = int(rate * factor * seconds)
        part = DirectionResult(ios, ios * BLOCK, seconds, ios / seconds, ios * BLOCK / seconds)
        return [each.id for each in violated(at_hosts(part, jobs=[job]))]

    assert at(1.0 + behind) == []
    assert at(beyond + (0.05 if poisson else 0.0)) == ["above-offered"]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.integers(1000, 50_000), st.floats(2.0, 60.0)), min_size=2, max_size=5))
def test_rates_of_jobs_that_ran_for_unlike_times_are_added_up(
    jobs: list[tuple[int, float]],
) -> None:
    from tui.metrics.histogram import combine_directions

    parts = [DirectionResult(ios, ios * BLOCK, s, ios / s, ios * BLOCK / s) for ios, s in jobs]
    whole = combine_directions(parts)
    assert violated(at_hosts(whole)) == []
    longest = max(s for _, s in jobs) / min(s for _, s in jobs)
    assert violated(at_hosts(scaled(whole, 1.1 * longest, "iops")))


@pytest.mark.parametrize(("name", "by"), [("iops", 1.5), ("bw_bytes_per_s", 1.5), ("", 1.0)])
def test_intervals_add_up_to_the_result_in_ios_and_in_bytes(name: str, by: float) -> None:
    ios = 60_000
    part = DirectionResult(ios, ios * BLOCK, 60.0, ios / 60, ios * BLOCK / 60)
    at = at_hosts(part)
    column = SeriesColumns(
        host="h1", direction="read", iops=[1000.0] * 60, bw_bytes_per_s=[1000.0 * BLOCK] * 60
    )
    if name:
        column = column.model_copy(update={name: [x * by for x in getattr(column, name)]})
    at.steps[0].series = SeriesRecord(step_s=1.0, start_s=0.0, columns=[column])
    assert [each.id for each in violated(at)] == (["series-mismatch"] if name else [])
