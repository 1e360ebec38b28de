"""Seconds of a point of a search, over all hosts, while they come."""

from __future__ import annotations

import pytest

from tui.engine.session.context import Seconds
from tui.metrics.histogram import Histogram
from tui.model.event import Buckets, DirectionSample, Sample


def sample(host: str, ios: int, *, restart: bool = False) -> Sample:
    read = DirectionSample(
        ios=ios, bytes=ios * 4096, lat=Buckets(idx=[100 + ios % 3, 900], n=[ios - 1, 1])
    )
    return Sample(
        t=0.0,
        host=host,
        step=2,
        phase="measure",
        host_time_ms=0,
        interval_s=1.0,
        dirs={"read": read},
        restart=restart,
    )


def told(seconds: Seconds) -> list[tuple[int, dict[int, int]]]:
    return [(each.ios["read"], dict(zip(each.lat["read"].idx, each.lat["read"].n, strict=True)))
            for each in seconds.totals()]  # fmt: skip


def test_a_second_is_there_once_all_hosts_have_told_it() -> None:
    seconds = Seconds(2, 2)
    assert [seconds.add(sample(host, ios)) for host,
        ios in (("h1", 10), ("h1", 20), ("h2", 30), ("h2", 40))] == [
        False, False, True, True,
    ]  # fmt: skip
    assert told(seconds) == [(40, {100: 29, 101: 9, 900: 2}), (60, {101: 39, 102: 19, 900: 2})]


def test_what_a_host_did_before_it_began_again_counts_for_nothing() -> None:
    seconds = Seconds(2, 2)
    for host, ios in (("h1", 10), ("h2", 30), ("h1", 11), ("h2", 31)):
        seconds.add(sample(host, ios))
    seconds.add(sample("h1", 50, restart=True))
    assert told(seconds) == [(80, {100: 29, 102: 49, 900: 2})]


def test_a_sample_is_added_once_however_often_somebody_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    added: list[Buckets] = []
    add = Histogram.add

    def counted(histogram: Histogram, buckets: Buckets) -> None:
        added.append(buckets)
        add(histogram, buckets)

    monkeypatch.setattr(Histogram, "add", counted)
    seconds = Seconds(2, 2)
    for ios in range(10, 40):
        for host in ("h1", "h2"):
            if seconds.add(sample(host, ios)):
                seconds.totals()
    assert len(added) == 60
