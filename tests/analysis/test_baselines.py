"""A run beside published figures: the right baselines, honest ratios, and never a verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.samples.events import DATA
from tui.analysis.published import (
    Compared,
    PublishedComparison,
    compare,
    find_baselines,
    number_of,
    same,
    shown_like,
)
from tui.library.build import build_record
from tui.model.baseline import PublishedFigure, load_baselines
from tui.model.figure_record import AggregateRecord, LatencyRecord
from tui.model.printed import Quantity
from tui.model.record import HeadlineRecord, ProfileRecord, ProvenanceRecord, RunRecord
from tui.model.step_record import MetadataRecord, OperationRecord, StepRecord, TaskRecord
from tui.view.published import (
    PublishedView,
    change_text,
    comparison_json,
    named_by,
    published,
    published_text,
    spans,
    view_of,
)

NOBODY = Path("/nonexistent")
MIB, GIB = 2**20, 2**30
SHIPPED = find_baselines(NOBODY).baselines
AS_PUBLISHED: dict[str, Any] = {"size": 4 * GIB, "runtime": 10.0, "numjobs": 1, "bs": 4096}


def result(
    hosts: int = 1, *, iops: float | None = None, bandwidth: float | None = None
) -> AggregateRecord:
    return AggregateRecord(
        ios=1000,
        bytes=4_096_000,
        runtime_s=10.0,
        iops=iops,
        bw_bytes_per_s=bandwidth,
        clat=LatencyRecord(
            n=1000, mean_ns=1e6, max_ns=9_000_000, percentiles_ns={"50": 900_000, "99.5": 5_000_000}
        ),
        lat=LatencyRecord(n=1000, mean_ns=2e6),
        hosts=[f"h{index}" for index in range(1, hosts + 1)],
    )


def step(
    index: int = 0, params: Mapping[str, Any] | None = None, direction: str = "read", **more: Any
) -> StepRecord:
    figures = more.pop("figures", result(bandwidth=4e6))
    record = StepRecord(
        index=index, name=f"s{index}", tool="fio", params=dict(params or AS_PUBLISHED), **more
    )
    record.results.aggregate[direction] = figures
    record.tasks["h1"] = TaskRecord(tool_version="fio-3.33")
    return record


def run(tag: str, *steps: StepRecord, **more: Any) -> RunRecord:
    profile = {"tag": tag, "preset": True, **more.pop("profile", {})}
    return RunRecord(
        run_id="r",
        state=more.pop("state", "complete"),
        profile=ProfileRecord(**profile),
        headline=HeadlineRecord(metric="bandwidth", direction="read", unit="bytes_per_s"),
        steps=list(steps),
        provenance=ProvenanceRecord(tool_versions={"h1": "fio-3.33"}),
        **more,
    )


def one(found: list[PublishedComparison], setup: str) -> PublishedComparison:
    (comparison,) = (each for each in found if each.baseline.setup == setup)
    return comparison


def differing(found: PublishedComparison) -> dict[str, tuple[str, str]]:
    return {each.what: (each.ours, each.theirs) for each in found.differs}


# -- which baselines


def test_each_point_of_a_sweep_finds_the_published_figures_of_that_point() -> None:
    points = [
        {**AS_PUBLISHED, "bs": bs, "numjobs": jobs} for bs, jobs in ((4096, 1), (MIB, 16), (MIB, 3))
    ]
    record = run("ceph/randread", *(step(index, params) for index, params in enumerate(points)))
    found = compare(record, SHIPPED)
    assert [(each.steps, each.baseline.setup,
        each.figures[0].figure.quantity.printed) for each in found] == [
        ((0,), "slow", "4 MB/s"), ((0,), "fast", "6 MB/s"),
        ((1,), "slow", "282 MB/s"), ((1,), "fast", "1113 MB/s"),
    ]  # fmt: skip


def test_swept_values_are_found_in_the_point_as_well() -> None:
    record = run(
        "vitastor/raw-randread", step(params={"size": GIB}, point={"threads": 4, "iodepth": 128})
    )
    (found,) = compare(record, SHIPPED)
    assert found.figures[0].figure.quantity.printed == "~750000 iops"


def test_the_row_that_was_printed_as_4k_belongs_to_8k() -> None:
    record = run("ceph/randread", step(params={**AS_PUBLISHED, "bs": 8192, "numjobs": 16}))
    (found,) = compare(record, SHIPPED)
    assert found.baseline.figures[0].quantity.printed == "111 MB/s"
    assert "printed as a second row of 4k" in " ".join(found.baseline.doubts)


def test_a_step_of_a_suite_is_compared_as_the_profile_it_is_a_member_of() -> None:
    record = run("weka/all", step(profile="weka/read-latency"), step(1, profile="weka/read-iops"))
    assert {(each.steps, each.baseline.profile) for each in compare(record, SHIPPED)} == {
        ((0,), "weka/read-latency"),
        ((1,), "weka/read-iops"),
    }


def test_repetitions_are_one_measurement_and_count_with_their_median() -> None:
    rates = (10e6, 2e6, 4e6)
    steps = [
        step(i, repetition=i + 1, cell="c", figures=result(bandwidth=rate))
        for i, rate in enumerate(rates)
    ]
    found = one(compare(run("ceph/randread", *steps), SHIPPED), "fast")
    assert (found.steps, found.figures[0].ours) == ((0, 1, 2), 4e6)


def test_warm_ups_and_steps_without_a_result_are_not_compared() -> None:
    empty = StepRecord(index=1, name="s1", params=AS_PUBLISHED)
    assert compare(run("ceph/randread", step(warmup=True), empty), SHIPPED) == []


def test_the_four_clients_are_compared_with_their_sum_not_one_by_one() -> None:
    figures = result(4, iops=1000, bandwidth=250 * MIB)
    (found,) = compare(
        run("mapr/nfs-randwrite-256k-4c", step(direction="write", figures=figures)), SHIPPED
    )
    assert found.baseline.computed
    assert found.figures[0].ratio_low == pytest.approx(1000 / 2199)


# -- ratios


def test_the_ratio_is_ours_by_theirs() -> None:
    found = one(
        compare(run("vitastor/read-4k-t1q1", step(figures=result(iops=4372.5))), SHIPPED),
        "2-replicas-tcp",
    )
    assert (found.figures[0].ratio_low, found.figures[0].ratio_high) == (0.5, 0.5)


def test_a_unit_that_may_be_another_gives_a_range() -> None:
    found = one(compare(run("ceph/randread", step()), SHIPPED), "slow")
    assert found.figures[0].ratio_low == pytest.approx(4e6 / (4 * MIB))
    assert found.figures[0].ratio_high == pytest.approx(1.0)


def test_a_published_range_gives_a_range() -> None:
    figures = result(bandwidth=3e9)
    (found,) = compare(
        run("vitastor/raw-linear-write", step(direction="write", figures=figures)), SHIPPED
    )
    assert [found.figures[0].ratio_low, found.figures[0].ratio_high] == pytest.approx([1.5, 3.0])


def test_latencies_are_compared_with_the_same_kind_and_statistic() -> None:
    record = run("mapr/nfs-randread-8k", step(figures=result(iops=1.0, bandwidth=1.0)))
    (found,) = compare(record, SHIPPED)
    ours = {each.figure.key: each.ours for each in found.figures}
    assert (ours["read clat mean"], ours["read lat mean"], ours["read clat p99.5"]) == (
        1e6,
        2e6,
        5e6,
    )
    assert (ours["read clat max"], ours["read clat p99"]) == (9e6, None)


def test_a_latency_of_unknown_kind_is_compared_with_the_kind_of_the_run() -> None:
    found = one(compare(run("weka/read-latency", step(), latency_kind="lat"), SHIPPED), "aws")
    assert found.figures[0].ours == 2e6


def test_metadata_operations_are_compared_with_the_mean_of_theirs() -> None:
    operations = {
        "create": OperationRecord(mean=159_198.0, max=9e9),
        "tree-create": OperationRecord(mean=6.684),
    }
    metadata = MetadataRecord(
        tool="mdtest", version="4.1.0+dev", tasks=1088, ranks_per_host=136, items_per_rank=18382,
        files=1, iterations=3,
        operations=operations,
    )  # fmt: skip
    params = {"ranks": 136, "items": 18382, "iterations": 3}
    measured = StepRecord(index=0, name="mdtest", params=params, metadata=metadata)
    measured.tasks.update({f"h{index}": TaskRecord() for index in range(8)})
    record = run("weka/mdtest", measured)
    record.headline = HeadlineRecord(metric="ops", direction="create", unit="ops_per_s")
    found = compare(record, SHIPPED)
    assert one(found, "aws").figures[0].ratio_low == pytest.approx(2.0)
    sample = {each.figure.key: each.ratio_low for each in one(found, "example").figures}
    assert sample["tree-create ops mean"] == pytest.approx(2.0)
    assert one(found, "example").badge == "mdtest differs (not comparable)"
    assert differing(one(found, "example")) == {
        "mdtest": ("4.1.0+dev", "1.9.3, assumed by the source")
    }
    text = published_text(view_of(record, found, 3), 80)
    assert "159k 79.6k 100 % higher" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


# -- what differs


def test_parameters_as_published_are_no_difference() -> None:
    found = one(compare(run("ceph/randread", step()), SHIPPED), "slow")
    assert found.differs == ()
    assert found.badge == "setup not fully known"


def test_smaller_parameters_make_it_scaled_down() -> None:
    record = run("ceph/randread", step(params={**AS_PUBLISHED, "size": 64 * MIB, "runtime": 1.0}))
    found = one(compare(record, SHIPPED), "slow")
    assert differing(found) == {"size": ("64M", "4G"), "runtime": ("1s", "10s")}
    assert found.badge.startswith("this run is scaled down: size 64M against 4G, runtime 1s against")


def test_the_credible_variant_shows_that_its_runtime_differs() -> None:
    record = run("ceph/randread-60s", step(params={**AS_PUBLISHED, "runtime": 60.0}))
    found = one(compare(record, SHIPPED), "fast")
    assert differing(found) == {"runtime": ("60s", "10s")}
    assert found.badge == "runtime differs (not comparable)"


def test_a_changed_parameter_that_is_not_in_the_source_is_named() -> None:
    changed = {"span": "65536", "directory": "/other"}
    text = "params:\n  span: {default: 1m, kind: size}\n"
    record = run("ceph/randread", step(), profile={"changed": changed, "text": text})
    found = one(compare(record, SHIPPED), "slow")
    assert differing(found) == {"span": ("65536, changed from the profile's default", "")}
    assert found.badge == "span differs (not comparable)"
    record.steps[0].params["span"] = 65536
    assert differing(one(compare(record, SHIPPED), "slow"))["span"][0].startswith("64k, ")


def test_the_engine_of_a_variant_differs_and_a_path_of_the_published_one_does_not() -> None:
    params = {"threads": 1, "iodepth": 1, "engine": "libaio"}
    record = run("vitastor/read-4k-t1q1-file", step(params=params, figures=result(iops=1.0)))
    assert one(compare(record, SHIPPED), "ec-2-1-tcp").badge == "engine differs (not comparable)"
    record.steps[0].params["engine"] = "/usr/lib/libfio_vitastor.so"
    assert differing(one(compare(record, SHIPPED), "ec-2-1-tcp")) == {}


def test_another_number_of_clients_differs() -> None:
    found = one(
        compare(run("ceph/randread", step(figures=result(3, bandwidth=1e6))), SHIPPED), "slow"
    )
    assert differing(found) == {"clients": ("3", "1")}
    assert found.badge == "clients differ (not comparable)"


def test_an_unknown_number_of_clients_is_reported_next_to_ours() -> None:
    cluster = [each for each in SHIPPED if each.profile == "weka/read-iops" and each.hosts is None]
    found = compare(run("weka/read-iops", step(figures=result(2, iops=1.0))), cluster)
    assert all("number of clients (ours 2)" in each.unknown for each in found)


def test_an_unknown_tool_version_is_reported_next_to_ours() -> None:
    assert (
        "fio version (ours 3.33)"
        in one(compare(run("ceph/randread", step()), SHIPPED), "slow").unknown
    )


def test_another_version_of_the_tool_is_named_and_another_major_one_cannot_be_compared() -> None:
    record = run(
        "weka/read-latency", step(params={"size": 4 * GIB, "runtime": 300.0, "numjobs": 1})
    )
    found = one(compare(record, SHIPPED), "aws")
    assert differing(found) == {"fio": ("3.33", "3.20, assumed by the source")}
    assert found.badge == "setup not fully known"
    record.steps[0].tasks["h1"].tool_version = "fio-4.0"
    assert one(compare(record, SHIPPED), "aws").badge == "fio differs (not comparable)"


def test_the_departures_that_a_profile_declares_are_named() -> None:
    text = (
        "profile: a/b\ndeviations:\n  - {what: layout, kind: deviation, why: x}\n  - {what: seed,"
        " kind: deviation}\n"
    )
    found = one(compare(run("ceph/randread", step(), profile={"text": text}), SHIPPED), "slow")
    assert differing(found) == {"the profile deviates from the source in": ("layout, seed", "")}


def test_a_profile_text_that_cannot_be_read_does_no_harm() -> None:
    assert compare(run("ceph/randread", step(), profile={"text": "a: [\x00"}), SHIPPED)


def test_an_own_profile_of_the_same_name_is_not_the_published_workload() -> None:
    found = one(compare(run("ceph/randread", step(), profile={"preset": False}), SHIPPED), "slow")
    assert found.badge == "profile differs (not comparable)"


@pytest.mark.parametrize(("state", "verdict"), [("partial", "valid"), ("complete", "invalid")])
def test_a_run_that_did_not_go_well_is_not_comparable(state: str, verdict: str) -> None:
    found = one(
        compare(run("ceph/randread", step(), state=state, verdict=verdict), SHIPPED), "slow"
    )
    assert (
        found.badge
        == f"this run is {'partial' if state == 'partial' else 'invalid'} (not comparable)"
    )


def test_a_published_run_with_an_error_is_not_comparable_and_says_why() -> None:
    params = {"size": 2**40, "runtime": 1000.0, "numjobs": 100}
    record = run("mapr/nfs-randread-8k", step(params=params, figures=result(iops=1.0)))
    found = compare(record, SHIPPED)
    assert found[0].badge == "the published run ended with an error (not comparable)"
    text = " ".join(published_text(view_of(record, found, 1)).split())
    assert "16.9k !" in text
    assert "error: the published run failed with error 5 (file:filesetup.c:223" in text
    assert "IOPS times mean latency is 94.3" in text


def test_figures_are_better_or_worse_but_no_verdict_is_given() -> None:
    for tag in {each.profile for each in SHIPPED}:
        record = run(tag, step(figures=result(iops=1e9, bandwidth=1e15)))
        view = view_of(record, compare(record, SHIPPED), 1)
        said = [view.told, *(note.text for note in (*view.badges, *view.other_notes))]
        text = " ".join(said).lower()
        assert not re.search(r"\b(better|worse|faster|wins?)\b", text)


# -- own baselines


OWN = """\
baselines: mine
title: Last year
source: {document: Acceptance}
tool: {name: fio, version: "3.33"}
setups: {a: {hardware: x, protection: y, network: z}}
workloads:
  - {profile: ceph/randread, params: {size: 4G, runtime: 10s}, hosts: 1, results: [{read: {bandwidth: 2 MB/s}}]}
"""


def test_the_same_parameters_clients_and_tool_with_all_known_is_reported() -> None:
    (found,) = compare(run("ceph/randread", step()), load_baselines(OWN, "own.yaml"))
    assert (found.badge, found.figures[0].ratio_low) == ("same parameters and clients", 2.0)


# -- values


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4k", 4096),
        ("1T", 2**40),
        ("300s", 300),
        ("1h30m", 5400),
        ("15m", 15 * MIB),
        ("12", 12),
        (7, 7),
        ("x", None),
    ],
)
def test_published_values_are_read_as_sizes_and_with_a_unit_of_time_as_durations(
    text: str | int, number: float | None
) -> None:
    assert number_of(text) == number


def test_values_are_the_same_however_they_are_written() -> None:
    assert same(4096, "4k") and same(300.0, "300s") and same("psync", "psync") and same(12, 12)
    assert same("/usr/lib/engine.so", "engine.so")
    assert not same(4096, "8k") and not same("libaio", "psync")
    assert (shown_like(64 * MIB, "4G"), shown_like(1.5, "10s"), shown_like(3, 100)) == (
        "64M",
        "1500ms",
        "3",
    )


# -- text


def test_the_section_fits_80_columns_and_says_all_once() -> None:
    points = [{**AS_PUBLISHED, "bs": bs} for bs in (4096, 8192, 16384, 32768)]
    record = run("ceph/randread", *(step(index, params) for index, params in enumerate(points)))
    text = published_text(view_of(record, compare(record, SHIPPED), 40), 80)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "published results: 8 for ceph/randread"
    assert lines[1] == "  all: setup not fully known"  # before any ratio
    assert (
        " ".join(lines[3].split())
        == "1 slow, numjobs=1 bs=4k read BW 3.81 MiB/s 3.81-4.00 MiB/s 0.0-4.6 % worse"
    )
    assert text.count("Each point ran for 10 s, once") == 1
    assert "  hardware slow: 16 cores" in text and "  hardware fast: 40 cores" in text


def test_names_of_a_sweeps_points_are_whole_and_cut_only_where_they_have_no_room() -> None:
    points = [{**AS_PUBLISHED, "bs": bs, "numjobs": 16} for bs in (4096, 4 * MIB)]
    record = run("ceph/randread", *(step(index, params) for index, params in enumerate(points)))
    view = view_of(record, compare(record, SHIPPED), 40)
    names = [row.label for row in view.rows if row.label]
    assert names and all(
        name in published_text(view) and name in published_text(view, 80) for name in names
    )
    rows = tuple(
        replace(row, label=f"{row.label}, on a very long setup's name") for row in view.rows
    )
    long = replace(view, rows=rows)
    assert all(row.label in published_text(long) for row in long.rows)
    assert {line.width for line in long.table(70)} == {70}


def test_a_single_measurement_shows_the_headline_first_and_then_the_other_figures() -> None:
    record = run("mapr/nfs-randread-256k", step(figures=result(iops=10.0, bandwidth=1671 * MIB)))
    view = view_of(record, compare(record, SHIPPED), 1)
    assert [row.figure for row in view.rows] == [
        "read BW", "read IOPS", "read mean", "read p50", "read p95", "read p99", "read p99.5", "read p99.9",
        "read max",
    ]  # fmt: skip
    assert (view.rows[0].theirs, view.rows[0].change, view.rows[1].number) == (
        view.rows[0].ours,
        "equal",
        None,
    )


def test_a_point_without_published_figures_says_how_many_other_points_have_some() -> None:
    record = run("ceph/randread", step(params={**AS_PUBLISHED, "numjobs": 3}))
    view, _ = published(record, NOBODY)
    assert view is not None
    assert (
        published_text(view)
        == "published results: none for the measured points; 40 for other points of ceph/randread\n"
    )


def test_a_profile_without_published_figures_has_no_section() -> None:
    assert published(build_record(DATA / "mix"), NOBODY) == (None, ())


def test_json_has_ours_theirs_and_the_printed_text() -> None:
    found = comparison_json(one(compare(run("ceph/randread", step()), SHIPPED), "slow"))
    (figure,) = found["figures"]
    assert (figure["printed"], figure["value"], figure["unit"], figure["ours"]) == (
        "4 MB/s",
        4e6,
        "bytes_per_s",
        4e6,
    )
    assert found["baseline"]["source"]["document"] == "Fio on Ceph benchmark report"
    assert found["badge"] == "setup not fully known"


def test_numbers_are_shortened_and_a_whole_setup_is_called_by_its_name() -> None:
    assert spans([1, 2, 3, 5, 7, 8]) == "1-3, 5, 7-8"
    setups = ["slow", "fast"] * 4
    assert named_by([1, 3, 5, 7], setups) == "slow"
    assert named_by([1, 3, 5], setups) == "1, 3, 5"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (123.4, 123.4, "123x as high"),
        (12.34, 12.34, "12x as high"),
        (1.5, 3.0, "50-200 % better"),
        (1.0, 1.0, "equal"),
        (0.9, 1.02, "-10 to +2.0 %"),
        (0.954, 1.0, "0.0-4.6 % worse"),
        (0.1, 0.1, "90 % worse"),
        (None, None, "–"),
    ],
)
def test_ours_is_better_or_worse_than_theirs_with_digits_that_mean_something(
    low: float | None, high: float | None, text: str
) -> None:
    figure = PublishedFigure("read", "iops", Quantity("1", "iops", 1.0, 1.0, 1.0))
    assert change_text(Compared(figure, 1.0, low, high)) == text


def test_a_view_says_how_many_there_are() -> None:
    assert (
        PublishedView("a/b", 3, (), ()).title
        == "none for the measured points; 3 for other points of a/b"
    )


def test_our_figure_of_an_invalid_run_has_its_mark_also_when_it_is_scaled_down() -> None:
    scaled = step(params={"size": 2**30, "runtime": 10.0, "numjobs": 1, "bs": 4096})
    record = run("ceph/randread", scaled, verdict="invalid")
    found = compare(record, SHIPPED)
    assert found[0].badge.startswith("this run is invalid and scaled down: ")
    assert all(row.ours.endswith(" !") for row in view_of(record, found, len(found)).rows)
    assert comparison_json(found[0])["verdict"] == "invalid"
    doubted = run("ceph/randread", scaled, verdict="valid-with-warnings")
    assert all(
        row.ours.endswith(" ?") for row in view_of(doubted, compare(doubted, SHIPPED), 1).rows
    )
