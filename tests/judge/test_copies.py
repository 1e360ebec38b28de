"""Results that share what chance decides are copies; results of the same load are not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from statistics import mean, stdev

import pytest

from tests.long.lies.doctored.documents import DATA, Document, doctored_copy, kept
from tui.judge.copies import Fingerprint, copied, fingerprint
from tui.library.imported import records_of
from tui.library.verify import verify_run
from tui.metrics.buckets import value_to_index
from tui.model.event import Buckets, DirectionResult, LatencyResult

SOURCE = "size/1job-json+-3.33"


def measured(rng: Random, ios: int = 4000) -> list[int]:
    """Return latencies in ns as of a disk: most around 100 us, a long tail."""
    return [
        round(rng.lognormvariate(11.5, 0.3) * (20 if rng.random() < 0.02 else 1))
        for _ in range(ios)
    ]


def result(values: list[int], counts: Counter[int] | None = None) -> Fingerprint:
    counts = counts or Counter(map(value_to_index, values))
    buckets = Buckets(idx=sorted(counts), n=[counts[at] for at in sorted(counts)])
    latency = LatencyResult(
        len(values), min(values), max(values), mean(values), stdev(values), {}, buckets
    )
    part = DirectionResult(len(values), 0, 1.0, 0.0, 0.0, clat=latency)
    found = fingerprint("h", {"read": part})
    assert found is not None
    return found


def test_loads_with_the_same_distribution_are_no_copies() -> None:
    rng = Random(5)
    found = [result(measured(rng)) for _ in range(12)]
    assert [copied(one, other) for one in found for other in found if one is not other] == [
        None
    ] * 132


def test_noise_on_large_counts_leaves_the_rare_ones() -> None:
    rng = Random(6)
    values = measured(rng)
    noisy = Counter(map(value_to_index, values))
    for at, count in noisy.items():
        noisy[at] = round(count * rng.uniform(0.97, 1.03)) if count > 20 else count
    found = copied(result(values), result([each + 7 for each in values], noisy))
    assert found is not None and found.equal > 2 * found.expected


def test_all_times_a_factor_keep_their_ratios() -> None:
    values = [each * 100 for each in measured(Random(7))]
    scaled = [each // 100 * 101 for each in values]
    found = copied(result(values), result(scaled))
    assert found is not None and found.factor == pytest.approx(1 / 1.01)


def noisy(document: Document, rng: Random) -> Document:
    copy = doctored_copy(document)
    bins = copy["jobs"][0]["read"]["clat_ns"]["bins"]
    for at, count in bins.items():
        bins[at] = round(count * rng.uniform(0.99, 1.01)) if count > 50 else count
    return copy


def test_a_run_that_is_a_copy_of_another_of_the_import_is_named_and_verified(
    tmp_path: Path,
) -> None:
    (document,) = kept((SOURCE,))[0].hosts
    paths = [tmp_path / f"run-2026-11-2{day}.json" for day in (7, 8)]
    for path, each in zip(paths, (document, noisy(document, Random(8))), strict=True):
        path.write_text(json.dumps(each))
    runs = records_of(paths)
    assert ["copied-output" in {each.id for each in run.record.findings} for run in runs] == [
        True
    ] * 2
    kept_in = runs[1].keep(tmp_path)
    assert verify_run(kept_in).differs == []
    assert "copied-output" not in {each.id for each in records_of(paths[:1])[0].record.findings}


def test_rates_of_an_mpi_benchmark_do_not_repeat_either(tmp_path: Path) -> None:
    text = (DATA.parent / "mdtest" / "mdtest-main-i1.out").read_text()
    paths = [tmp_path / f"md-2026-11-2{day}.out" for day in (1, 2)]
    for path, day in zip(paths, (21, 22), strict=True):
        path.write_text(text.replace("11/21/2026", f"11/{day}/2026"))
    for run in records_of(paths):
        assert "copied-output" in {each.id for each in run.record.findings}
