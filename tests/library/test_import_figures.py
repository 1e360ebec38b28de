"""Every kept output imports to the counts and rates that it prints, read here a second time by a
few plain lines.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tui.judge.whole_results import IDENTITY_CHECKS
from tui.library.imported import records_of
from tui.model.figure_record import DirectionRecord
from tui.model.problem import UsageError
from tui.model.record import RunRecord

DATA = Path(__file__).parents[1] / "data"
FIO = sorted(
    path
    for name in ("cs", "errors", "size", "stall", "stream")
    for path in (DATA / "fio" / name).glob("*")
)
JSON = [
    path
    for path in FIO
    if path.name.endswith((".stdout", ".stdout.gz")) and "normal" not in path.name
]
TEXT = [
    *sorted((DATA / "fio" / "text").glob("*.txt")),
    *sorted((DATA / "fio" / "human").glob("h*.stdout")),
]
TIMES_ALONE = "mdtest-main-Z-time"  # a table of seconds, no rates
MDTEST = [
    path for path in sorted((DATA / "mdtest").glob("mdtest-*.out")) if path.stem != TIMES_ALONE
]
ROW = re.compile(
    r"^ {3}((?:File|Directory|Tree) (?:creation|stat|read|rename|removal)) *:? +((?:[\d.]+"
    r" +){3}[\d.]+)$",
    re.MULTILINE,
)
NAMES = {"File": "", "Directory": "dir-", "Tree": "tree-"}
WORDS = {"creation": "create", "removal": "remove"}


def text_of(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def record_of(*paths: Path) -> RunRecord:
    (made,) = records_of(list(paths))
    return made.record


def objects(text: str) -> list[dict[str, Any]]:
    """The whole objects of a text: from a line that is `{` to the next that is `}`."""
    found = re.findall(r"^\{\n(?:(?!\{\n).*\n)*?\}$", text, re.MULTILINE)
    return [json.loads(re.sub(r"(: *)-?(nan|inf)\b", r"\g<1>0", each)) for each in found]


def counted(jobs: Sequence[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """I/Os and bytes of the last object, by direction."""
    split = [job for job in jobs if "read" in job]
    names = ("read", "write", "trim") if split else ("mixed",)
    found = {}
    for name in names:
        ios = sum(job.get(name, {}).get("total_ios", 0) for job in jobs)
        if ios:
            found[name] = (ios, sum(job[name]["io_bytes"] for job in jobs if name in job))
    return found


def last_phase(jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The jobs of the last group, with the ones before if new_group began it."""
    began = [job["groupid"] for job in jobs if "new_group" not in job.get("job options", {})]
    return [job for job in jobs if job["groupid"] >= max(began, default=0)]


def told(dirs: dict[str, DirectionRecord]) -> dict[str, tuple[int, int]]:
    return {
        name: (part.ios, part.bytes)
        for name, part in dirs.items()
        if name in ("read", "write", "trim")
    }


def alike(jobs: Sequence[dict[str, Any]]) -> bool:
    """Whether all jobs count the same directions."""
    return len({"read" in job for job in jobs}) == 1


@pytest.mark.parametrize(
    "path", [path for path in JSON if objects(text_of(path))], ids=lambda path: path.name
)
def test_counts_of_json_are_those_in_it(path: Path) -> None:
    *_, last = objects(text_of(path))
    hosts: dict[str, list[dict[str, Any]]] = {"": last.get("jobs", [])}
    for each in last.get("client_stats", []):
        if each["jobname"] != "All clients":
            hosts.setdefault(each["hostname"], []).append(each)
    expected = [
        counted(last_phase(jobs))
        for jobs in hosts.values()
        if jobs and alike(jobs) and "mixed" not in counted(jobs)
    ]
    record = record_of(path)
    found = [told(dirs) for dirs in record.steps[-1].results.per_host.values()]
    assert [each for each in expected if each] == found or not all(map(alike, hosts.values()))


@pytest.mark.parametrize(
    "path", [path for path in JSON if "json+" in path.name], ids=lambda path: path.name
)
def test_percentiles_and_rates_of_json_are_those_in_it(path: Path) -> None:
    """Of one job: what fio prints beyond our list is kept as well."""
    *_, last = objects(text_of(path))
    jobs = [
        job
        for job in last.get("jobs", last.get("client_stats", []))
        if job["jobname"] != "All clients"
    ]
    hosts = record_of(path).steps[-1].results.per_host
    for job, dirs in zip(jobs, hosts.values(), strict=True):
        for name in ("read", "write"):
            printed = job[name]["clat_ns"]["percentile"]
            assert dirs[name].iops == pytest.approx(job[name]["iops"], abs=0.001)
            latency = dirs[name].clat
            assert latency is not None and latency.max_ns is not None
            assert latency.percentiles_ns["20"] <= latency.percentiles_ns["25"]
            for percentile, value in printed.items():
                assert latency.percentiles_ns[f"{float(percentile):g}"] == min(
                    value, latency.max_ns
                )
            assert (latency.n, latency.min_ns) == (
                job[name]["clat_ns"]["N"],
                job[name]["clat_ns"]["min"],
            )


@pytest.mark.parametrize("path", TEXT, ids=lambda path: path.stem)
def test_counts_of_text_are_those_in_it(path: Path) -> None:
    text = text_of(path)
    issued = re.findall(r"issued rwts: total=(\d+),(\d+),(\d+)", text)
    mixed = sum(
        map(
            int,
            re.findall(r"^  mixed: .*?(?:.*\n)*?.*issued rwts: total=(\d+)", text, re.MULTILINE),
        )
    )
    found: dict[str, int] = {}
    for step in record_of(path).steps:
        for dirs in step.results.per_host.values():
            for name, part in dirs.items():
                found[name] = found.get(name, 0) + part.ios
    for place, name in enumerate(("read", "write", "trim")):
        total = sum(int(each[place]) for each in issued)
        assert found.get(name, 0) == total - (mixed if name == "read" else 0)


@pytest.mark.parametrize("path", TEXT[:15], ids=lambda path: path.stem)
def test_rates_of_text_are_those_in_it_as_far_as_digits_go(path: Path) -> None:
    iops, power = re.search(r"IOPS=([\d.]+)([kM]?)", text_of(path)).groups()  # type: ignore[union-attr]
    (step,) = record_of(path).steps
    (part,) = step.results.aggregate.values()
    assert part.iops == pytest.approx(float(iops) * {"": 1, "k": 1e3, "M": 1e6}[power], rel=0.005)
    assert {"bytes", "bw_bytes_per_s", "clat", "lat"} <= set(part.rounded)
    assert "ios" not in part.rounded


@pytest.mark.parametrize(
    "path", [path for path in MDTEST if ROW.search(path.read_text())], ids=lambda path: path.stem
)
def test_rates_of_mdtest_are_those_in_it(path: Path) -> None:
    text = path.read_text()
    rates = (
        text.partition("SUMMARY time")[0] if "SUMMARY rate" in text or "SUMMARY:" in text else ""
    )
    expected = {}
    for name, values in ROW.findall(rates):
        what, word = name.split()
        highest, lowest, mean, _ = (float(each) for each in values.split())
        if mean:
            expected[NAMES[what] + WORDS.get(word, word)] = (highest, lowest, mean)
    (step,) = record_of(path).steps
    assert step.metadata is not None
    found = {
        name: (each.max, each.min, each.mean) for name, each in step.metadata.operations.items()
    }
    found.pop("create-stonewall", None)
    assert {name: each for name, each in found.items() if name in expected} == expected


REAL = [*JSON, *TEXT, *sorted((DATA / "elbencho").glob("*.json"))]


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_output_violates_no_identity(path: Path) -> None:
    identities = {check.id for check in IDENTITY_CHECKS}
    try:
        made = records_of([path])
    except UsageError:
        pytest.skip("holds no whole result")
    assert [each for one in made for each in one.record.findings if each.id in identities] == []
