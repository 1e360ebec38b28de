"""Output of load generators that ran elsewhere, as people keep it or paste it into tickets."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.fio.real import needs_fio
from tui.cli.main import main
from tui.model.problem import UsageError
from tui.workloads.fio.outputs import import_output

DATA = Path(__file__).parents[1] / "data" / "fio"
TEXTS = sorted(
    each for kind in ("mapr", "nfs", "weka") for each in (DATA / "text").glob(f"{kind}-*.txt")
)
MAPR = [DATA / "text" / f"nfs-client-{number}.txt" for number in range(1, 5)]
HEAD = "j: (groupid=0, jobs=1): err= 0: pid=1:\n"
Captured = pytest.CaptureFixture[str]


def imported(
    capsys: Captured, *files: Path, more: tuple[str, ...] = ("--json", "--dry-run")
) -> dict[str, Any]:
    """Return the record that is made of these files."""
    assert main(["import", *map(str, files), *more]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["state"] == "imported"
    return dict(record)


def findings(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in record["findings"]}


def test_there_are_the_fifteen_outputs_of_the_sources() -> None:
    assert len(TEXTS) == 15


@pytest.mark.parametrize("file", TEXTS, ids=lambda path: path.stem)
def test_every_output_of_the_sources_is_read(file: Path, home: Path, capsys: Captured) -> None:
    (step,) = imported(capsys, file)["steps"]
    (direction,) = step["results"]["aggregate"].values()
    assert direction["ios"] > 100_000 and direction["iops"] == pytest.approx(
        direction["ios"] / direction["runtime_s"]
    )
    assert direction["clat"]["mean_ns"] <= direction["lat"]["mean_ns"]
    if "all-clients" not in file.stem:
        assert {"50", "99", "99.5", "99.9", "99.99"} <= direction["clat"]["percentiles_ns"].keys()


def test_the_failed_reads_of_mapr_are_found_from_their_text_alone(
    home: Path, capsys: Captured
) -> None:
    record = imported(capsys, DATA / "text" / "mapr-randread-8k.txt")
    found = findings(record)
    assert record["verdict"] == "invalid"
    assert "EIO" in str(found["tool-errors"]["message"])
    assert (found["concurrency"]["severity"], found["concurrency"]["measured"]) == ("error", 0.9425)


def test_four_files_are_four_hosts_of_one_run(home: Path, capsys: Captured) -> None:
    record = imported(capsys, *MAPR)
    found = findings(record)
    assert [host["name"] for host in record["hosts"]] == [file.stem for file in MAPR]
    assert found["start-skew"]["measured"] == 60.067
    assert "nfs-client-2 95.1 %" in str(found["concurrency"]["message"])
    assert "nfs-client-2 at 62 %" in str(found["straggler"]["message"])
    (step,) = record["steps"]
    assert round(step["timing"]["window"]["length_s"]) == 940
    assert round(step["results"]["aggregate"]["write"]["iops"]) == 2200


def test_a_clean_output_is_valid(home: Path, capsys: Captured) -> None:
    record = imported(capsys, DATA / "text" / "mapr-randread-256k.txt")
    assert record["verdict"] == "valid"
    assert {"tool-errors", "concurrency", "runtime", "few-samples"} <= set(record["checks"])


def test_what_the_text_does_not_tell_is_not_checked(home: Path, capsys: Captured) -> None:
    record = imported(capsys, DATA / "text" / "weka-read-iops.txt")
    assert record["checks_not_made"]["concurrency"] == "the queue depth is unknown"


def test_several_outputs_in_one_file_are_measurements_one_after_the_other(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    page = tmp_path / "ticket.txt"
    texts = [(DATA / "text" / f"mapr-randread-{size}.txt").read_text() for size in ("8k", "256k")]
    page.write_text("Hello,\nit is slow:\n\n" + "\nand then\n".join(texts))
    record = imported(capsys, page)
    assert [step["name"] for step in record["steps"]] == ["mytest 1", "mytest 2"]
    assert len(record["matrix"]["cells"]) == 2


def test_outputs_in_one_file_that_ran_side_by_side_are_hosts_of_one_measurement(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    page = tmp_path / "ticket.txt"
    page.write_text("\n\n".join(path.read_text() for path in MAPR))
    record = imported(capsys, page)
    (step,) = record["steps"]
    assert list(step["results"]["per_host"]) == [f"ticket#{number}" for number in range(1, 5)]
    assert (
        findings(record)["start-skew"]["measured"],
        findings(record)["start-skew"]["severity"],
    ) == (60.067, "error")
    assert {"concurrency", "straggler"} <= findings(record).keys()


def test_json_plus_gives_exact_histograms_and_the_load(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    kept = tmp_path / "web1.json"
    kept.write_bytes(
        gzip.decompress((DATA / "size" / "100psync-gr-json+-3.33.stdout.gz").read_bytes())
    )
    record = imported(capsys, kept)
    (step,) = record["steps"]
    assert step["in_flight"] == 100 and step["runtime_s"] == 3
    assert step["results"]["aggregate"]["mixed"]["clat"]["histogram"]["idx"]
    assert record["provenance"]["tool_versions"] == {"web1": "fio-3.33"}


def test_an_import_is_a_run_among_the_others(home: Path, capsys: Captured) -> None:
    assert main(["import", *map(str, MAPR), "--note", "ticket 12"]) == 0
    shown = capsys.readouterr().out
    assert "state: imported" in shown and "record: " in shown
    assert main(["runs", "list"]) == 0
    (row,) = capsys.readouterr().out.splitlines()[1:]
    assert "imported" in row and "INVALID" in row and "ticket 12" in row
    assert main(["runs", "show", "last"]) == 0
    assert "error start-skew" in capsys.readouterr().out
    (run_dir,) = (home / "runs").iterdir()
    assert [(run_dir / "raw" / file.name).read_bytes() for file in MAPR] == [
        file.read_bytes() for file in MAPR
    ]


def test_files_of_one_name_in_several_directories_are_all_kept(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    files = [tmp_path / f"client{number}" / "fio.txt" for number in (1, 2)]
    for file, source in zip(files, MAPR, strict=False):
        file.parent.mkdir()
        shutil.copyfile(source, file)
    assert main(["import", *map(str, files)]) == 0
    (run_dir,) = (home / "runs").iterdir()
    record = json.loads((run_dir / "run.json").read_text())
    places = [run_dir / each["path"] for each in record["provenance"]["artefacts"]]
    assert [place.read_bytes() for place in places] == [file.read_bytes() for file in files]


def test_a_file_that_is_named_twice_is_refused_by_name(home: Path, capsys: Captured) -> None:
    assert main(["import", str(MAPR[0]), str(MAPR[0])]) == 2
    assert f"{MAPR[0]}: given twice" in capsys.readouterr().err


def test_an_imported_run_takes_notes_and_has_nothing_to_resume(
    home: Path, capsys: Captured
) -> None:
    assert main(["import", str(MAPR[0])]) == 0
    assert main(["runs", "note", "last", "asked for the mount options"]) == 0
    capsys.readouterr()
    assert main(["runs", "list"]) == 0
    assert "asked for the mount options" in capsys.readouterr().out
    assert main(["runs", "resume", "last"]) != 0
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing of the kind\n", "contains no readable output of fio"),
        (
            "Block size = 4k, 70/30, 16 jobs, queue depth 32: 438k IOPS with a delay of 2.6 ms\n",
            "benchtui baselines",
        ),
        (
            "j: (groupid=0, jobs=1): err= 0: pid=1: Tue Jan 26 22:34:05 2021\n",
            ":1: 'j' has no figures",
        ),
        (f"\n{HEAD}  read: IOPS=1.2.3, BW=1MiB/s (1MB/s)(1MiB/1msec)\n", ":3: found '1.2.3'"),
        (f"{HEAD}  read: IOPS=12, BW=quick\n", ":2: found 'read: IOPS=12, BW=quick'"),
        (f"{HEAD}  read: IOPS=12, BW=1parsec (2)(1MiB/1msec)\n", ":2: cannot read BW=1parsec"),
        ('{\n  "fio version" : "fio-3.33",\n', ":3: the fio JSON ends in the middle"),
        ('x\n{\n  "fio version" : "fio-3.33",\n  "jobs" : 3\n}\n', ":2: cannot read fio JSON"),
    ],
)
def test_bad_input_is_one_line_with_its_place(
    text: str, said: str, home: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "bad.txt"
    file.write_text(text)
    assert main(["import", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"benchtui: {file}") and said in line


def test_a_file_that_is_not_there_and_files_that_do_not_fit_are_reported(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    assert main(["import", str(tmp_path / "none.txt")]) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err
    two = tmp_path / "two.txt"
    two.write_text(MAPR[0].read_text() + MAPR[1].read_text())
    assert main(["import", str(two), str(MAPR[2])]) == 2
    assert "two 2, nfs-client-3 1" in capsys.readouterr().err


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_text_is_read_or_refused_cleanly(data: st.DataObject) -> None:
    text = MAPR[0].read_text()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    noise = data.draw(st.text(max_size=20))
    try:
        import_output(text[:start] + noise + text[end:], "x")
    except UsageError as error:
        assert all(problem.line for problem in error.problems)


@needs_fio
@pytest.mark.parametrize("grouped", [True, False])
def test_normal_output_says_what_json_says(grouped: bool, tmp_path: Path) -> None:
    """The same fio prints both; only digits are lost."""
    argv = [
        "fio",
        "--name=a",
        "--rw=randrw",
        "--bs=8k",
        "--ioengine=null",
        "--iodepth=4",
        "--numjobs=2",
        "--size=1g",
    ]
    argv += [
        "--runtime=1",
        "--time_based",
        "--rate_iops=500",
        *(["--group_reporting"] if grouped else []),
    ]
    fio = shutil.which("fio") or "fio"
    done = subprocess.run(
        [fio, *argv[1:], "--output-format=json,normal"], capture_output=True, text=True, check=True
    )
    (printed,) = import_output(
        " ".join(argv) + "\n" + done.stdout[: done.stdout.index("{")] + _after(done.stdout), "x"
    )
    (exact,) = import_output(done.stdout, "x")
    assert printed.runtime_s == exact.runtime_s == 1.0
    assert [load.held for load in printed.loads] == [8]
    for name in ("read", "write"):
        one, other = printed.result.dirs[name], exact.result.dirs[name]
        assert (one.ios, one.runtime_s) == (other.ios, other.runtime_s)
        assert one.iops == pytest.approx(other.iops, rel=0.01)
        assert one.bytes == pytest.approx(other.bytes, rel=0.02)
        if grouped:
            assert one.clat is not None and other.clat is not None
            assert one.clat.percentiles_ns["99"] == pytest.approx(
                other.clat.percentiles_ns["99"], abs=1000
            )


def _after(text: str) -> str:
    """Return what stands behind the JSON object."""
    return text[text.index("\n}\n") + 3 :]
