from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.events import CASES, DATA, compared, direction, measured_in, sample, started
from tui.journal.fold import fold
from tui.journal.reader import read_events
from tui.journal.state import KEPT_NEWEST, RunState
from tui.metrics.histogram import Histogram
from tui.model.event import (
    AnyEvent,
    HostFactsCollected,
    HostProblem,
    HostState,
    Message,
    NoteAdded,
    PhaseEnded,
    PhaseStarted,
    RunEnded,
    RunResumed,
    Sample,
    StopRequested,
)


def state_after(*events: AnyEvent) -> RunState:
    state = RunState()
    for event in events:
        fold(state, event)
    return state


def test_the_current_rate_of_the_cluster_is_the_sum_of_its_hosts() -> None:
    state = state_after(
        *started("h1", "h2"),
        sample(1.0, "h1", [1000] * 30),
        sample(1.2, "h2", [1000] * 20, interval_s=2.0),
    )
    # the first interval ends at 1.2
    assert state.cluster["read"].iops == pytest.approx(30 / 1.0 + 20 / 1.2)
    assert state.total.bw_bytes_per_s == pytest.approx((30 / 1.0 + 20 / 1.2) * 4096)


def test_a_host_that_fell_silent_is_left_out_of_the_rate_and_marked() -> None:
    state = state_after(
        *started("h1", "h2"),
        *(sample(float(t), "h2", [1000] * 20) for t in (1, 2)),
        *(sample(float(t), "h1", [1000] * 30) for t in range(1, 7)),
    )
    assert state.cluster["read"].iops == pytest.approx(30)
    assert state.hosts["h2"].stale_s(6.0) == pytest.approx(4.0)
    assert state.hosts["h1"].stale_s(6.0) is None


def test_all_hosts_fall_silent_when_time_passes_without_events() -> None:
    state = state_after(*started("h1"), sample(1.0, "h1", [1000] * 30))
    assert state.cluster["read"].iops == pytest.approx(30)
    state.tick(4.5)
    assert state.cluster["read"].iops is None
    assert state.cluster["read"].interval_percentiles["99"] is None


def test_a_host_that_never_sent_a_sample_is_silent_since_it_runs() -> None:
    state = state_after(*started("h1"))
    assert state.hosts["h1"].stale_s(2.0) is None
    assert state.hosts["h1"].stale_s(5.0) == pytest.approx(5.0)


def test_a_host_without_load_is_never_silent() -> None:
    state = state_after(*started("h1"), HostState(t=1.0, host="h1", state="done"))
    assert state.hosts["h1"].stale_s(100.0) is None


def test_interval_percentiles_of_the_cluster_are_merged_from_buckets_not_averaged() -> None:
    fast, slow = [10_000] * 900, [5_000_000] * 100
    state = state_after(*started("h1", "h2"), sample(1.0, "h1", fast), sample(1.1, "h2", slow))
    merged = Histogram()
    for value in fast + slow:
        merged.record(value)
    found = state.cluster["read"].interval_percentiles
    assert found["50"] == merged.percentile(50)
    # the middle of its bucket is above the exact maximum
    assert found["99"] == found["max"] == 5_000_000


def test_so_far_holds_everything_since_the_ramp() -> None:
    state = state_after(
        *started("h1"),
        sample(1.0, "h1", [9_000_000] * 50, ramp=True),
        sample(2.0, "h1", [1000] * 10, restart=True),
        sample(3.0, "h1", [2000] * 10),
    )
    view = state.cluster["read"]
    assert (view.ios, view.bytes) == (20, 20 * 4096)
    assert view.so_far.total == 20
    assert view.so_far_percentiles["max"] == 2000
    assert view.so_far_mean_ns == pytest.approx(1500)


def test_load_during_the_ramp_is_shown_as_a_rate() -> None:
    state = state_after(*started("h1"), sample(1.0, "h1", [1000] * 50, ramp=True))
    assert state.cluster["read"].iops == pytest.approx(50)
    assert state.cluster["read"].ios == 0


def test_a_restart_of_one_host_does_not_touch_the_totals_of_another() -> None:
    state = state_after(
        *started("h1", "h2"),
        sample(1.0, "h1", [1000] * 5),
        sample(1.1, "h2", [1000] * 7),
        sample(2.0, "h1", [1000] * 3, restart=True),
    )
    assert state.cluster["read"].ios == 3 + 7
    assert state.cluster["read"].so_far.total == 3 + 7


def test_reads_and_writes_are_apart_and_together() -> None:
    both = sample(1.0, "h1", [1000] * 10)
    both.dirs["write"] = direction([8000] * 30)
    state = state_after(*started("h1"), both)
    assert state.cluster["read"].iops == pytest.approx(10)
    assert state.cluster["write"].iops == pytest.approx(30)
    assert state.total.iops == pytest.approx(40)
    assert state.hosts["h1"].total.lat_mean_ns == pytest.approx((10 * 1000 + 30 * 8000) / 40)
    assert state.total.so_far.total == 40


def test_syncs_are_a_direction_that_no_total_counts() -> None:
    both = sample(1.0, "h1", [1000] * 10, name="write")
    both.dirs["sync"] = direction([2_000_000] * 10, block=0)
    state = state_after(*started("h1"), both)
    assert state.cluster["sync"].iops == pytest.approx(10)
    assert state.cluster["sync"].so_far_percentiles["99"] == 2_000_000
    assert state.total.iops == state.hosts["h1"].total.iops == pytest.approx(10)
    assert state.total.so_far.total == state.hosts["h1"].total.so_far.total == 10
    assert sum(value or 0 for value in state.total.series("iops")) == pytest.approx(10)


def test_a_direction_that_is_silent_in_an_interval_has_rate_0_not_its_last_one() -> None:
    both = sample(1.0, "h1", [1000] * 10)
    both.dirs["write"] = direction([8000] * 30)
    state = state_after(*started("h1"), both, sample(2.0, "h1", [1000] * 10))
    assert state.cluster["write"].iops == 0
    assert state.hosts["h1"].dirs["write"].iops == 0


def test_a_direction_that_never_did_io_is_not_shown() -> None:
    idle = sample(1.0, "h1", [1000])
    idle.dirs["trim"] = direction([])
    state = state_after(*started("h1"), idle)
    assert list(state.cluster) == ["read"]


def test_a_very_short_interval_does_not_replace_the_shown_rate_but_counts() -> None:
    state = state_after(
        *started("h1"),
        sample(1.0, "h1", [1000] * 100),
        sample(1.02, "h1", [1000] * 1, interval_s=0.02),
    )
    assert state.cluster["read"].iops == pytest.approx(100)
    assert state.cluster["read"].ios == 101


def test_samples_that_come_late_in_a_bunch_land_in_the_seconds_they_belong_to() -> None:
    live = [
        sample(t + 0.01, "h1", [1000] * 100, clock_s=7000.0, late_s=0.01) for t in (1.0, 2.0, 3.0)
    ]
    bunch = [
        sample(9.0, "h1", [1000] * 100, clock_s=7000.0, late_s=late)
        for late in (5.0, 4.0, 3.0, 2.0, 1.0)
    ]
    state = state_after(*started("h1"), *live, *bunch)
    assert state.hosts["h1"].dirs["read"].series("iops") == pytest.approx([100.0] * 8, rel=0.02)


def test_a_series_ends_with_the_last_whole_second_and_can_be_cut_to_the_newest() -> None:
    events = [sample(t + 0.5, "h1", [1000] * (10 * t)) for t in range(1, 6)]
    state = state_after(*started("h1"), *events)
    view = state.cluster["read"]
    assert view.series("iops") == pytest.approx([15.0, 25.0, 35.0, 45.0])
    assert view.series("iops", last=2) == pytest.approx([35.0, 45.0])
    assert view.series("latency") == pytest.approx([1000.0] * 4)
    assert view.series("bandwidth") == pytest.approx([value * 4096 for value in (15, 25, 35, 45)])


def test_a_stalled_host_does_not_hold_up_the_series_of_the_cluster() -> None:
    state = state_after(
        *started("h1", "h2"),
        sample(1.0, "h2", [1000] * 10),
        *(sample(float(t), "h1", [1000] * 10) for t in range(1, 11)),
    )
    assert len(state.cluster["read"].series("iops")) == 10


def test_layout_gives_progress_and_rates_and_stays_out_of_the_measurement() -> None:
    events = [
        *started("h1")[:1],
        PhaseStarted(t=0.0, phase="layout", step=0, total_bytes=1000 * 4096),
        HostState(t=0.0, host="h1", state="layout"),
        sample(1.0, "h1", [1000] * 250, phase="layout", name="write"),
    ]
    state = state_after(*events)
    progress = state.progress(1.0)
    assert progress.fraction == pytest.approx(0.25)
    assert progress.remaining_s == pytest.approx(3.0)
    assert state.total.iops == pytest.approx(250)
    fold(state, sample(1.5, "h1", [1000] * 500))  # not of this phase
    assert state.progress(1.5).fraction == pytest.approx(0.25)
    fold(state, PhaseStarted(t=4.0, phase="measure", step=0, expected_s=60.0))
    assert state.total.iops is None
    fold(state, sample(4.5, "h1", [1000] * 9, phase="layout", name="write"))  # late
    fold(state, sample(5.0, "h1", [1000] * 7))
    assert list(state.cluster) == ["read"]
    assert state.total.ios == 7


def test_a_load_with_size_and_time_ends_by_what_comes_first() -> None:
    phase = PhaseStarted(t=0.0, phase="measure", step=0, expected_s=60.0, total_bytes=1000 * 4096)
    state = state_after(*started("h1")[:1], phase, sample(6.0, "h1", [1000] * 500))
    assert state.progress(6.0).fraction == pytest.approx(0.5)
    assert state.progress(6.0).remaining_s == pytest.approx(6.0)
    assert state.progress(54.0).fraction == pytest.approx(0.9)
    assert state.progress(54.0).remaining_s == pytest.approx(6.0)


def test_progress_of_a_measurement_is_by_time_and_never_beyond_the_end() -> None:
    state = state_after(*started("h1"))
    assert state.progress(15.0).fraction == pytest.approx(0.25)
    assert state.progress(15.0).remaining_s == pytest.approx(45.0)
    assert state.progress(90.0) == state.progress(90.0).__class__(1.0, 0.0, 90.0)


def test_a_phase_that_nothing_bounds_has_no_fraction() -> None:
    state = state_after(PhaseStarted(t=2.0, phase="preflight"))
    progress = state.progress(5.0)
    assert (progress.fraction, progress.remaining_s, progress.elapsed_s) == (None, None, 3.0)


def test_a_new_step_starts_its_own_figures() -> None:
    state = state_after(
        *started("h1"),
        sample(1.0, "h1", [1000] * 10),
        PhaseEnded(t=2.0, phase="measure", step=0),
        PhaseStarted(t=3.0, phase="measure", step=1, expected_s=10.0),
        sample(4.0, "h1", [1000] * 5, step=1, name="write"),
    )
    assert list(state.cluster) == ["write"]
    assert state.total.ios == 5
    assert list(state.hosts["h1"].dirs) == ["write"]


def test_the_end_of_the_load_leaves_totals_and_no_current_rate() -> None:
    state = state_after(
        *started("h1"), sample(1.0, "h1", [1000] * 10), PhaseEnded(t=1.1, phase="measure", step=0)
    )
    assert state.cluster["read"].iops is None
    assert state.cluster["read"].ios == 10


def test_a_host_that_is_done_does_not_count_for_the_current_rate() -> None:
    state = state_after(
        *started("h1", "h2"),
        sample(1.0, "h1", [1000] * 10),
        sample(1.0, "h2", [1000] * 20),
        HostState(t=1.2, host="h1", state="done"),
    )
    assert state.cluster["read"].iops == pytest.approx(20)


def test_every_visible_change_of_a_host_raises_its_version() -> None:
    state = state_after(*started("h1"))
    events: list[AnyEvent] = [
        HostFactsCollected(t=1.0, host="h1", facts={"cpus": 8}),
        HostState(t=1.0, host="h1", state="connecting", detail="connection lost"),
        HostProblem(t=1.0, host="h1", phase="measure", code="lost", message="gone", fatal=False),
        sample(1.0, "h1", [1000]),
        PhaseEnded(t=2.0, phase="measure", step=0),
    ]
    for event in events:
        before = state.hosts["h1"].version
        fold(state, event)
        assert state.hosts["h1"].version > before, event


def test_whether_a_group_has_changed_is_known_without_a_walk_over_its_hosts() -> None:
    state = state_after(*started("h1", "h2"), sample(1.0, "h1", [1000]), sample(1.0, "h2", [1000]))
    groups = (state.current.total, state.cluster["read"], state.current.host_totals["h1"])
    before = [group.version for group in groups]
    for group in groups:
        group.leaves.clear()
    assert [group.version for group in groups] == before
    fold(state, sample(2.0, "h1", [1000]))
    assert all(group.version > was for group, was in zip(groups, before, strict=True))
    before = [group.version for group in groups]
    fold(state, HostState(t=2.0, host="h1", state="lost"))
    assert all(group.version > was for group, was in zip(groups, before, strict=True))


def test_a_fatal_problem_is_the_one_shown() -> None:
    def problem(message: str, fatal: bool) -> HostProblem:
        return HostProblem(
            t=1.0, host="h1", phase="measure", code="c", message=message, fatal=fatal
        )

    state = state_after(
        *started("h1"), problem("slow", False), problem("dead", True), problem("late", False)
    )
    assert state.hosts["h1"].problem == "dead"
    assert len(state.problems) == 3


def test_messages_are_bounded_and_keep_the_newest() -> None:
    state = state_after(
        *(Message(t=0.0, severity="info", text=str(n)) for n in range(5 * KEPT_NEWEST))
    )
    assert KEPT_NEWEST <= len(state.messages.newest) <= 2 * KEPT_NEWEST
    assert state.messages.newest[-1].text == str(5 * KEPT_NEWEST - 1)


def test_the_state_follows_the_run() -> None:
    state = RunState()
    names: list[str] = [state.state]
    stop = StopRequested(t=1.0, mode="stop", by="ctl")
    for event in [
        *started("h1"),
        stop,
        RunEnded(t=2.0, state="partial", exit_code=4, reason="stopped"),
    ]:
        fold(state, event)
        names.append(state.state)
    assert list(dict.fromkeys(names)) == ["starting", "running", "stopping", "partial"]
    assert (state.exit_code, state.reason) == (4, "stopped")


def test_a_note_of_next_week_does_not_make_the_run_longer() -> None:
    ended = RunEnded(t=60.0, state="complete", exit_code=0)
    state = state_after(*started("h1"), ended, NoteAdded(t=600_000.0, text="later"))
    assert state.t == 60.0
    assert state.messages.newest[-1].text == "note: later"


@pytest.mark.parametrize("case", CASES)
def test_totals_of_a_recorded_run_agree_with_what_fio_counted_in_the_end(case: str) -> None:
    state = RunState(for_record=True)
    for event in read_events(DATA / case / "journal.jsonl"):
        fold(state, event)
    assert state.steps[0].results
    for host, result in state.steps[0].results.items():
        for name, final in result.dirs.items():
            leaf = measured_in(state).hosts[host][name]
            assert final.clat is not None
            assert leaf.ios == final.ios
            assert leaf.bytes == pytest.approx(final.bytes, rel=1e-3)
            assert leaf.so_far.total == pytest.approx(final.clat.n, abs=10)
            assert leaf.so_far_percentiles["99"] == pytest.approx(
                final.clat.percentiles_ns["99"], rel=0.02
            )
            assert leaf.so_far_max == final.clat.max_ns
            assert leaf.so_far_mean_ns == pytest.approx(final.clat.mean_ns, rel=0.01)


@pytest.mark.parametrize("case", CASES)
def test_rates_of_a_recorded_run_are_finite_at_every_event(case: str) -> None:
    state = RunState()
    for event in read_events(DATA / case / "journal.jsonl"):
        fold(state, event)
        if isinstance(event, Sample):
            rates = [state.total.iops, state.total.bw_bytes_per_s, state.total.lat_mean_ns]
            rates += [value for view in state.cluster.values() for value in view.series("iops")]
            assert all(rate is None or (math.isfinite(rate) and rate >= 0) for rate in rates)


def test_another_engine_continues_with_the_same_measurement() -> None:
    state = state_after(
        *started("h1"),
        *(sample(float(t), "h1", [1000] * 10) for t in range(1, 6)),
        RunResumed(t=15.0, utc="2026-11-20T10:00:15Z", gap_s=10.0),
        PhaseStarted(t=15.1, phase="connect"),
        PhaseStarted(t=15.2, phase="measure", step=0, expected_s=60.0),
        sample(16.0, "h1", [1000] * 10),
    )
    assert state.total.ios == 60
    assert state.total.series("iops") == [10.0] * 5 + [None] * 10 + [10.0]
    assert state.progress(30.0).fraction == pytest.approx(0.5)
    assert state.messages.newest[0].text == "a new engine took over after 10.0 s without one"


@pytest.mark.parametrize("going_on", [True, False])
def test_problems_before_the_load_are_those_of_the_engine_that_measures(going_on: bool) -> None:
    refused = HostProblem(t=1.0, host="h1", phase="preflight", code="no-space", message="full")
    begun, resumed = started("h1")[0], RunResumed(t=9.0, utc="", gap_s=8.0, going_on=going_on)
    state = state_after(begun, refused, resumed)
    kept = [] if going_on else ["no-space"]
    assert [problem.code for problem in state.problems] == kept
    assert state.hosts["h1"].problem_code == "".join(kept)


def test_without_a_takeover_a_phase_of_the_same_step_begins_again() -> None:
    again = PhaseStarted(t=15.2, phase="measure", step=0, expected_s=60.0)
    state = state_after(
        *started("h1"), sample(1.0, "h1", [1000] * 10), again, sample(16.0, "h1", [1000] * 7)
    )
    assert state.total.ios == 7


def test_a_compared_clock_places_samples_from_the_first_one_on() -> None:
    state = state_after(
        *started("h1"),
        compared("h1", 3600.0),
        sample(2.9, "h1", [1000] * 10, clock_s=3600.0, late_s=0.9),
        sample(3.8, "h1", [1000] * 20, clock_s=3600.0, late_s=0.8),
    )
    assert state.total.series("iops") == pytest.approx([10.0, 20.0])


HOST_SECONDS = st.tuples(
    st.sampled_from(["h1", "h2", "h3"]), st.sampled_from(["read", "write"]), st.booleans(),
    st.booleans(),
    st.lists(st.integers(1, 10**9), min_size=1, max_size=5),
)  # fmt: skip


@given(st.lists(HOST_SECONDS, max_size=12))
def test_latencies_of_all_hosts_together_are_those_of_each_merged(
    seconds: list[tuple[str, str, bool, bool, list[int]]],
) -> None:
    """Whatever restarts or is ramp: the running histograms hold what a merge of the hosts' own
    would.
    """
    state = state_after(*started("h1", "h2", "h3"))
    for t, (host, name, ramp, restart, latencies) in enumerate(seconds, 1):
        version = state.current.total.version
        fold(state, sample(float(t), host, latencies, name=name, ramp=ramp, restart=restart))
        assert state.current.total.version > version
    for group in (
        *state.cluster.values(),
        state.current.total,
        *state.current.host_totals.values(),
    ):
        merged = Histogram()
        for leaf in group.leaves:
            merged.merge(leaf.so_far)
        assert group.so_far == merged
