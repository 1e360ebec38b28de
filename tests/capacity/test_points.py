"""What one point says: figures with intervals, a verdict by confidence, and why it may be ended
early.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.capacity.systems import System, measure, p99_limit, result_of, seconds_of
from tui.capacity.interval import percentile_interval, time_in
from tui.capacity.points import PointData, backlog, clearly_over, judge
from tui.metrics.histogram import Histogram
from tui.metrics.series import ClusterSecond
from tui.model.event import Buckets, DirectionResult, LatencyResult
from tui.model.operands import clause
from tui.model.profile_parts import parse_limit
from tui.model.search import Limit, Offer, Search
from tui.text.search_texts import search_text

SEARCH = Search("capacity", limits=(p99_limit(20),))


def histogram(*parts: tuple[int, int]) -> Buckets:
    """Counts by latency in µs."""
    found = Histogram()
    for value, count in parts:
        found.record(value * 1000, count)
    return found.buckets


def seconds_like(*parts: tuple[int, int], times: int = 10) -> list[ClusterSecond]:
    each = histogram(*parts)
    return [ClusterSecond({"read": sum(each.n)}, {"read": each}) for _ in range(times)]


def results(seconds: list[ClusterSecond]) -> dict[str, DirectionResult]:
    names = dict.fromkeys(name for each in seconds for name in each.lat)
    return {
        name: result_in([each.lat[name] for each in seconds], float(len(seconds))) for name in names
    }


def result_in(parts: list[Buckets], length: float) -> DirectionResult:
    whole = Histogram()
    for each in parts:
        whole.add(each)
    n = whole.total
    lat = LatencyResult(n, 1, 10**12, time_in(whole.buckets) / n, 1e5, {}, whole.buckets)
    return DirectionResult(n, n * 4096, length, n / length, n * 4096 / length, lat=lat)


def second(**parts: Buckets) -> ClusterSecond:
    return ClusterSecond({name: sum(each.n) for name, each in parts.items()}, parts)


def limited(*texts: str) -> Search:
    return replace(SEARCH, limits=tuple(map(parse_limit, texts)))


def test_interval_of_a_percentile_holds_it_in_most_of_many_points() -> None:
    random, held = np.random.default_rng(5), 0
    for _ in range(60):
        took = random.exponential(1.0, 10_000)
        result = result_of(np.zeros(len(took)), took / 1000, 10.0)
        assert result.lat is not None and result.lat.buckets is not None
        seconds = [Histogram.from_buckets(result.lat.buckets).buckets]
        told = percentile_interval(result.lat.buckets, 99.0, seconds)
        assert told is not None
        held += told.low <= 4.605e6 <= told.high
    assert held >= 55


def test_slow_ios_in_bunches_make_a_percentile_less_sure() -> None:
    calm = seconds_like((1000, 985), (9000, 15))
    bunched = seconds_like((1000, 1000), times=9) + seconds_like((1000, 850), (9000, 150), times=1)
    told = [percentile_interval(results(each)["read"].lat.buckets, 99.0,  # type: ignore
        [s.lat["read"] for s in each])
            for each in (calm, bunched)]  # fmt: skip
    assert told[0] is not None and told[1] is not None
    assert told[0].low > 8e6
    assert told[1].low < 1.1e6 < told[1].value
    assert told[1].share_error > 2 * told[0].share_error


@pytest.mark.parametrize(("rate", "verdict"), [(1300, "meets"), (1995, "breaks")])
def test_verdict_is_sure_far_from_the_limit(rate: float, verdict: str) -> None:
    point = measure(System(), SEARCH, Offer(rate, 20.0), 3, np.random.default_rng(1))
    assert point.verdict == verdict
    assert point.measured[0].low is not None and point.measured[0].value is not None


def test_too_few_ios_behind_a_percentile_are_not_clear() -> None:
    limit = replace(SEARCH, limits=(p99_limit(20, 99.99),))
    seconds = seconds_like((1000, 100))
    point = judge(limit, Offer(100.0, 10.0), PointData(0, results(seconds), seconds, 1))
    assert (point.verdict, point.measured[0].high) == ("unclear", None)


def test_point_that_lost_a_host_is_void() -> None:
    seconds = seconds_like((1000, 1000))
    point = judge(SEARCH, Offer(1000.0, 10.0), PointData(0, results(seconds), seconds, 1, ("h2",)))
    assert (point.verdict, point.why) == ("void", clause("hosts-lost", hosts=["h2"]))
    assert point.lost == ("h2",)


def test_offered_rate_that_is_not_done_breaks_the_limits() -> None:
    seconds = seconds_like((1000, 900))
    point = judge(SEARCH, Offer(1000.0, 10.0), PointData(0, results(seconds), seconds, 2))
    short = clause("not-achieved", job="", iops=pytest.approx(900.0), offered_iops=1000.0)
    assert (point.verdict, point.why) == ("breaks", short)
    assert search_text(point.why) == "achieved 900 of 1.00k IOPS offered"


def test_errors_beyond_their_limit_break_it() -> None:
    search = replace(SEARCH, limits=(Limit("errors = 0", "", "errors", None, 0.0),))
    seconds = seconds_like((1000, 1000))
    data = PointData(0, results(seconds), seconds, 2)
    verdicts = [judge(search, Offer(1000.0, 10.0), replace(data, errors=n)).verdict
                for n in (0, 1)]  # fmt: skip
    assert verdicts == ["meets", "breaks"]


def test_limit_without_a_direction_holds_for_each() -> None:
    seconds = seconds_like((1000, 1000))
    own = results(seconds)["read"]
    both = [
        ClusterSecond(
            {"read": 1000, "write": 1000}, {**each.lat, "write": histogram((40_000, 1000))}
        )
        for each in seconds
    ]
    slow = results(seconds_like((40_000, 1000)))["read"]
    search = replace(SEARCH, limits=(replace(SEARCH.limits[0], direction=""),))
    point = judge(search, Offer(2000.0, 10.0), PointData(0, {"read": own, "write": slow}, both, 2))
    assert [(each.direction, each.verdict) for each in point.measured] == [
        ("read", "meets"),
        ("write", "breaks"),
    ]


def test_stall_counts_from_the_intended_start() -> None:
    """A generator with four I/Os in flight tells four slow ones of a stall of 3 s.

    3000 began late.
    """
    usual, stall, after = (seconds_like((500, n), times=1) for n in (1000, 4, 3984))
    seconds = [*usual * 10, *stall * 3, *after, *usual * 16]
    point = judge(SEARCH, Offer(1000.0, 30.0), PointData(0, results(seconds), seconds, 2))
    assert point.measured[0].value is not None and point.measured[0].value < 1e6
    assert 2e9 < point.intended["99"] < 3.5e9
    assert point.verdict == "breaks"
    assert isinstance(point.why, dict) and point.why["code"] == "began-late"


READS, WRITES = histogram((300, 6900), (900, 100)), histogram((4000, 3000))


@pytest.mark.parametrize(
    "text", ["read.p99 < 2ms", "read.p99.9 < 2ms", "read.mean < 0.5ms", "sync.p99 < 2ms"]
)
@pytest.mark.parametrize("split", [{"read": 7.0, "write": 3.0}, {}])
def test_slow_direction_breaks_no_limit_of_another_when_all_is_done_in_time(
    text: str, split: dict[str, float]
) -> None:
    seconds = [second(read=READS, write=WRITES, sync=READS)] * 10
    offer, dirs = Offer(10_000.0, 10.0), results(seconds)
    point = judge(limited(text), offer, PointData(0, dirs, seconds, 2, split=split))
    assert point.verdict == "meets"
    assert point.intended["99"] == pytest.approx(4e6, rel=0.01)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("read.p99 < 20ms", ""),
        ("write.p99 < 20ms", "write.p99 < 20ms: "),
        ("write.mean < 20ms", "write.mean < 20ms: "),
        ("p99 < 20ms", "write p99 < 20ms: "),
        ("sync.p99 < 20ms", "sync.p99 < 20ms: "),
    ],
)
def test_stall_of_one_direction_breaks_its_own_limits_and_those_of_syncs_behind_it(
    text: str, why: str
) -> None:
    """Writes stand still for 3 s, and are made good in the second after.

    Reads go on all the time.
    """
    reads, sync = histogram((500, 700)), histogram((500, 30))
    usual, stall, after = (
        second(read=reads, write=histogram((500, n)), sync=sync) for n in (300, 1, 1197)
    )
    seconds = [*[usual] * 10, *[stall] * 3, after, *[usual] * 16]
    split = {"read": 700.0, "write": 300.0}
    offer, dirs = Offer(1000.0, 30.0), results(seconds)
    point = judge(limited(text), offer, PointData(0, dirs, seconds, 2, split=split))
    assert point.verdict == ("breaks" if why else "meets")
    told = search_text(point.why)
    assert not why or (told.startswith(why) and "from the intended start" in told)
    assert 2e9 < point.intended["99"] < 3.5e9


def test_direction_that_stands_still_to_the_end_makes_no_other_late() -> None:
    reads, offer, split = (
        histogram((500, 700)),
        Offer(1000.0, 30.0),
        {"read": 700.0, "write": 300.0},
    )
    usual, stall = (second(read=reads, write=histogram((500, n))) for n in (300, 1))
    seconds = [*[usual] * 27, *[stall] * 3]
    verdicts = [
        judge(limited(text), offer, PointData(0, results(seconds), seconds, 2, split=split)).verdict
        for text in ("read.p99 < 20ms", "write.p99 < 20ms")
    ]
    assert verdicts == ["meets", "breaks"]


def test_without_a_stall_both_starts_are_the_same() -> None:
    point = measure(System(), SEARCH, Offer(1400.0, 20.0), 2, np.random.default_rng(2))
    assert point.measured[0].value is not None
    assert point.intended["99"] == pytest.approx(point.measured[0].value, rel=0.02)


@pytest.mark.parametrize(("rate", "seconds"), [(1000.0, 44), (10_000.0, 290), (400.0, 17)])
def test_lag_that_lasts_is_not_forgotten(rate: float, seconds: int) -> None:
    """A second without I/O that the load never makes good: all I/Os after it begin late."""
    ios = [rate] * 5 + [0.0] + [rate] * 300
    behind = backlog(ios, [1.0] * len(ios), rate)
    assert not any(behind[:5])
    assert all(behind[5 : 5 + seconds])
    made_good = [*ios[:20], 2 * rate, *ios[20:]]
    assert not any(backlog(made_good, [1.0] * len(made_good), rate)[20:])


@given(
    st.lists(st.tuples(st.integers(0, 400), st.floats(0.5, 2.0)), max_size=40),
    st.floats(10.0, 200.0),
)
def test_backlog_is_the_largest_shortfall_that_arrivals_do_not_explain(
    seconds: list[tuple[int, float]], rate: float
) -> None:
    ios, lengths = [float(n) for n, _ in seconds], [length for _, length in seconds]
    for at, told in enumerate(backlog(ios, lengths, rate)):
        each = [0.0]
        for start in range(at + 1):
            due = [rate * length for length in lengths[start : at + 1]]
            windows = len(ios) * (len(ios) + 1) / 2
            chance = NormalDist().inv_cdf(1 - 0.05 / windows) * sqrt(sum(due))
            each.append(sum(due) - sum(ios[start : at + 1]) - chance)
        assert told == pytest.approx(max(each), abs=1e-6)


@pytest.mark.parametrize("seconds", [10, 60, 300])
@pytest.mark.parametrize("rate", [10, 100, 1000, 10_000])
def test_random_arrivals_that_are_served_at_once_are_seldom_late(rate: int, seconds: int) -> None:
    random = np.random.default_rng(3)
    points = [random.poisson(rate, seconds).tolist() for _ in range(100)]
    late = sum(any(backlog(ios, [1.0] * seconds, float(rate))) for ios in points)
    assert late <= 10  # 5 expected at most


def test_full_load_has_no_intended_start() -> None:
    seconds = seconds_like((1000, 1000))
    point = judge(SEARCH, Offer(None, 10.0), PointData(0, results(seconds), seconds, 2))
    assert (point.intended, point.intended_why) == (
        {},
        "closed-loop",
    )


def test_overload_is_ended_early_and_one_bad_second_is_not() -> None:
    offer = Offer(1000.0, 60.0)
    bad, good = seconds_like((30_000, 1000), times=1), seconds_like((1000, 1000), times=1)
    assert clearly_over(SEARCH, offer, [*good * 5, *bad, *good * 5]) is None
    assert "slow-ios" in (clearly_over(SEARCH, offer, bad * 5) or {}).values()
    assert clearly_over(SEARCH, replace(offer, role="curve"), bad * 5) is None
    assert clearly_over(SEARCH, replace(offer, rate_iops=None), bad * 5) is None


def test_a_point_that_was_ended_early_breaks_the_limit_though_its_few_seconds_are_not_sure() -> (
    None
):
    seconds = seconds_like((1000, 1000), times=2) + seconds_like((1000, 940), (30_000, 60), times=3)
    whole, cut = (judge(SEARCH, Offer(1000.0, 60.0),
        PointData(0, results(seconds), seconds, 2, cut=ended))
                  for ended in (False, True))  # fmt: skip
    assert (whole.verdict, cut.verdict) == ("unclear", "breaks")
    assert whole.measured[0].low == cut.measured[0].low


def test_mean_far_above_its_limit_ends_a_point_early_and_one_bad_second_does_not() -> None:
    search, offer = limited("read.mean < 1ms"), Offer(1000.0, 60.0)
    bad, good = seconds_like((50_000, 1000), times=1), seconds_like((500, 1000), times=1)
    over = clearly_over(search, offer, bad * 5)
    assert over is not None and over["code"] == "slow-mean"
    assert over["operands"]["mean_ns"] == pytest.approx(50e6, rel=0.01)
    assert clearly_over(search, offer, bad * 4) is None, "a quiet rest could still mend it"
    assert clearly_over(search, offer, [*good * 5, *bad * 2, *good * 5]) is None
    assert clearly_over(search, offer, seconds_like((2_000, 1000), times=50)) is None
    assert clearly_over(search, replace(offer, role="curve"), bad * 5) is None


def test_backlog_that_grows_ends_a_point_early() -> None:
    over = clearly_over(SEARCH, Offer(1000.0, 60.0), seconds_like((1000, 500), times=8))
    assert over is not None and over["code"] == "overdue"


def test_point_at_its_capacity_is_seldom_ended_early() -> None:
    cut = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        _, started, done = System().run(1770, 20.0, random)
        seconds = seconds_of(started, done, 20)
        cut += any(clearly_over(SEARCH, Offer(1770.0, 20.0), seconds[:at]) for at in range(1, 20))
    assert cut <= 1


def test_one_job_of_several_that_falls_behind_breaks_a_point_that_is_whole_in_all() -> None:
    seconds = seconds_like((1000, 1000))
    offer = Offer(1000.0, 10.0, shares={"readers": 0.99, "writers": 0.01})
    for writers, verdict in ((10.0, "meets"), (0.0, "breaks")):
        did = {"readers": 1000.0 - writers, "writers": writers}
        point = judge(SEARCH, offer, PointData(0, results(seconds), seconds, 2, jobs=did))
        assert point.verdict == verdict
    assert search_text(point.why) == "job writers: achieved 0 of 10 IOPS offered"
