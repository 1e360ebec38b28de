from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.cli.test_profiles import run
from tests.samples.records import with_texts_of
from tui.library.build import write_record

Captured = pytest.CaptureFixture[str]
OWN = """\
baselines: mine
title: Last year
source: {document: Acceptance}
tool: {name: fio}
setups: {a: {}}
workloads:
  - {profile: weka/read-iops, hosts: 3, results: [{read: {iops: 10k}}]}
"""


@pytest.fixture
def finished(home: Path) -> Path:
    """A finished run of weka/read-iops on three hosts."""
    maker = RunMaker(home / "runs" / RUN_ID, host_names(3), READS).begin().go().measure(6).finish()
    write_record(maker.run_dir)
    return maker.run_dir


def test_list_has_a_line_for_every_profile_with_published_figures(
    home: Path, capsys: Captured
) -> None:
    code, out, err = run(capsys, "baselines", "list")
    assert (code, err) == (0, "")
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in out.splitlines()}
    assert lines["ceph/randread"] == "40 read BW 4 MB/s ... 1114 MB/s ? (ceph)"
    assert lines["mapr/nfs-randread-8k"] == "1 read IOPS 16.9k ! (mapr)"
    assert lines["weka/read-latency"] == "3 read mean 145 µs ... 272 µs (weka)"
    assert all(len(line) <= 80 for line in out.splitlines())


def test_json_has_every_figure_as_printed_and_in_si_units(home: Path, capsys: Captured) -> None:
    found = json.loads(run(capsys, "baselines", "list", "--json")[1])
    assert len(found) == 164
    (tcp,) = (
        each
        for each in found
        if (each["profile"], each["setup"]) == ("vitastor/linear-read-4m", "2-replicas-tcp")
    )
    assert tcp["figures"][0]["printed"] == "13.13 GB/s"
    assert tcp["figures"][0]["value"] == 13.13e9
    assert tcp["figures"][0]["unit"] == "bytes_per_s"
    assert "the clients were the limit" in " ".join(tcp["doubts"])


@pytest.mark.parametrize(
    "name", ["ceph", "ceph/randread-60s", "vitastor", "weka/mdtest", "mapr", "aerodisk"]
)
def test_show_takes_a_collection_a_profile_or_a_variant(
    home: Path, name: str, capsys: Captured
) -> None:
    code, out, _ = run(capsys, "baselines", "show", name)
    assert code == 0
    assert all(len(line) <= 80 for line in out.splitlines())
    shown = json.loads(run(capsys, "baselines", "show", name, "--json")[1])
    assert all(name in (each["collection"], each["profile"], *each["variants"]) for each in shown)
    assert all(doubt.split()[-1] in out for each in shown for doubt in each["doubts"])


def test_show_tells_the_error_and_the_doubts_of_a_broken_run(home: Path, capsys: Captured) -> None:
    out = " ".join(run(capsys, "baselines", "show", "mapr/nfs-randread-8k")[1].split())
    assert "(sample, 1 client, ERROR) read iops 16.9k, read bandwidth 132MiB/s (139MB/s)" in out
    assert "func=write, error=Input/output error" in out
    assert "IOPS times mean latency is 94.3" in out
    assert "NFS version and mount options" in out


def test_an_unknown_name_is_a_usage_error_with_the_nearest(home: Path, capsys: Captured) -> None:
    code, out, err = run(capsys, "baselines", "show", "cehp")
    assert (code, out) == (2, "")
    assert (
        err == "benchtui: no published results for 'cehp' (did you mean 'ceph'?); see benchtui"
        " baselines list\n"
    )


def test_compare_puts_a_run_beside_published_figures(finished: Path, capsys: Captured) -> None:
    code, out, err = run(capsys, "baselines", "compare", "last")
    assert (code, err) == (0, "")
    badge = "this run is scaled down: runtime 60s against 300s (not comparable)"
    assert out.startswith("published results: 5 for weka/read-iops\n") and out.count(badge) == 1
    found = json.loads(run(capsys, "baselines", "compare", "last", "--json")[1])
    assert [each["badge"] for each in found] == [badge] * 5
    assert {"what": "runtime", "ours": "60s", "theirs": "300s"} in found[0]["differs"]


def test_show_of_a_run_ends_with_published_figures_and_its_json_adds_only_texts(
    finished: Path, capsys: Captured
) -> None:
    out = run(capsys, "runs", "show", "last")[1]
    assert run(capsys, "baselines", "compare", "last")[1] in out
    shown = json.loads(run(capsys, "runs", "show", "last", "--json")[1])
    assert with_texts_of(shown, json.loads((finished / "run.json").read_text()))


def test_a_run_of_another_profile_has_nothing_beside_it(home: Path, capsys: Captured) -> None:
    data = Path(__file__).parents[1] / "data" / "journals" / "mix"
    shutil.copytree(data, home / "runs" / "20261120T101530Z-test-mix-0001")
    assert run(capsys, "baselines", "compare", "last") == (
        0,
        "",
        "no published results for test/mix\n",
    )
    assert "published results" not in run(capsys, "runs", "show", "last")[1]


def test_own_baselines_are_next_to_the_shipped_ones(
    finished: Path, home: Path, capsys: Captured
) -> None:
    (home / "baselines").mkdir()
    (home / "baselines" / "mine.yaml").write_text(OWN)
    assert "weka/read-iops" in run(capsys, "baselines", "list")[1].splitlines()[-1]
    found = json.loads(run(capsys, "baselines", "compare", "last", "--json")[1])
    assert found[-1]["baseline"]["collection"] == "mine"


def test_a_broken_file_is_named_and_the_rest_is_shown(
    finished: Path, home: Path, capsys: Captured
) -> None:
    (home / "baselines").mkdir()
    path = home / "baselines" / "mine.yaml"
    path.write_text(OWN.replace("iops: 10k", "iops: many"))
    for argv in (("baselines", "list"), ("runs", "show", "last")):
        code, out, err = run(capsys, *argv)
        assert (code, "weka/read-iops" in out) == (0, True)
        assert err.startswith(f"benchtui: {path}:7:")
        assert "found 'many'; expected a number with k or M" in err


def test_check_says_what_is_wrong(home: Path, tmp_path: Path, capsys: Captured) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(OWN)
    bad.write_text(OWN.replace("title: Last year\n", ""))
    code, out, err = run(capsys, "baselines", "check", str(good))
    assert (code, err) == (0, "")
    assert out.startswith(f"{good}: ok (1 published result)\nweka/read-iops (mine): 1 valid;")
    code, _, err = run(
        capsys, "baselines", "check", str(good), str(bad), str(tmp_path / "none.yaml")
    )
    assert code == 2
    assert err.splitlines() == [
        f"{bad}:1:1: missing key 'title'",
        f"{tmp_path / 'none.yaml'}: cannot be read: No such file or directory",
    ]


def test_the_schema_of_baselines_is_a_schema(home: Path, capsys: Captured) -> None:
    schema = json.loads(run(capsys, "schema", "baselines")[1])
    jsonschema.Draft202012Validator.check_schema(schema)


def test_a_counter_experiment_is_not_compared_with_published_figures(
    finished: Path, capsys: Captured
) -> None:
    path = finished / "run.json"
    document = json.loads(path.read_text())
    proved = {
        "step": 0,
        "kind": "network",
        "change": "half-block",
        "figure": "bandwidth",
        "predicted": "the same",
    }
    document["proves"] = {
        **proved,
        "run_id": "the-run",
        "outcome": "agreed",
        "text": "agreed: it is",
    }
    path.write_text(json.dumps(document))
    code, out, err = run(capsys, "baselines", "compare", "last")
    assert (code, out) == (2, "")
    assert "is a counter-experiment; compare its original run instead: the-run" in err
    shown = run(capsys, "runs", "show", "last")[1]
    assert "agreed: it is" in shown and "published results" not in shown
