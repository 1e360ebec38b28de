"""The knee: where more load gives little."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tui.record.matrix import LEAST_GAIN, LEAST_POINTS, Point, doublings, efficiency, knee

DOUBLINGS = [2.0**n for n in range(8)]
positive = st.floats(1e-3, 1e9)


def place(points: list[Point]) -> int | None:
    found = knee(points)
    return found.place if found is not None else None


def saturating(at: float, factor: float = 1.0) -> list[Point]:
    """A curve that rises in proportion until `at` and stays there."""
    return [(x, factor * min(x, at)) for x in DOUBLINGS]


@pytest.mark.parametrize(
    ("xs", "ys", "x"),
    [
        ([1, 2, 4, 8, 16], [146, 313, 673, 1056, 1113], 8),  # Ceph, random read of 1M over jobs
        # over block size
        ([4, 8, 16, 32, 64, 128, 256, 512, 1024], [6, 11, 22, 41, 73, 134, 142, 147, 146], 128),
        # Vitastor's raw drive over queue depth
        ([1, 16, 32, 128], [14_700, 120_000, 195_000, 195_000], 32),
    ],
)
def test_the_knees_of_published_curves_are_where_people_see_them(
    xs: list[float], ys: list[float], x: float
) -> None:
    found = place(list(zip(xs, ys, strict=True)))
    assert found is not None
    assert xs[found] == x


def test_the_knee_says_what_the_next_point_gives() -> None:
    found = knee([(1, 100), (2, 200), (4, 300), (8, 315)])
    assert found is not None
    assert found.gain == pytest.approx(0.05)


@given(slope=positive, offset=st.floats(0, 1e9))
def test_a_straight_line_has_no_knee(slope: float, offset: float) -> None:
    assert knee([(x, offset + slope * x) for x in DOUBLINGS]) is None


@given(slope=positive, step=positive, count=st.integers(LEAST_POINTS, 20))
def test_a_straight_line_of_even_steps_has_no_knee(slope: float, step: float, count: int) -> None:
    assert knee([(step * n, slope * step * n) for n in range(1, count + 1)]) is None


@given(count=st.integers(0, LEAST_POINTS - 1))
def test_few_points_have_no_knee(count: int) -> None:
    assert knee(saturating(2.0)[:count]) is None


@given(at=st.floats(1.2, 64.0), factor=positive)
def test_a_curve_that_saturates_has_its_knee_at_the_first_saturated_point(
    at: float, factor: float
) -> None:
    first = next(index for index, x in enumerate(DOUBLINGS) if x >= at)
    last_step = at / DOUBLINGS[first - 1] - 1
    assume(abs(last_step - LEAST_GAIN) > 1e-3)  # on the threshold itself rounding decides
    assert place(saturating(at, factor)) == (first if last_step > LEAST_GAIN else first - 1 or None)


@given(at=st.floats(1.2, 64.0), wide=positive, high=positive)
def test_units_do_not_move_the_knee(at: float, wide: float, high: float) -> None:
    plain = saturating(at)
    assume(
        all(
            abs(doublings(a, b) - log2(1 + LEAST_GAIN)) > 1e-6
            for a in plain
            for b in plain
            if b[0] > a[0]
        )
    )
    assert place([(x * wide, y * high) for x, y in plain]) == place(plain)


@given(noise=st.lists(st.floats(-0.02, 0.02), min_size=8, max_size=8))
def test_noise_on_the_plateau_does_not_move_the_knee(noise: list[float]) -> None:
    points = [(x, min(x, 8.0) * (1 + each)) for x, each in zip(DOUBLINGS, noise, strict=True)]
    assert place(points) == 3


def test_a_curve_that_is_flat_or_falls_from_its_begin_has_no_knee() -> None:
    assert knee([(x, 50.0) for x in DOUBLINGS]) is None
    assert knee([(x, 50.0 / x) for x in DOUBLINGS]) is None


@given(ys=st.lists(st.floats(0, 1e12), min_size=4, max_size=12))
def test_a_knee_is_never_the_first_or_the_last_point(ys: list[float]) -> None:
    found = place([(float(x), y) for x, y in enumerate(ys, 1)])
    assert found is None or 0 < found < len(ys) - 1


def test_what_is_zero_or_less_cannot_be_doubled() -> None:
    assert knee([(0, 1), (1, 2), (2, 3), (4, 3), (8, 3)]) is None
    assert knee([(1, 0), (2, 3), (4, 3), (8, 3)]) is None


def test_efficiency_is_one_where_it_starts_and_for_linear_scaling() -> None:
    assert efficiency([(1, 100), (2, 200), (4, 300), (8, 400)]) == pytest.approx(
        [1.0, 1.0, 0.75, 0.5]
    )
    assert efficiency([(2, 100), (4, 150)]) == pytest.approx([1.0, 0.75])
    assert efficiency([]) == []
