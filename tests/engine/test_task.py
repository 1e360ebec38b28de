"""What another engine reads again of a command that it takes over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tui.engine.executors.per_host import _reopen
from tui.engine.session.history import History
from tui.engine.session.task import after_sample
from tui.model.event import Sample


def sample(ms: int) -> Sample:
    return Sample(
        t=0.0, host="h1", step=0, phase="measure", host_time_ms=ms, interval_s=1.0, dirs={}
    )


def times(samples: list[Sample]) -> list[int]:
    return [each.host_time_ms for each in samples]


def test_only_what_follows_the_last_journalled_sample_is_new() -> None:
    assert times(after_sample([sample(ms) for ms in (1000, 2000, 3000, 4000)], 2000)) == [
        3000,
        4000,
    ]


def test_samples_before_the_host_s_clock_was_set_back_are_not_new() -> None:
    assert times(after_sample([sample(ms) for ms in (9000, 10_000, 2000, 3000)], 2000)) == [3000]


def test_without_the_journalled_sample_the_later_ones_are_new() -> None:
    assert times(after_sample([sample(ms) for ms in (1000, 2500, 3000)], 2000)) == [2500, 3000]


def test_nothing_journalled_means_that_all_is_new() -> None:
    assert times(after_sample([sample(1000)], 0)) == [1000]


async def test_output_spooled_without_an_engine_is_expected_whatever_the_host_s_clock_says() -> (
    None
):
    history, expected = History(), []
    history.take(sample(4_000_000_000_000))  # in the year 2096; it arrived at 0 s

    async def reopen(sampled_ms: int, away_s: float) -> None:
        expected.append((sampled_ms, away_s))

    session = SimpleNamespace(name="h1", journal=SimpleNamespace(now=600.0), enter=lambda *_: None)
    run: Any = SimpleNamespace(
        step=SimpleNamespace(index=0), phase="measure", session=session, reopen=reopen, alive=True
    )
    await _reopen(history, run)
    assert expected == [(4_000_000_000_000, 600.0)]
