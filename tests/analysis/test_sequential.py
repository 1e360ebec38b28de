from __future__ import annotations

from math import nextafter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long.bench.ab_budget import shares
from tui.analysis.ab import (
    PastLooks,
    after_looks,
    keep_looks,
    look,
    looks_after,
    runs_for,
    side_of,
    spent,
)
from tui.analysis.measured import Floor
from tui.model.problem import NotComparableError


def test_the_order_is_abba() -> None:
    assert "".join(side_of(index) for index in range(8)) == "ABBAABBA"


def test_all_that_is_spent_is_five_per_cent() -> None:
    assert spent(0) == 0
    assert spent(1) == pytest.approx(0.05)
    before = 0.0
    for each in range(2, 9):
        found = look(
            ([100.0, 102.0] * 4)[:each], ([101.0, 103.0] * 4)[:each], 48, 0.05, before=before
        )
        before = found.spent
    assert found.most < found.runs, "more runs are made than it takes"
    assert before == pytest.approx(0.05) and found.all_spent


def test_how_far_runs_come_out_says_how_many_it_takes() -> None:
    assert look([100.0, 100.1], [104.0, 104.1], 48, 0.05).most == 10
    noisy = look([100.0, 103.0], [102.0, 105.0], 48, 0.05)
    assert noisy.most == 36  # 2.07 % by two degrees of freedom
    assert look([100.0, 103.0], [102.0, 105.0], 12, 0.05).most == 12, (
        "more do not fit into the time"
    )


def test_looks_that_cannot_be_read_are_not_taken_for_none(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / name).mkdir()
    kept = keep_looks(
        [look([100.0, 100.1], [104.0, 104.1], 48, 0.05)], ["a", "d"], ["b", "c"], tmp_path
    )
    assert looks_after(tmp_path / "d") == kept and looks_after(tmp_path / "a") == []
    path = tmp_path / "d" / "looks.json"
    path.write_bytes(path.read_bytes().replace(b"benchtui", b"bencht\xff"))
    with pytest.raises(NotComparableError, match="cannot be read"):
        looks_after(tmp_path / "d")


def test_what_is_spent_stays_spent_when_runs_turn_out_noisier() -> None:
    a, b = [100.0, 100.1, 130.0], [101.0, 101.2, 128.0]
    first = look(a[:2], b[:2], 48, 0.2)
    found, new = after_looks(a, b, 48, 0.2)
    assert found is not None and look(a, b, 48, 0.2, before=first.alpha).alpha == 0
    assert (found.runs, found.low, found.most, found.spent) == (4, first.low, 48, first.alpha)
    assert new == [first]


def test_less_than_two_of_each_are_not_looked_at() -> None:
    assert after_looks([100.0, 100.0, 101.0], [100.0], 48, 0.05) == (None, [])


NOISY = [100.0, 103.0, 99.0, 101.0], [102.0, 99.0, 104.0, 103.0]


@given(
    st.lists(st.floats(0.5, 2), min_size=2, max_size=9),
    st.lists(st.floats(0.5, 2), min_size=2, max_size=9),
    st.floats(0, 0.05),
)
def test_a_look_is_made_however_little_may_still_be_spent(
    a: list[float], b: list[float], before: float
) -> None:
    """Of 1,500 simulated tests one left 1e-17 to spend, which is lost in a float next to 1."""
    for each in (before, nextafter(0.05, 0), nextafter(0.05, 0) - 1e-17):
        found = look(a, b, 48, 0.05, before=each)
        assert found.low <= found.ratio <= found.high or found.ratio == pytest.approx(found.low)


def test_what_is_left_to_spend_may_be_next_to_nothing() -> None:
    before = spent(4 / look([1.0, 1.02], [1.01, 1.0], 48, 0.05).most)
    found = look([1.0, 1.02], [1.01, 1.0], 48, 0.05, before=nextafter(before, 0))
    assert 0 < found.alpha < 1e-16 and found.answer == "go on"
    assert found.low < found.ratio < found.high


def test_the_time_that_there_is_has_no_part_in_what_is_spent() -> None:
    (short, few), (long, many) = (after_looks(*NOISY, room, 0.05) for room in (8, 48))
    assert short is not None and long is not None
    assert [each.alpha for each in few] == [each.alpha for each in many]
    assert short.spent < 0.05 and (short.most, long.most > 8) == (8, True)


def test_looks_of_an_earlier_sitting_stay_as_they_were_whatever_is_asked_by_now() -> None:
    _, made = after_looks(NOISY[0][:3], NOISY[1][:3], 6, 0.05)
    found, new = after_looks(*NOISY, 48, 0.1, Floor(6, 0.01), PastLooks(made))
    assert found is not None and [each.runs for each in new] == [8]
    assert found.spent == pytest.approx(sum(each.alpha for each in [*made, *new]))
    before, none = after_looks(NOISY[0][:3], NOISY[1][:3], 48, 0.3, Floor(6, 0.01), PastLooks(made))
    assert before is not None and (before.low, before.high, none) == (
        made[-1].low,
        made[-1].high,
        [],
    )
    assert (made[-1].answer, before.answer) == ("go on", "no difference as large"), (
        "of the same interval"
    )


def test_what_was_spent_on_runs_that_are_gone_stays_spent() -> None:
    found, new = after_looks(*NOISY, 48, 0.05, made=PastLooks(lost=0.05))
    assert found is not None and (found.answer, found.all_spent, new) == ("go on", True, [])


def test_when_less_is_asked_for_than_runs_are_there_another_look_spends_the_rest() -> None:
    a, b = NOISY[0] * 2, NOISY[1] * 2
    _, made = after_looks(a[:6], b[:6], 48, 0.01)
    found, _ = after_looks(a[:6], b[:6], 48, 0.065, made=PastLooks(made))
    assert found is not None and (found.answer, found.most) == ("go on", 14)
    found, new = after_looks(a[:7], b[:7], 48, 0.065, made=PastLooks(made))
    assert found is not None and found.all_spent and [each.runs for each in new] == [14]


def test_a_clear_difference_is_known_at_the_first_look() -> None:
    found = look([100.0, 100.1], [110.0, 110.2], 10, 0.05)
    assert (found.answer, found.runs) == ("higher", 4)
    assert found.low < found.ratio < found.high


def test_the_same_is_no_difference_as_large() -> None:
    assert look([100.0, 100.1], [100.1, 100.0], 10, 0.05).answer == "no difference as large"


def test_noise_continues_and_says_what_it_would_have_found() -> None:
    found = look([100.0, 108.0], [104.0, 111.0], 10, 0.05)
    assert found.answer == "go on"
    assert found.detectable > 0.05


def test_a_noise_floor_makes_the_answer_come_sooner() -> None:
    a, b = [100.0, 101.2], [105.0, 106.3]
    assert look(a, b, 10, 0.05).answer == "go on"
    assert look(a, b, 10, 0.05, Floor(6, 0.01)).answer == "higher"


@pytest.mark.parametrize(("cov", "floor_runs"), [(0.005, 0), (0.008, 0), (0.01, 6)])
def test_a_change_of_five_per_cent_is_found_in_half_the_time_of_five_and_five(
    cov: float, floor_runs: int
) -> None:
    found, time = shares(0.05, cov, times=200, floor_runs=floor_runs)
    assert found >= 0.9
    assert time <= 0.5


@pytest.mark.parametrize(
    ("deviation", "runs"), [(0.005, 10), (0.01, 10), (0.02, 16), (0.03, 36), (0.05, 100)]
)
def test_a_noisy_target_needs_more_runs(deviation: float, runs: int) -> None:
    assert runs_for(0.05, deviation) == runs


@pytest.mark.slow
@pytest.mark.parametrize("deviation", [0.03, 0.05])
def test_with_so_many_runs_five_per_cent_is_found_on_a_noisy_target(deviation: float) -> None:
    found, _ = shares(0.05, deviation, times=300, sittings=((150, 0.05),))
    assert found >= 0.88


def test_a_continued_experiment_keeps_its_false_alarm_rate() -> None:
    """There is time for four runs more each day: with all 5 % spent in the time of each, it would
    err in 6 %.
    """
    wrong, _ = shares(0.0, 0.1, times=300, sittings=tuple((room, 0.05) for room in range(8, 33, 4)))
    assert wrong <= 0.05


@pytest.mark.parametrize("floor_runs", [0, 6])
def test_no_change_is_seldom_called_one(floor_runs: int) -> None:
    wrong, _ = shares(0.0, 0.01, times=300, floor_runs=floor_runs)
    assert wrong <= 0.06


def test_what_is_surely_less_than_what_matters_is_no_difference_as_large() -> None:
    found = look([100.0, 100.01, 100.0], [99.7, 99.71, 99.7], 10, 0.05)
    assert found.high < 1
    assert found.answer == "no difference as large"
