"""How much a host may print: a load generator that works stays far below it, a flood is cut off by
name.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tui.remote
from tui.remote.stream import BURST, CPU_BURST_S, CPU_SHARE, FLOODED, RATE, OutputBudget, flooded
from tui.remote.transport import HostError
from tui.text.problem_texts import problem_text

HEAVIEST = 2_000_000  # bytes a second that fio was ever seen to print


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.floats(0.01, 600.0), min_size=1, max_size=50))
def test_the_heaviest_load_is_no_flood_however_long_the_engine_slept(pauses: list[float]) -> None:
    clock = Clock()
    budget = OutputBudget("h1", "fio", clock)
    for pause in pauses:
        clock.now += pause
        budget.take("out", int(HEAVIEST * pause), CPU_SHARE * pause / 2)


@given(st.sampled_from(["out", "err"]), st.floats(1.5, 1000.0), st.floats(0.0, 3600.0))
def test_a_flood_is_named_once_its_burst_is_spent(kind: str, times: float, quiet_s: float) -> None:
    clock = Clock()
    budget = OutputBudget("h1", "fio", clock)
    clock.now += quiet_s
    budget.take(kind, 1, 0.0)
    began = clock.now
    with pytest.raises(HostError) as cut:
        while clock.now < began + 3600:
            clock.now += 0.1
            budget.take(kind, int(times * RATE[kind] * 0.1), 0.0)
    assert cut.value.code == FLOODED
    assert clock.now - began <= (BURST[kind] / RATE[kind] + quiet_s) / (times - 1) + 1


def test_output_that_costs_too_much_to_read_is_a_flood() -> None:
    clock = Clock()
    budget = OutputBudget("h1", "fio", clock)
    with pytest.raises(HostError) as cut:
        for _ in range(int(CPU_BURST_S / 0.1) + 10):
            clock.now += 0.1
            budget.take("out", 100, 0.1)
    assert cut.value.code == FLOODED


def test_what_a_host_kept_for_another_engine_is_no_flood() -> None:
    budget = OutputBudget("h1", "fio", Clock())
    budget.grant(3600)
    budget.take("out", 3600 * HEAVIEST, 0.0)


def test_the_agent_has_the_same_bounds() -> None:
    text = (Path(tui.remote.__file__).parent / "sh" / "supervise.sh").read_text()
    found = {
        name: int(value) * 1000
        for name, value in re.findall(r"BT_(\w+)=(\d+)", text)
        if "_" in name
    }
    assert (found["OUT_RATE"], found["ERR_RATE"]) == (RATE["out"], RATE["err"])
    assert (found["OUT_BURST"], found["ERR_BURST"]) == (BURST["out"], BURST["err"])


@pytest.mark.parametrize("said", ["", "stdout", "stdout x y", "stderr 12 0"])
def test_whatever_an_agent_says_of_a_flood_can_be_told(said: str) -> None:
    told = problem_text(flooded("fio", said))
    assert "flood" in told or "more than" in told
