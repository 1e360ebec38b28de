"""Files of published figures: what they may hold, and what is said when they are wrong."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.events import BASELINE
from tui.analysis.published import find_baselines
from tui.model import yaml_text
from tui.model.baseline import Baseline, baseline_json_schema, load_baselines
from tui.model.paths import presets_dir
from tui.model.printed import UNITS, Quantity, Unit, parse_printed
from tui.model.problem import UsageError


def load(text: str) -> list[Baseline]:
    return load_baselines(text, "b.yaml")


def replaced(old: str, new: str) -> str:
    assert BASELINE.count(old) == 1
    return BASELINE.replace(old, new)


def test_a_good_file_loads() -> None:
    (baseline,) = load(BASELINE)
    assert (baseline.profile, baseline.hosts, baseline.setup) == ("weka/read-iops", 2, "raid")
    assert [(each.key, each.quantity.value) for each in baseline.figures] == [
        ("read iops", 120_000.0),
        ("read clat p99", 1_500_000.0),
    ]
    assert baseline.unknown == ()


def test_what_a_file_does_not_say_is_unknown() -> None:
    text = (
        replaced(', version: "3.28"', "")
        .replace("    hosts: 2\n", "")
        .replace(", protection: RAID-6", "")
    )
    assert load(text)[0].unknown == ("number of clients", "fio version", "protection")


def test_doubts_of_the_point_come_before_those_of_the_whole() -> None:
    text = replaced("workloads:\n", "doubts: [one run]\nworkloads:\n").replace(
        "p99: 1.5 ms}}", "p99: 1.5 ms}}, doubts: [warm cache]"
    )
    assert load(text)[0].doubts == ("warm cache", "one run")


BROKEN = [
    (
        "workloads:\n", "doubt: x\nworkloads:\n",
        "b.yaml:7:1: unknown key 'doubt' (did you mean 'doubts'?); allowed: baselines, title, source, tool, "
        "unit_uncertain, setups, unknown, doubts, workloads",
    ),
    ("title: Our old array\n", "", "b.yaml:1:1: missing key 'title'"),
    (
        "iops: 120k", "iops: 120 kilo",
        "b.yaml:12:23: workloads.0.results.0.read.iops: found '120 kilo'; expected "
        "a number with k or M and iops or ops/s, such as 16.9k, 438k iops, ~60000 iops",
    ),
    (
        "p99: 1.5 ms", "p99: 1.5",
        "b.yaml:12:41: workloads.0.results.0.read.clat.p99: found 1.5; expected "
        "a number with ns, us, ms or s, such as 23.6 ms, 4705.1k us",
    ),
    (
        "p99: 1.5 ms", "median: 1.5 ms",
        "b.yaml:12:36: workloads.0.results.0.read.clat: found the key 'median'; "
        "allowed: min, max, mean, stddev, or a percentile such as p99.5",
    ),
    (
        "iops: 120k", "bandwidth: 6-5 GB/s",
        "b.yaml:12:28: workloads.0.results.0.read.bandwidth: found '6-5 GB/s'; "
        "put the smaller number of a range first",
    ),
    (
        "profile: weka/read-iops", "profile: WEKA read",
        "b.yaml:8:14: workloads.0.profile: found 'WEKA read'; must match family/name in lower case, "
        "such as weka/read-iops",
    ),
    (
        "- {read:", "- {setup: raidd, read:",
        "b.yaml:12:17: unknown setup 'raidd' (did you mean 'raid'?); allowed: raid",
    ),
    (
        "  raid: {hardware", "  other: {}\n  raid: {hardware",
        "b.yaml:13:9: missing setup; allowed: other, raid",
    ),
    (
        "{read: {iops: 120k, clat: {p99: 1.5 ms}}}", "{label: empty}",
        "b.yaml:12:9: no figures; expected at least one of read, write, mixed, operations, cpu",
    ),
    (
        "    hosts: 2\n", "    hosts: none\n",
        "b.yaml:10:12: workloads.0.hosts: found 'none'; allowed: a whole number",
    ),
    (
        "    hosts: 2\n", "    kind: rumour\n",
        "b.yaml:10:11: workloads.0.kind: found 'rumour'; allowed: 'summary', 'sample'",
    ),
    (
        "workloads:\n", "unit_uncertain: {MB: MiB}\nworkloads:\n",
        "b.yaml:7:22: unit_uncertain: found MB: MiB; expected two bandwidth units, such as MB/s: MiB/s",
    ),
    (
        "  raid: {hardware", "  raid: {}\n  raid: {hardware",
        "b.yaml:7:3: duplicate key 'raid', first on line 6",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), BROKEN, ids=range(len(BROKEN)))
def test_what_is_wrong_is_reported_with_its_place(old: str, new: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(replaced(old, new))
    assert str(caught.value) == message


PRINTED: list[tuple[Unit, str, float | None, float, float]] = [
    ("bytes_per_s", "33.1MiB/s (34.7MB/s)", 33.1 * 2**20, 33.1 * 2**20, 33.1 * 2**20),
    ("bytes_per_s", "29.4Gi (31.6G)", 29.4 * 2**30, 29.4 * 2**30, 29.4 * 2**30),
    ("bytes_per_s", "~1000-2000 MB/s", None, 1e9, 2e9),
    ("bytes_per_s", "13.13 GB/s", 13.13e9, 13.13e9, 13.13e9),
    ("iops", "16.9k", 16_900, 16_900, 16_900),
    ("iops", "1,978,330 ops/s", 1_978_330, 1_978_330, 1_978_330),
    ("ns", "4705.1k us", 4_705_100_000, 4_705_100_000, 4_705_100_000),
    ("ns", "144.76 µs", 144_760, 144_760, 144_760),
    ("percent", "55.8 %", 55.8, 55.8, 55.8),
]


@pytest.mark.parametrize(("unit", "text", "value", "low", "high"), PRINTED)
def test_printed_figures_are_read_in_their_units(
    unit: Unit, text: str, value: float | None, low: float, high: float
) -> None:
    found = parse_printed(unit, text)
    assert found.printed == text
    assert found.value == (None if value is None else pytest.approx(value))
    assert [found.low, found.high] == pytest.approx([low, high])


@pytest.mark.parametrize(
    "text", ["", "k", "1.2.3 MB/s", "5 Mb/s", "-5 MB/s", "5", "1e3 MB/s", "nan MB/s", "5 MB"]
)
def test_what_is_no_bandwidth_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a number with"):
        parse_printed("bytes_per_s", text)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(UNITS)),
    st.one_of(st.text(max_size=40), st.floats(), st.booleans(), st.none()),
)
def test_any_text_is_a_figure_or_a_clean_refusal(unit: Unit, text: object) -> None:
    try:
        assert isinstance(parse_printed(unit, text), Quantity)
    except ValueError as error:
        assert str(error).startswith(("expected a number", "the smaller number"))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(BASELINE) - 1), st.text(max_size=6))
def test_a_damaged_file_gives_baselines_or_a_clean_refusal(place: int, noise: str) -> None:
    try:
        load(BASELINE[:place] + noise + BASELINE[place + 1 :])
    except UsageError as error:
        assert all(problem.line for problem in error.problems)


def test_own_files_come_after_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(BASELINE)
    found = find_baselines(tmp_path)
    assert (found.baselines[-1].collection, found.problems) == ("mine", ())
    assert {each.collection for each in found.baselines} == {
        "aerodisk",
        "ceph",
        "mapr",
        "vitastor",
        "weka",
        "mine",
    }


def test_a_broken_file_hides_nothing_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("baselines: [")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "own.yaml").write_text(BASELINE)
    found = find_baselines(tmp_path)
    assert found.baselines[-1].collection == "mine"
    assert sorted({str(problem.file) for problem in found.problems}) == [
        str(tmp_path / "bad.yaml"),
        str(tmp_path / "bytes.yaml"),
    ]


def test_only_files_that_name_the_profile_are_read(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("baselines: [")
    found = find_baselines(tmp_path, {"ceph/randread"})
    assert ({each.collection for each in found.baselines}, found.problems) == ({"ceph"}, ())


def test_no_folder_of_ones_own_is_no_problem(tmp_path: Path) -> None:
    assert find_baselines(tmp_path / "none").problems == ()


def test_the_schema_accepts_every_shipped_file() -> None:
    schema = baseline_json_schema()
    for path in (presets_dir() / "baselines").glob("*.yaml"):
        jsonschema.validate(yaml_text.load(path.read_text(), str(path)).data, schema)


def test_the_example_in_the_documents_loads() -> None:
    text = (Path(__file__).parents[2] / "docs" / "baselines.md").read_text()
    (example,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (baseline,) = load(example)
    assert (baseline.collection, baseline.profile, baseline.unknown) == (
        "old-array",
        "weka/read-iops",
        ("whether caches were off",),
    )
