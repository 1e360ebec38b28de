"""What people keep of runs: directories, archives, packed files, logs, text of clients and of MPI
programs.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.test_import import Captured, findings, imported
from tests.patience import wait_until
from tests.workloads.fio.real import needs_fio
from tui.cli.main import main
from tui.library.import_sets import kept_runs
from tui.library.import_sources import ImportSource, LeftOut, Room, _texts
from tui.library.imported import imported_record, records_of
from tui.model.problem import UsageError
from tui.workloads.base import KeptFile

DATA = Path(__file__).parents[1] / "data"
LOGS = DATA / "fio" / "logs"
MAPR = [DATA / "fio" / "text" / f"nfs-client-{number}.txt" for number in range(1, 5)]
READS = [DATA / "fio" / "text" / f"mapr-randread-{size}.txt" for size in ("8k", "256k")]
WEKA_MDTEST = """mpiexec -f <hostfile> -np 1088 mdtest -v -N 136 -i 3 -n 18382 -F -u -d /mnt/weka/mdtest

SUMMARY rate: (of 3 iterations)
   Operation                      Max            Min           Mean        Std Dev
   ---------                      ---            ---           ----        -------
   File creation     :      40784.448      40784.447      40784.448          0.001
   File stat         :    2352915.997    2352902.666    2352911.311          6.121
   File read         :     217236.252     217236.114     217236.162          0.064
   File removal      :      44101.905      44101.896      44101.902          0.004
   Tree creation     :          3.788          3.097          3.342          0.316
   Tree removal      :          1.192          1.142          1.172          0.022
"""


def folder(path: Path, files: list[Path]) -> Path:
    path.mkdir(parents=True)
    for file in files:
        shutil.copyfile(file, path / file.name)
    return path


def test_files_of_a_directory_that_ran_side_by_side_are_hosts_of_one_measurement(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    record = imported(capsys, folder(tmp_path / "kept", [*MAPR, DATA / "published.json"]))
    (step,) = record["steps"]
    assert sorted(step["results"]["per_host"]) == [file.stem for file in MAPR]
    assert findings(record)["start-skew"]["measured"] == 60.067


def test_files_that_did_not_run_side_by_side_are_measurements_called_as_their_files(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    record = imported(capsys, folder(tmp_path / "kept", READS))
    assert [step["name"] for step in record["steps"]] == [file.stem for file in READS]
    assert [host["name"] for host in record["hosts"]] == ["host"]


def test_each_directory_with_outputs_is_a_run(home: Path, tmp_path: Path) -> None:
    folder(tmp_path / "kept" / "a", READS[:1])
    folder(tmp_path / "kept" / "b", READS[1:])
    assert main(["import", str(tmp_path / "kept")]) == 0
    assert len(list((home / "runs").iterdir())) == 2


@pytest.mark.parametrize("kind", ["x.tar.gz", "x.tgz", "x.zip", "x.tar"])
def test_an_archive_is_as_good_as_its_directory(
    kind: str, home: Path, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / kind
    if kind.endswith("zip"):
        with zipfile.ZipFile(path, "w") as packed:
            for file in MAPR:
                packed.write(file, f"kept/{file.name}")
    else:
        with tarfile.open(path, "w:gz" if "gz" in kind else "w") as archive:
            for file in MAPR:
                archive.add(file, f"kept/{file.name}")
    record = imported(capsys, path)
    assert round(record["steps"][0]["results"]["aggregate"]["write"]["iops"]) == 2200


def test_a_packed_file_is_unpacked(home: Path, tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "client.txt.gz"
    path.write_bytes(gzip.compress(MAPR[0].read_bytes()))
    record = imported(capsys, path)
    assert [host["name"] for host in record["hosts"]] == ["client"]


def test_what_cannot_be_unpacked_is_left_out_and_the_record_says_so(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    path = folder(tmp_path / "kept" / "fio", MAPR[:1]).parent
    for name in ("ilo.log.gz", "fio/other.xz"):
        (path / name).write_bytes(b"\x1f\x8b broken")
    record = imported(capsys, path)
    said = [each["text"] for each in record["messages"] if each["severity"] == "warning"]
    assert [text.partition(": cannot be unpacked: ")[0] for text in said] == [
        f"left out: {path}/fio/other.xz",
        f"left out: {path}/ilo.log.gz",
    ]
    (path / "fio" / MAPR[0].name).unlink()
    with pytest.raises(UsageError) as told:
        records_of([path])
    assert [Path(str(problem.file)).name for problem in told.value.problems] == [
        "other.xz",
        "ilo.log.gz",
    ]


def test_a_file_that_may_not_be_read_is_left_out_by_its_name() -> None:
    def refused() -> Iterator[bytes]:
        raise PermissionError(13, "Permission denied")

    entries = [("a.txt", "kept/a.txt", refused), ("b.txt", "kept/b.txt", lambda: iter([b"fio"]))]
    left_out: LeftOut = []
    assert [file.name for file in _texts(iter(entries), left_out, Room())] == ["b.txt"]
    assert [(name, str(problem)) for name, problem in left_out] == [
        ("a.txt", "kept/a.txt: cannot be read: Permission denied")
    ]


def test_no_file_of_an_archive_leaves_the_directory_of_the_run(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("../../../evil.txt", "/etc/evil.txt"):
            info = tarfile.TarInfo(name)
            info.size = MAPR[0].stat().st_size
            archive.addfile(info, io.BytesIO(MAPR[0].read_bytes()))
    assert main(["import", str(path)]) == 0
    assert (
        not list(tmp_path.glob("*/evil.txt")) and len(list((home / "runs").rglob("evil*.txt"))) == 2
    )


def test_what_of_a_directory_cannot_be_read_is_left_out_by_name(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    path = folder(tmp_path / "kept", READS)
    (path / "cut.json").write_text('{\n  "fio version" : "fio-3.33",\n')
    record = imported(capsys, path)
    assert len(record["steps"]) == 2
    assert any("cut.json:3: " in each["text"] for each in record["messages"])


def test_logs_beside_a_result_give_its_seconds(home: Path, capsys: Captured) -> None:
    (step,) = imported(capsys, LOGS / "avg")["steps"]
    assert step["results"]["aggregate"]["read"]["ios"] == 800
    column = next(each for each in step["series"]["columns"] if each["direction"] == "read")
    assert column["iops"] == [202, 199, 201]
    assert column["p99_ns"] == [10560, 10560, 10432]  # of the logs of histograms


def test_logs_alone_give_the_counts_of_each_io_and_exact_histograms(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    files = sorted((LOGS / "each").glob("*.log"))
    (step,) = imported(capsys, folder(tmp_path / "each", files))["steps"]
    read = step["results"]["aggregate"]["read"]
    rows = [
        line for file in files if "_clat" in file.name for line in file.read_text().splitlines()
    ]
    waits = [int(row.split(",")[1]) for row in rows]
    assert (read["ios"], read["bytes"], read["clat"]["n"], read["rounded"]) == (
        201,
        201 * 4096,
        201,
        [],
    )
    assert read["clat"]["mean_ns"] == pytest.approx(sum(waits) / len(waits), abs=0.001)
    assert sum(read["clat"]["histogram"]["n"]) == 201


def test_logs_of_intervals_alone_are_as_good_as_their_rates(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    (step,) = imported(capsys, folder(tmp_path / "avg", sorted((LOGS / "avg").glob("*.log*"))))[
        "steps"
    ]
    read = step["results"]["aggregate"]["read"]
    assert (read["runtime_s"], read["ios"]) == (3.5, 702)
    assert "iops" in read["rounded"] and read["clat"]["n"] == 704


def test_logs_in_the_names_of_bench_fio_are_of_its_results(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "bench"
    path.mkdir()
    value = json.loads((LOGS / "each" / "run.json").read_text())
    for point in ("randread-1-1", "randread-4-1"):
        value["timestamp_ms"] += 60_000
        (path / f"{point}.json").write_text(json.dumps(value))
    for worker in (1, 2):
        shutil.copyfile(
            LOGS / "each" / f"run_iops.{worker}.log",
            path / f"randread-iodepth-4-numjobs-1_iops.{worker}.log",
        )
    record = imported(capsys, path)
    named = {step["name"]: step for step in record["steps"]}
    assert named["randread-4-1"]["series"] is not None and named["randread-1-1"]["series"] is None


@pytest.mark.parametrize(
    "row", ["1000, much, 0, 0", "1000, 1, 0, " + "9" * 400], ids=["word", "no-size"]
)
def test_a_broken_row_of_a_log_is_reported_with_its_place(row: str, tmp_path: Path) -> None:
    path = tmp_path / "logs"
    path.mkdir()
    (path / "a_clat.1.log").write_text(f"500, 12, 0, 4096\n{row}\n")
    with pytest.raises(
        UsageError, match=rf"a_clat.1.log:2: found '{row[:40]}'; a row of a fio log"
    ):
        records_of([path])


@pytest.mark.parametrize("version", ["3.33", "master"])
def test_text_of_a_client_gives_each_of_its_hosts_and_leaves_their_sum_out(
    version: str, home: Path, capsys: Captured
) -> None:
    (step,) = imported(capsys, DATA / "fio" / "cs" / f"two-normal-{version}.stdout")["steps"]
    assert list(step["results"]["per_host"]) == ["vm", "vm#2"]  # two servers on one machine
    aggregate = step["results"]["aggregate"]["read"]
    assert aggregate["ios"] in (6000, 6001)
    assert aggregate["clat"]["percentiles_ns"] == {}  # no histograms: nothing to merge


def test_json_of_a_client_is_merged_by_its_histograms_as_fio_does(
    home: Path, capsys: Captured
) -> None:
    path = DATA / "fio" / "cs" / "two-json+-master.stdout.gz"
    (step,) = imported(capsys, path)["steps"]
    text = gzip.decompress(path.read_bytes()).decode()
    stats = json.loads(text[text.index("\n{") :])["client_stats"]
    every = next(each for each in stats if each["jobname"] == "All clients")
    read = step["results"]["aggregate"]["read"]
    assert read["ios"] == every["read"]["total_ios"]
    printed = {
        f"{float(name):g}": value for name, value in every["read"]["clat_ns"]["percentile"].items()
    }
    assert {name: read["clat"]["percentiles_ns"][name] for name in printed} == {
        name: min(value, read["clat"]["max_ns"]) for name, value in printed.items()
    }
    assert step["in_flight"] == 4 and step["runtime_s"] == 3


def test_json_on_one_line_and_in_a_list_is_read(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    value = json.loads((LOGS / "each" / "run.json").read_text())
    path = tmp_path / "all.json"
    path.write_text(
        json.dumps([value, {"inner": {**value, "timestamp_ms": value["timestamp_ms"] + 60_000}}])
    )
    record = imported(capsys, path)
    assert [step["results"]["aggregate"]["read"]["ios"] for step in record["steps"]] == [201, 201]


def test_mdtest_is_judged_by_what_its_text_and_its_command_tell(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "page.txt"
    path.write_text(WEKA_MDTEST)
    record = imported(capsys, path)
    told = record["steps"][0]["metadata"]
    assert (told["tasks"], told["items_per_rank"], told["files"], told["iterations"]) == (
        1088,
        18382,
        19_999_616,
        3,
    )
    assert told["operations"]["create"]["mean"] == 40784.448
    assert record["headline"]["text"] == "creates 40.8k ops/s"
    assert findings(record)["iterations"]["severity"] == "warning"


def test_a_page_with_outputs_of_several_tools_gives_them_all(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "page.txt"
    path.write_text(MAPR[0].read_text() + "\n\n" + WEKA_MDTEST)
    record = imported(capsys, path)
    assert [step["tool"] for step in record["steps"]] == ["fio", "mdtest"]


def test_operations_of_mdtest_that_failed_make_its_rates_void(home: Path, capsys: Captured) -> None:
    record = imported(capsys, DATA / "mdtest" / "mdtest-main-T-without-C.out")
    assert (
        record["verdict"] == "invalid"
        and "mdtest warns" in findings(record)["tool-errors"]["message"]
    )


def test_an_mdtest_that_gave_no_rates_says_why(home: Path, capsys: Captured) -> None:
    assert main(["import", str(DATA / "mdtest" / "mdtest-main-err-enospc-inodes.out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "mdtest printed no rates: no space or no inodes left" in line


def test_ranks_before_each_line_are_passed_over(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    text = (DATA / "mdtest" / "mdtest-main-profile-v.out").read_text()
    path = tmp_path / "tagged.txt"
    path.write_text("".join(f"[1,0]<stdout>: {line}\n" for line in text.splitlines()))
    tagged, plain = (
        imported(capsys, path),
        imported(capsys, DATA / "mdtest" / "mdtest-main-profile-v.out"),
    )
    assert tagged["steps"][0]["metadata"] == plain["steps"][0]["metadata"]
    assert plain["headline"]["direction"] == "create"  # what comes first in the text is of one rank


FIO_3 = DATA / "fio" / "human" / "terse-hum2-3.33.stdout"


def test_terse_lines_are_the_jobs_of_one_fio(home: Path, capsys: Captured) -> None:
    (step,) = imported(capsys, FIO_3)["steps"]
    jobs = next(iter(step["results"]["per_job"].values()))
    words = [line.split(";") for line in FIO_3.read_text().splitlines() if line.startswith("3;")]
    for each in words:
        if each[2] in ("fastnull", "latt"):
            assert jobs[each[2]]["read"]["iops"] == int(each[7])
            assert jobs[each[2]]["read"]["bytes"] == int(each[5]) * 1024
    assert "lat" in jobs["fastnull"]["read"]["rounded"]


def test_a_terse_line_that_is_cut_is_reported_with_its_line(
    tmp_path: Path, home: Path, capsys: Captured
) -> None:
    path = tmp_path / "cut.txt"
    path.write_text("x\n3;fio-3.33;a;0;0;1;2\n")
    assert main(["import", str(path)]) == 2
    assert re.search(
        rf"{re.escape(str(path))}:2: found 7 fields .* version 3; expected \d+ or more",
        capsys.readouterr().err,
    )


@needs_fio
@pytest.mark.parametrize("version", ["3", "4", "5"])
def test_terse_lines_say_what_json_says(version: str, tmp_path: Path) -> None:
    """The same fio prints both; only digits are lost."""
    argv = [
        shutil.which("fio") or "fio",
        "--name=a",
        "--rw=randrw",
        "--bs=8k",
        "--ioengine=null",
        "--size=1g",
    ]
    argv += ["--runtime=1", "--time_based", "--rate_iops=500", "--output-format=json,terse"]
    done = subprocess.run(
        [*argv, f"--terse-version={version}"], capture_output=True, text=True, check=True
    )
    terse = "".join(
        line + "\n" for line in done.stdout.splitlines() if line.startswith(f"{version};")
    )
    first, second = (records_of([_written(tmp_path / name,
        text)])[0].record.steps[0].results.aggregate
                     for name, text in (("a.txt", terse), ("b.json", done.stdout)))  # fmt: skip
    for name in ("read", "write"):
        assert first[name].iops == pytest.approx(second[name].iops, rel=0.01)
        assert (first[name].runtime_s, first[name].bytes) == (
            second[name].runtime_s,
            second[name].bytes,
        )
        one, other = first[name].clat, second[name].clat
        assert one is not None and other is not None
        assert one.percentiles_ns["50"] == pytest.approx(other.percentiles_ns["50"], abs=1000)


@needs_fio
@pytest.mark.parametrize("form", ["json+", "normal"])
def test_a_real_client_over_loopback(form: str, tmp_path: Path) -> None:
    fio, socket = shutil.which("fio") or "fio", tmp_path / "s"
    server = subprocess.Popen(
        [fio, f"--server=sock:{socket}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(socket.exists, "the server's socket")
        job = _written(tmp_path / "a.fio", "[a]\nioengine=null\nsize=1m\nrw=randread\nbs=4k\n")
        argv = [fio, f"--client=sock:{socket}", "--eta=never", f"--output-format={form}", str(job)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
    finally:
        server.terminate()
        server.wait()
    (made,) = records_of([_written(tmp_path / "out.txt", done.stdout)])
    (dirs,) = made.record.steps[0].results.per_host.values()
    assert (dirs["read"].ios, dirs["read"].bytes) == (256, 1 << 20)


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


NOISE = ["-1", "1e999", "nan", "9" * 400, "\x00", "{", ";"]
SAMPLES = [
    *MAPR[:1],
    DATA / "fio" / "cs" / "two-normal-3.33.stdout",
    FIO_3,
    LOGS / "each" / "run.json",
    LOGS / "each" / "run_clat.1.log",
    DATA / "mdtest" / "mdtest-main-profile-v.out",
    *sorted((DATA / "foreign").iterdir()),
]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_files_are_read_or_refused_in_words(data: st.DataObject) -> None:
    file = data.draw(st.sampled_from(SAMPLES))
    text = file.read_text()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 200)))
    noise = data.draw(st.one_of(st.text(max_size=20), st.sampled_from(NOISE)))
    kept = KeptFile(file.name, file.name, text[:start] + noise + text[end:])
    for is_tree in (False, True):
        try:
            runs = kept_runs([ImportSource(Path("given"), [kept], is_tree)])
        except UsageError as error:
            assert all(problem.message and "\n" not in str(problem) for problem in error.problems)
        else:
            assert all(imported_record(run.measurements, []).to_json() for run in runs)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    name=st.sampled_from(["x.gz", "x.xz", "x.bz2", "x.tar", "x.tgz", "x.zip", "x"]),
    data=st.binary(max_size=300),
)
def test_foreign_bytes_are_refused_in_words(name: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(UsageError) as told:
        records_of([path])
    assert all(name in str(problem) for problem in told.value.problems)


def test_a_damaged_file_makes_a_record_or_an_error_never_a_traceback(
    home: Path, tmp_path: Path, capsys: Captured
) -> None:
    """The heart of it for the whole way: a file cut at every hundredth of its length."""
    text = (LOGS / "each" / "run.json").read_text()
    path = tmp_path / "cut.json"
    for part in range(1, 100, 7):
        path.write_text(text[: len(text) * part // 100])
        assert main(["import", "--dry-run", str(path)]) in (0, 2)
        assert "Traceback" not in capsys.readouterr().err
