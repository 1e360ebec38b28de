"""How metrics are written on axes."""

from __future__ import annotations

import pytest

from tui.metrics.registry import METRICS


@pytest.mark.parametrize(
    ("metric", "highest", "scale"),
    [
        ("iops", 0, (1, "")),
        ("iops", 999, (1, "")),
        ("iops", 390_000, (1e3, "k")),
        ("bandwidth", 1023, (1, " B/s")),
        ("bandwidth", 9 * 2**30, (2**30, " GiB/s")),
        ("latency", 229_000, (1e3, " µs")),
        ("latency", 5e13, (1e9, " s")),
    ],
)
def test_an_axis_has_the_largest_unit_that_its_highest_value_fills(
    metric: str, highest: float, scale: tuple[float, str]
) -> None:
    assert METRICS[metric].scale(highest) == scale


def test_a_round_value_has_no_zeros_that_say_nothing() -> None:
    assert METRICS["iops"].rounded(200_000) == "200k"
    assert METRICS["bandwidth"].rounded(2 * 2**30) == "2 GiB/s"
    assert METRICS["latency"].rounded(2_500_000) == "2.5 ms"


def test_an_axis_has_one_unit() -> None:
    text = METRICS["bandwidth"].labels(2 * 2**30)
    assert [text(size) for size in (2**29, 2**30, 2**31)] == ["0.5 GiB/s", "1 GiB/s", "2 GiB/s"]
    assert METRICS["iops"].labels(1e6)(500_000) == "0.5M"
