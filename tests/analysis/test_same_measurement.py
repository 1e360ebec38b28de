from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.records import IOPS, latency_of, run, step
from tui.analysis.compare import compare
from tui.analysis.same_measurement import copies_among
from tui.library.imported import records_of
from tui.model.record import ArtefactRecord, RunRecord

DATA = Path(__file__).parents[1] / "data"
OUTPUTS = ["ior/main-fpp.out", "mdtest/mdtest-main-i1.out"]
SMALL = {"err": 20}  # bytes of an empty stderr, as it is saved


def with_files(at: int, files: dict[str, int]) -> RunRecord:
    """Return a run with latencies of its own and these files of raw output."""
    found = run(step(IOPS * (1 + at / 100)), run_id=f"r{at}")
    found.provenance.artefacts = [
        ArtefactRecord(path=f"raw/{name}", sha256=name * 8, bytes=size)
        for name, size in files.items()
    ]
    return found


@pytest.mark.parametrize("name", OUTPUTS)
def test_one_output_imported_twice_is_one_measurement_whatever_the_tool(name: str) -> None:
    one, again, other = (
        records_of([DATA / each])[0].record for each in (name, name, "ior/4.0.0-fpp.out")
    )
    assert copies_among([one, other, again]) == [(0, 2)]
    assert any("same measurement" in each.text for each in compare([one, again], [other]).obstacles)


files = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(64, 1000), min_size=1)


@given(st.lists(files, min_size=2, max_size=5))
def test_runs_with_files_of_their_own_are_no_copies(runs: list[dict[str, int]]) -> None:
    records = [
        with_files(at, {f"{at}{name}": size + 20 for name, size in each.items()} | SMALL)
        for at, each in enumerate(runs)
    ]
    assert copies_among(records) == []


@given(files, files)
def test_the_files_of_one_of_two_imports_may_be_among_those_of_the_other(
    one: dict[str, int], more: dict[str, int]
) -> None:
    records = [with_files(0, one), with_files(1, {f"x{each}": 9 for each in more} | one)]
    for pair in (records, records[::-1]):
        assert copies_among(pair) == [(0, 1)]


def test_runs_of_which_only_empty_files_are_known_are_no_copies() -> None:
    assert copies_among([with_files(at, SMALL) for at in range(3)]) == []


@given(st.lists(st.sampled_from([0.9, 1.0, 1.1, 1.2]), min_size=2, max_size=5))
def test_without_files_latencies_tell(factors: list[float]) -> None:
    records = [run(step(IOPS * each), run_id=f"r{at}") for at, each in enumerate(factors)]
    alike = {places for places in combinations(range(len(factors)), 2)
             if factors[places[0]] == factors[places[1]]}  # fmt: skip
    found = copies_among(records)
    assert set(found) <= alike
    assert {later for _, later in found} == {later for _, later in alike}


@given(st.integers(0, 2**32 - 1), st.integers(100, 100_000), st.sampled_from([1, 1000]))
def test_equal_latencies_tell_under_an_edited_rate_unless_chance_can_make_them(
    seed: int, count: int, tick: int
) -> None:
    drawn = np.random.default_rng(seed).exponential(200_000, count) // tick * tick
    latency = latency_of([int(each) for each in drawn])
    one, edited = (
        run(step(IOPS * factor, latency=latency), run_id=f"{factor}") for factor in (1, 1.0001)
    )
    coarse = latency.model_copy(update={"mean_ns": 2e5, "stddev_ns": 2e5})  # by chance
    rounded = [run(step(rate, latency=coarse), run_id=f"{rate}") for rate in (1000.0, 1001.0)]
    assert copies_among(rounded) == []
    if tick == 1 or count >= 10_000:
        assert copies_among([one, edited]) == [(0, 1)]
