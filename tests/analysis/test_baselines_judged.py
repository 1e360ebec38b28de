"""The doubts about the published figures are found by the checks of a run, from what the sources
tell.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tui.analysis.published import find_baselines
from tui.cli.main import main
from tui.engine.inputs.profiles import Catalogue
from tui.engine.plan.reproduce import published_plan
from tui.judge.wording import message_of
from tui.model.baseline import Baseline, load_baselines
from tui.model.figure_record import CodedText
from tui.model.printed import parse_printed, rounding_of
from tui.model.quantities import parse_stamp
from tui.view.published_checks import PublishedVerdict, judge, judged_text

NOWHERE = Path("/nonexistent")
OWN = """\
baselines: mine
title: Last year
source: {document: Acceptance}
tool: {name: fio}
setups: {a: {}}
workloads:
  - profile: weka/read-iops
    params: {size: 4G, runtime: 300s, numjobs: 192}
    hosts: 1
    results: [{read: {iops: 400k, latency: {mean: 0.24 ms}}}]
"""


def judged(baselines: list[Baseline] | tuple[Baseline, ...]) -> list[PublishedVerdict]:
    catalogue = Catalogue(NOWHERE)
    return judge(baselines, lambda baseline, hosts: published_plan(baseline, hosts, catalogue))


@pytest.fixture(scope="module")
def shipped() -> list[PublishedVerdict]:
    return judged(find_baselines(NOWHERE).baselines)


def found(
    shipped: list[PublishedVerdict], profile: str, label: str = ""
) -> dict[str, tuple[str, object, str]]:
    """Return what the checks found of one baseline: severity, measured, message by check."""
    (one,) = (
        each
        for each in shipped
        if each.baseline.profile == profile and each.baseline.label.startswith(label)
    )
    return {each.id: (each.severity, each.measured, message_of(each)) for each in one.seen.findings}


def test_the_8k_reads_of_mapr_failed_and_kept_94_of_100_in_flight(
    shipped: list[PublishedVerdict],
) -> None:
    seen = found(shipped, "mapr/nfs-randread-8k")
    assert seen["tool-errors"][0] == "error" and "EIO" in seen["tool-errors"][2]
    assert seen["concurrency"][:2] == ("error", 0.9425)


def test_four_clients_of_mapr_start_60_s_apart_and_are_uneven(
    shipped: list[PublishedVerdict],
) -> None:
    seen = found(shipped, "mapr/nfs-randwrite-256k-4c")
    assert seen["start-skew"][:2] == ("error", 60.067)
    assert "clocks, which were not compared" in seen["start-skew"][2]
    assert seen["concurrency"][0] == "warning" and "nfs-client-2 95.1 %" in seen["concurrency"][2]
    assert (
        seen["straggler"][0] == "warning"
        and "nfs-client-2 at 62 %, nfs-client-3 at 77 %" in seen["straggler"][2]
    )


def test_aerodisk_s_latencies_do_not_fit_its_depth(shipped: list[PublishedVerdict]) -> None:
    # 1139 of 512
    assert found(shipped, "aerodisk/oltp-4k-70r30w")["concurrency"][:2] == ("error", 2.2242)
    # 462 of 512, as rounded
    assert found(shipped, "aerodisk/seqwrite-128k")["concurrency"][:2] == ("warning", 0.9015)


def test_clients_of_ceph_are_at_the_link_that_is_stated(shipped: list[PublishedVerdict]) -> None:
    assert (
        "link carries 101 % of its 8.8 Gbit/s"
        in found(shipped, "ceph/randread", "fast, numjobs=16 bs=1m")["network"][2]
    )
    assert "network" not in found(shipped, "ceph/randread", "fast, numjobs=4 bs=1m")
    assert "network" not in found(shipped, "ceph/randread", "slow, numjobs=16 bs=1m")


def test_ten_seconds_and_four_gib_of_ceph_are_reported(shipped: list[PublishedVerdict]) -> None:
    seen = found(shipped, "ceph/randread", "slow, numjobs=1 bs=4k")
    assert seen["runtime"][:2] == ("info", 10.0)
    assert (
        seen["working-set"][2]
        == "4 GiB of files, 14.9 GiB of memory; the file system may cache direct I/O"
    )
    assert seen["direct-io"][0] == "info" and "fuse.ceph-fuse" in seen["direct-io"][2]


def test_vitastor_s_clients_take_a_whole_core_over_tcp(shipped: list[PublishedVerdict]) -> None:
    seen = found(shipped, "vitastor/read-4k-t12q128", "3-replicas-tcp")
    assert (
        seen["client-cpu"][0] == "warning"
        and "a thread of the load uses 100 % of a core" in seen["client-cpu"][2]
    )
    assert "client-cpu" not in found(shipped, "vitastor/read-4k-t12q128", "ec-2-1-rdma")


def test_ranks_of_mdtest_meet_their_own_files_and_iterations_that_agree_are_none(
    shipped: list[PublishedVerdict],
) -> None:
    seen = found(shipped, "weka/mdtest", "example")
    assert (
        "stat, read, remove, clients access files that they created themselves"
        in seen["rank-shift"][2]
    )
    assert "rank shift: 136 ranks = 0 of 8 clients in each phase" in seen["rank-shift"][2]
    assert seen["iterations"][0] == "warning" and seen["iterations"][2].startswith(
        "create, stat, read, remove:"
    )


def test_clean_figures_are_valid(shipped: list[PublishedVerdict]) -> None:
    for profile in ("mapr/nfs-randread-256k", "mapr/nfs-randwrite-8k"):
        (one,) = (each for each in shipped if each.baseline.profile == profile)
        assert one.verdict == "valid" and {"tool-errors", "concurrency", "few-samples"} <= set(
            one.seen.made
        )
    assert "concurrency" not in found(shipped, "weka/read-throughput", "example, one client")


def why(published: PublishedVerdict, check: str) -> str:
    reason = published.seen.not_made[check]
    assert isinstance(reason, CodedText)
    return reason.code


def test_what_a_source_does_not_tell_is_not_checked_and_said(
    shipped: list[PublishedVerdict],
) -> None:
    (one,) = (each for each in shipped if each.baseline.profile == "vitastor/raw-linear-read")
    assert why(one, "runtime") == "measured-time"
    assert why(one, "tool-errors") == "exit-status"
    seeds = next(each for each in shipped if each.baseline.profile == "vitastor/read-4k-t12q128")
    assert why(seeds, "same-offsets") == "seeds"


def test_every_figure_that_the_checks_doubt_is_marked_in_its_file(
    shipped: list[PublishedVerdict],
) -> None:
    assert [each.baseline.label for each in shipped if each.unmarked] == []


def test_own_figures_are_checked_and_a_missing_mark_is_reported() -> None:
    lines = judged_text(judged(load_baselines(OWN, "own.yaml")))
    text = " ".join(" ".join(lines).split())
    assert "weka/read-iops (mine): 1 valid with warnings" in text
    assert (
        "warning concurrency: expected 192 I/Os in flight on each host: client"
        " 50.0 % of that" in text
    )
    assert "not marked as doubtful in the file: add validity: doubtful" in text
    assert text.endswith(
        "1 published result: 1 valid with warnings; 1 not marked as doubtful in their files"
    )


def test_figures_of_an_unknown_profile_are_judged_as_far_as_they_go() -> None:
    (one,) = judged(load_baselines(OWN.replace("weka/read-iops", "nobody/knows"), "own.yaml"))
    assert why(one, "concurrency") == "queue-depth"


def test_the_command_reports_and_ends_well(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baselines", "check", "mapr", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["verdict"] for row in rows] == ["valid", "valid", "invalid", "valid", "invalid"]
    assert main(["baselines", "check"]) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert out.splitlines()[-1].startswith("160 published results: ")


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("2.6 ms", 0.05 / 2.6),
        ("438k iops", 0.5 / 438),
        ("~14700 iops", 50 / 14700),
        ("4234 iops", 0.5 / 4234),
    ],
)
def test_a_printed_figure_is_known_to_half_of_its_last_digit(text: str, off: float) -> None:
    assert rounding_of(parse_printed("ns" if "ms" in text else "iops", text)) == pytest.approx(off)


def test_a_stamp_without_a_time_is_none() -> None:
    assert parse_stamp("Tue Jan 26 22:34:05 2021") is not None
    assert parse_stamp("2021") is None
