"""fio's JSON from a run of many hosts, read by those who read fio's JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.export.readers import cbt_details
from tui.cli.main import main
from tui.export.save import export, source_of
from tui.model.exporter import ExportSource
from tui.model.problem import UsageError
from tui.model.record import RunRecord
from tui.workloads.fio.outputs import import_output

DATA = Path(__file__).parents[1] / "data"
CLAT2CSV = "/usr/bin/fio_jsonplus_clat2csv"


def document(source: ExportSource, name: str, folder: Path) -> Any:
    (path,) = export(source, name, f"{folder}/")
    return json.loads(path.read_text())


@pytest.fixture
def jobs(plain: ExportSource, tmp_path: Path) -> Any:
    return document(plain, "fio-json", tmp_path)


@pytest.fixture
def clients(plain: ExportSource, tmp_path: Path) -> Any:
    return document(plain, "fio-client-json", tmp_path)


def test_a_file_is_named_after_what_fio_plot_looks_for(plain: ExportSource, tmp_path: Path) -> None:
    assert export(plain, "fio-json", f"{tmp_path}/") == [tmp_path / "randrw-1-1.json"]


def test_full_load_of_a_search_and_a_point_that_was_measured_twice_have_places_of_their_own(
    sweep: ExportSource, tmp_path: Path
) -> None:
    record = RunRecord.model_validate(sweep.record.model_dump(by_alias=True))
    first, second = record.steps
    points = [
        (first, {}),
        (second, {"rate": 7457}),
        (first, {"rate": 9587}),
        (second, {"rate": 9587}),
    ]
    record.steps = [
        step.model_copy(update={"point": point, "index": place})
        for place, (step, point) in enumerate(points)
    ]
    record.profile.job_files = []
    paths = export(ExportSource(record, sweep.run_dir), "fio-json", f"{tmp_path}/")
    folders = [str(path.parent.relative_to(tmp_path)) for path in paths]
    assert folders == [".", "rate-7457", "rate-9587", "rate-9587/step-3"]
    assert [json.loads(path.read_text())["benchtui"]["step"] for path in paths] == [0, 1, 2, 3]


def test_all_hosts_are_one_group_with_the_figures_of_the_record(
    plain: ExportSource, jobs: Any
) -> None:
    (job,) = jobs["jobs"]
    read = plain.record.steps[0].results.aggregate["read"]
    assert read.clat is not None
    assert (job["read"]["io_bytes"], job["read"]["total_ios"], job["read"]["iops"]) == (
        read.bytes,
        read.ios,
        read.iops,
    )
    assert job["read"]["clat_ns"]["percentile"]["99.500000"] == read.clat.percentiles_ns["99.5"]
    assert sum(job["read"]["clat_ns"]["bins"].values()) == read.ios


def test_options_are_complete_and_are_text(jobs: Any) -> None:
    wanted = {
        "rw": "randrw",
        "bs": "4k",
        "iodepth": "1",
        "numjobs": "1",
        "runtime": "4",
        "rwmixwrite": "30",
    }
    for options in (jobs["global options"], jobs["jobs"][0]["job options"]):
        assert wanted.items() <= options.items()
        assert all(isinstance(value, str) for value in options.values())


def test_what_hosts_do_not_have_in_common_stands_at_each_of_them(clients: Any) -> None:
    assert "randseed" not in clients["global options"]
    seeds = {
        job["hostname"]: job["job options"]["randseed"]
        for job in clients["client_stats"]
        if "hostname" in job
    }
    assert seeds == {"h1": "198969276", "h2": "3900429268"}


def test_all_clients_have_the_bins_of_each_host_together(clients: Any) -> None:
    first, second, everyone = (job["write"]["clat_ns"]["bins"] for job in clients["client_stats"])
    assert [job["jobname"] for job in clients["client_stats"]] == ["mix", "mix", "All clients"]
    assert everyone == {key: first.get(key, 0) + second.get(key, 0) for key in everyone}


def test_shares_of_latency_are_those_of_all_ios(jobs: Any) -> None:
    job = jobs["jobs"][0]
    shares = [value for unit in ("ns", "us", "ms") for value in job[f"latency_{unit}"].values()]
    assert sum(shares) == pytest.approx(100, abs=1e-4)
    middle = job["read"]["clat_ns"]["percentile"]["50.000000"]
    assert 10_000 < middle < 100_000, "else the next line looks at the wrong bound"
    assert job["latency_us"]["20"] + job["latency_us"]["50"] + job["latency_us"]["100"] > 50


def test_our_own_reader_of_fio_takes_it_back_whole(plain: ExportSource, clients: Any) -> None:
    back = {
        each.host: each.result.dirs
        for each in import_output(json.dumps(clients, indent=1), "x.json")
    }
    for host, dirs in plain.record.steps[0].results.per_host.items():
        for name in ("read", "write"):
            latency, kept = back[host][name].clat, dirs[name].clat
            assert latency is not None and kept is not None
            assert (latency.n, latency.max_ns, latency.percentiles_ns) == (
                kept.n,
                kept.max_ns,
                kept.percentiles_ns,
            )


def test_a_reader_like_cbts_finds_what_it_adds_up(plain: ExportSource, jobs: Any) -> None:
    found = cbt_details(jobs)
    parts = [plain.record.steps[0].results.aggregate[name] for name in ("read", "write")]
    assert found["operation"] == "70_30_randrw"
    assert (found["iodepth"], found["blocksize"], found["runtime_seconds"]) == ("1", "4", "4")
    assert (found["io_bytes"], found["total_ios"]) == (
        sum(each.bytes for each in parts),
        sum(each.ios for each in parts),
    )


@pytest.mark.skipif(not Path(CLAT2CSV).exists(), reason="this fio brings no fio_jsonplus_clat2csv")
def test_fios_own_script_makes_a_table_of_it_and_finds_it_valid(
    plain: ExportSource, tmp_path: Path
) -> None:
    (path,) = export(plain, "fio-json", f"{tmp_path}/")
    for arguments in ([], ["--validate"]):
        command = [sys.executable, CLAT2CSV, path.name, "out.csv", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "out_job0.csv validated\n"
    rows = (tmp_path / "out_job0.csv").read_text().splitlines()
    assert len(rows) > 100


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("fio-json", "-l -d 1 -n 1"),
        ("fio-json", "-N -d 1 -n 1"),
        ("fio-json", "-H -d 1 -n 1"),
        ("fio-json", "-L -t iops"),
        ("fio-client-json", "-l -d 1 -n 1 --include-hosts h1 h2 'All clients'"),
    ],
)
def test_fio_plot_draws_it(
    plain: ExportSource, tmp_path: Path, fio_plot: Any, name: str, arguments: str
) -> None:
    export(plain, name, f"{tmp_path}/in/")
    assert fio_plot(f"-i in -r randrw -f read {arguments}").startswith(b"\x89PNG")


def test_fio_plot_compares_the_points_of_a_sweep(
    sweep: ExportSource, tmp_path: Path, fio_plot: Any
) -> None:
    paths = export(sweep, "fio-json", str(tmp_path / "in"))
    assert paths == [tmp_path / f"in/bs-{size}/randread-1-1.json" for size in (4096, 8192)]
    assert fio_plot("-i in/bs-4096 in/bs-8192 -r randread -C -d 1 -n 1").startswith(b"\x89PNG")


def test_output_that_was_imported_says_that_options_are_derived(home: Path, tmp_path: Path) -> None:
    assert main(["import", str(DATA / "fio" / "text" / "mapr-randread-8k.txt")]) == 0
    source = source_of(next((home / "runs").iterdir()))
    (path,) = export(source, "fio-json", f"{tmp_path}/out/")
    found = json.loads(path.read_text())
    assert "derived" in found["benchtui"]["options"]
    assert found["jobs"][0]["job options"].keys() >= {"rw", "bs", "iodepth", "numjobs"}


def test_a_run_of_mdtest_has_no_place_in_it(metadata: ExportSource, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this run used mdtest"):
        export(metadata, "fio-json", str(tmp_path))


@pytest.mark.parametrize("run", ["aborted", "recovered"])
def test_runs_that_were_cut_off_are_exported_too(run: str, tmp_path: Path) -> None:
    source = source_of(DATA / "runs" / run)
    assert all(
        json.loads(path.read_text())["jobs"] for path in export(source, "fio-json", f"{tmp_path}/")
    )
