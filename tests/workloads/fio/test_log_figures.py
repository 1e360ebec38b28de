"""fio's logs beside the JSON of the same run: the same samples and latencies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workloads.fio.test_contradictions import DATA
from tui.library.imported import records_of
from tui.workloads.base import KeptFile
from tui.workloads.fio.outputs import beside_logs

Rows = list[list[int]]
Change = Callable[[Rows], Rows]


def told(folder: str, change: Change, *kinds: str, change_json: bool = False) -> set[str]:
    """Return the contradictions between a run and its logs after some logs were changed."""
    place = DATA / "logs" / folder
    logs = [
        KeptFile(path.name, path.name, changed(path.read_text(), change))
        if any(f"_{kind}." in path.name for kind in kinds)
        else KeptFile(path.name, path.name, path.read_text())
        for path in sorted(place.glob("*.log"))
    ]
    text = (place / "run.json").read_text()
    if change_json:
        document = json.loads(text)
        for job in document["jobs"]:
            for part in (job["read"], job["write"]):
                part |= {f"iops_{name}": part[f"iops_{name}"] * 1.2 for name in ("min", "mean")}
        text = json.dumps(document, indent=2)
    return {
        each.about
        for each in beside_logs(KeptFile("run.json", "run.json", text), logs).contradictions
    }


def changed(text: str, change: Change) -> str:
    rows = [[int(word) for word in line.split(",") if word.strip()] for line in text.splitlines()]
    return "".join(f"{', '.join(map(str, row))}\n" for row in change(rows))


def scaled(by: float) -> Change:
    return lambda rows: [[row[0], round(row[1] * by), *row[2:]] for row in rows]


def same(rows: Rows) -> Rows:
    return rows


@pytest.mark.parametrize("folder", ["avg", "each"])
def test_logs_and_json_of_one_run_agree(folder: str) -> None:
    assert told(folder, same) == set()


LIES: dict[str, tuple[str, str, Change, tuple[str, ...]]] = {
    "rates scaled": ("log-most", "avg", scaled(1.25), ("iops", "bw")),
    "rates scaled down": ("log-least", "avg", scaled(0.8), ("iops",)),
    "latencies halved": ("log-mean", "avg", scaled(0.5), ("lat", "clat")),
    "an end cut off": ("log-rows", "avg", lambda rows: rows[: len(rows) // 2], ("iops", "bw")),
    "slow I/Os left out": (
        "log-rows",
        "each",
        lambda rows: sorted(rows, key=lambda row: row[1])[: len(rows) * 49 // 50],
        ("lat", "clat"),
    ),
    "the slowest I/O made faster": (
        "log-most",
        "each",
        lambda rows: [[row[0], min(row[1], 5000), *row[2:]] for row in rows],
        ("lat",),
    ),
    "each latency halved": ("log-mean", "each", scaled(0.9), ("clat",)),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_log_that_was_changed_contradicts_the_json(lie: str) -> None:
    expected, folder, change, kinds = LIES[lie]
    found = told(folder, change, *kinds)
    assert found & {expected, "log-least"}, found


def test_a_json_that_was_changed_contradicts_the_logs() -> None:
    assert "log-least" in told("avg", same, change_json=True)


def test_the_log_of_one_worker_is_not_that_of_another() -> None:
    place = DATA / "logs" / "avg"
    text = (place / "run_lat.1.log").read_text()
    logs = [KeptFile(f"run_lat.{number}.log", "", text) for number in (1, 2)]
    file = KeptFile("run.json", "run.json", (place / "run.json").read_text())
    assert "log-copies" in {each.about for each in beside_logs(file, logs).contradictions}


def written(path: Path, host: str, change: Change) -> None:
    """Write the JSON of a run and its logs, with changed rates, under the name of a host."""
    for source in (DATA / "logs" / "avg").iterdir():
        if source.suffix == ".gz":
            continue
        text, name = source.read_text(), source.name
        if name.endswith(".log"):
            text = changed(text, change if "_iops" in name else same)
        (path / name.replace("run", host, 1)).write_text(text.replace('"run"', f'"{host}"'))


def test_an_import_of_a_directory_compares_its_logs(tmp_path: Path) -> None:
    written(tmp_path, "run", scaled(1.25))
    (only,) = records_of([tmp_path])
    assert "own-figures" in {finding.id for finding in only.record.findings}


def test_an_import_of_several_hosts_compares_each_with_its_own_logs(tmp_path: Path) -> None:
    written(tmp_path, "a", same)
    written(tmp_path, "b", scaled(1.25))
    (only,) = records_of([tmp_path])
    found = [each for each in only.record.findings if each.id == "own-figures"]
    assert found and {each.scope["hosts"] for each in found} == {"b"}


def test_times_of_day_are_those_of_the_ends_of_intervals(tmp_path: Path) -> None:
    begun_ms = 1_795_349_907_070 - 4_001  # the time stamp of the JSON, less its runtime
    for path in (DATA / "logs" / "avg").iterdir():
        if path.suffix == ".log":
            later = changed(
                path.read_text(), lambda rows: [[row[0] + begun_ms, *row[1:]] for row in rows]
            )
            (tmp_path / path.name).write_text(later)
    (tmp_path / "run.json").write_text((DATA / "logs" / "avg" / "run.json").read_text())
    (only,) = records_of([tmp_path])
    assert "series-mismatch" not in {finding.id for finding in only.record.findings}


def shared_by_all(rows: Rows) -> Rows:
    """Return the rows of two workers in one file (per_job_logs=0)."""
    return sorted([*rows, *([row[0] + 1, *row[1:]] for row in rows)])


@pytest.mark.parametrize("folder", ["avg", "each"])
def test_means_of_several_workers_in_one_file_are_no_series(tmp_path: Path, folder: str) -> None:
    for kind in ("iops", "lat"):
        text = (DATA / "logs" / folder / f"run_{kind}.1.log").read_text()
        (tmp_path / f"run_{kind}.log").write_text(changed(text, shared_by_all))
    text = (DATA / "logs" / folder / "run.json").read_text()
    (tmp_path / "run.json").write_text(text)
    (only,) = records_of([tmp_path])
    assert (only.record.steps[0].series is not None) is (folder == "each")


def of_histograms(change: Change) -> set[str]:
    """Return the contradictions between a run and its histogram logs after these were changed."""
    place = DATA / "logs" / "hist"
    logs = [
        KeptFile(path.name, "", changed(path.read_text(), change))
        for path in sorted(place.glob("*_clat_hist.*.log"))
    ]
    file = KeptFile("run.json", "run.json", (place / "run.json").read_text())
    return {each.about for each in beside_logs(file, logs).contradictions}


def without_tail(rows: Rows) -> Rows:
    """Return rows without the slowest tenth of the I/Os."""
    summed = [sum(each) for each in zip(*(row[3:] for row in rows), strict=True)]
    end = next(at for at, _ in enumerate(summed) if sum(summed[:at]) >= 0.9 * sum(summed))
    return [[*row[:3], *row[3 : 3 + end], *[0] * (len(row) - 3 - end)] for row in rows]


def test_histogram_logs_of_a_run_agree_with_its_histogram() -> None:
    assert of_histograms(same) == set()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (without_tail, "hist-fewer"),
        (lambda rows: [[*row[:3], *(2 * each for each in row[3:])] for row in rows], "hist-more"),
        (lambda rows: [[*row[:3], *row[9:], *row[3:9]] for row in rows], "hist-more"),
    ],
)
def test_histogram_logs_that_were_changed_contradict_it(change: Change, expected: str) -> None:
    assert of_histograms(change) == {expected}
