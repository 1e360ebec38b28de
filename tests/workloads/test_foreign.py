"""Output of programs that are no load generators of ours: elbencho, wekatester, CBT."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.workloads.worded import are_worded
from tui import workloads
from tui.judge.texts.figures import TEXTS
from tui.library.imported import records_of
from tui.model.problem import UsageError
from tui.text.run_texts import run_text
from tui.workloads import foreign
from tui.workloads.base import Format, ImportedOutput, KeptFile

DATA = Path(__file__).parents[1] / "data"
MIB, GIB = 1 << 20, 1 << 30
CLIENTS = gzip.decompress((DATA / "fio" / "cs" / "two-json+-3.33.stdout.gz").read_bytes()).decode()
RADOS = """Total time run:         10.0512
Total writes made:      2401
Write size:             4194304
Object size:            4194304
Bandwidth (MB/sec):     955.508
Average IOPS:           238
Stddev IOPS:            12.1
Average Latency(s):     0.0669537
Stddev Latency(s):      0.0172
Max latency(s):         0.2071
Min latency(s):         0.0301
"""


def of(name: str) -> Format:
    return next(each for each in [*workloads.every(), *foreign.formats()] if each.name == name)


def outputs(name: str, file: str) -> Sequence[ImportedOutput]:
    return of(name).import_output((DATA / "foreign" / file).read_text(), file)


def result_file(name: str, *more: str) -> str:
    """Return a recorded table of elbencho as its --resfile has it, with the command before it."""
    recorded = DATA / "elbencho" / name
    program, *words = recorded.with_suffix(".cmd").read_text().split()
    command = " ".join(f'"{word}"' for word in (program, *more, *words))
    head = f"ISO DATE: 2026-11-25T16:27:22+0000\nCOMMAND LINE: {command}\n\n"
    return head + recorded.with_suffix(".out").read_text()


def test_elbencho_tables_know_options_joined_with_their_values() -> None:
    text = result_file("big-write")
    for apart, joined in (('"-t" "2"', '"-t2"'), ('"-b" "1m"', '"-b1MiB"'), ('"-w"', '"-Fw"')):
        assert apart in text
        text = text.replace(apart, joined)
    (write,) = of("elbencho").import_output(text, "r.txt")
    (load,) = write.loads
    assert (load.workers, load.block_bytes, load.direct) == (2, MIB, True)


def kept(name: str, text: str) -> KeptFile:
    return KeptFile(name, name, text)


def test_elbencho_csv_gives_a_measurement_for_each_phase() -> None:
    mkdirs, write, read = outputs("elbencho", "elbencho.csv")
    assert mkdirs.result.dirs["mkdirs"].iops == 1466
    assert (write.name, read.name) == ("write", "read")
    part = read.result.dirs["read"]
    assert (part.iops, part.bytes, part.runtime_s) == (9048, 8192 * MIB, 0.905)
    assert part.lat is not None
    assert (part.lat.min_ns, part.lat.mean_ns, part.lat.max_ns) == (553_000, 3_223_000, 6_922_000)
    assert {"iops", "ios", "bytes", "lat"} <= set(part.rounded)
    (load,) = read.loads
    assert (load.workers, load.held, load.direct, load.random) == (8, 32, True, False)


def test_elbencho_json_has_exact_bytes_and_so_exact_counts() -> None:
    write, mkdirs = outputs("elbencho", "elbencho.json")
    part = write.result.dirs["write"]
    assert part.iops == pytest.approx(2941, rel=1e-3)
    assert (part.bytes, part.ios) == (8192 * MIB, 8192)
    assert part.bw_bytes_per_s == pytest.approx(3085447168, rel=1e-4)
    assert part.rounded == ["lat"]
    assert write.result.end_ms is not None and "mkdirs" in mkdirs.result.dirs


def test_elbencho_tables_are_read_with_the_load_of_their_command() -> None:
    text = result_file("big-write", "--hosts", "n1,n2,n3")
    (write,) = of("elbencho").import_output(text, "elbencho.txt")
    part = write.result.dirs["write"]
    assert (part.iops, part.runtime_s, part.bytes) == (798, 0.08, 64 * MIB)
    assert part.lat is not None
    assert (part.lat.mean_ns, part.lat.max_ns) == (2_400_000, 8_240_000)
    assert {name: part.lat.percentiles_ns[name] for name in ("1", "50", "99")} == {
        "1": 1_024_000,
        "50": 2_435_000,
        "99": 9_742_000,
    }
    assert (write.host, write.loads[0].workers, write.loads[0].block_bytes) == (
        "all-hosts",
        6,
        MIB,
    )


@pytest.mark.parametrize("name", ["big-write", "files-write-read", "rwmix"])
def test_real_tables_of_elbencho_agree_with_themselves(name: str, tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text(result_file(name))
    (made,) = records_of([tmp_path / "r.txt"])
    assert not [each for each in made.record.findings if each.severity == "error"]


def test_what_wekatester_prints_are_rates_without_counts() -> None:
    both, iops = outputs("wekatester", "wekatester.log")
    assert both.name == "011-bandwidthR"
    assert both.result.dirs["read"].bw_bytes_per_s == pytest.approx(4.5 * GIB)
    assert (
        both.result.dirs["read"].lat is not None and both.result.dirs["read"].lat.mean_ns == 227_300
    )
    assert iops.result.dirs["read"].iops == 1_978_330


def test_rates_without_counts_are_in_the_record_and_their_deviation_is_unknown(
    tmp_path: Path,
) -> None:
    (made,) = records_of([DATA / "foreign" / "wekatester.log"])
    first, second = made.record.steps
    read = first.results.aggregate["read"]
    assert read.bw_bytes_per_s == pytest.approx(4.5 * GIB) and read.runtime_s is None
    assert read.lat is not None and (read.lat.mean_ns, read.lat.stddev_ns, read.lat.min_ns) == (
        227_300,
        None,
        None,
    )
    assert second.results.aggregate["read"].iops == 1_978_330
    assert first.headline == pytest.approx(7 * GIB) and first.latency_kind == "lat"
    assert "concurrency" in (made.record.checks_not_made or {})
    assert '"stddev_ns":null' in made.record.to_json()


def test_a_bundle_of_wekatester_gives_each_host_of_each_job_and_no_layout() -> None:
    jobs = ("000-wekatester-layout", "011-bandwidthR")
    files = [kept(f"20260808-231119/results_{job}.json", CLIENTS) for job in jobs]
    broken = kept("20260808-231119/results_022-latencyW.json", CLIENTS[:5000])
    (run,) = of("wekatester").import_tree([*files, broken])
    (measured,) = run.measurements
    assert list(measured) == ["/tmp/fiotest/srv/s1", "/tmp/fiotest/srv/s2"]
    assert {each.name for each in measured.values()} == {"011-bandwidthR"}
    assert "results_022-latencyW.json" in run_text(run.caveats[0])


def test_an_archive_of_cbt_has_a_run_for_each_benchmark_and_a_measurement_for_each_point() -> None:
    text = (DATA / "fio" / "text" / "nfs-client-1.txt").read_text()
    root = "results/00000000/id-1234abcd"
    files = [
        kept(f"arch/{root}/benchmark_config.yaml", "cluster: {}\n"),
        *(
            kept(f"arch/{root}/op_size-00262144/iodepth-001/output.{n}.{host}", text)
            for n in "01"
            for host in "ab"
        ),
        kept(f"arch/{root}/op_size-00262144/iodepth-016/output.0.a", text),
        kept(f"arch/{root}/op_size-00262144/iodepth-016/output.0_iops.1.log.a", "500, 12, 0, 0\n"),
    ]
    (run,) = of("cbt").import_tree(files)
    assert [sorted(each) for each in run.measurements] == [["a", "b"], ["a"]]
    alone = run.measurements[1]["a"].result.dirs["write"]
    assert run.measurements[1]["a"].name == "op_size-00262144/iodepth-016"
    double = run.measurements[0]["a"].result.dirs["write"]
    assert (double.ios, double.iops) == (2 * alone.ios, 2 * alone.iops)
    assert alone.clat is not None and alone.clat.percentiles_ns
    # no histograms: nothing to merge
    assert double.clat is not None and double.clat.percentiles_ns == {}


@pytest.mark.parametrize(
    "text", [RADOS, json.dumps(dict(line.split(":", 1) for line in RADOS.splitlines()))]
)
def test_rados_bench_of_cbt(text: str) -> None:
    (run,) = of("cbt").import_tree(
        [kept("results/00000000/Radosbench/osd_ra-1/write/json_output.0.h1", text)]
    )
    (measured,) = run.measurements
    part = measured["h1"].result.dirs["write"]
    assert (part.ios, part.bytes, part.runtime_s) == (2401, 2401 * 4 * MIB, 10.0512)
    assert part.lat is not None and part.lat.mean_ns == pytest.approx(66_953_700)


def test_a_result_of_elbencho_in_an_archive_of_cbt_is_of_the_host_whose_directory_it_is_in() -> (
    None
):
    text = result_file("big-write")
    (run,) = of("cbt").import_tree(
        [kept("results/00000000/id-1/write_4096/threads-001/c1/result.csv", text)]
    )
    assert list(run.measurements[0]) == ["c1"]
    assert next(iter(run.measurements[0].values())).tool == "elbencho"


@pytest.mark.parametrize("name", foreign.FORMATS)
def test_a_format_is_silent_about_what_is_not_of_it(name: str) -> None:
    text = (DATA / "fio" / "text" / "nfs-client-1.txt").read_text()
    assert list(of(name).import_output(text, "x")) == []
    assert list(of(name).import_tree([kept("a/b.txt", text)])) == []


def test_a_figure_that_is_no_number_is_reported_with_its_line() -> None:
    text = (DATA / "foreign" / "elbencho.csv").read_text().replace("9048", "many")
    with pytest.raises(UsageError) as told:
        of("elbencho").import_output(text, "r.csv")
    assert (told.value.problems[0].file, told.value.problems[0].line) == ("r.csv", 4)


@pytest.mark.parametrize(
    ("printed", "other"),
    [
        ("total bandwidth: 7.00", "total bandwidth: 8.00"),
        ("average bandwidth: 3.50", "average bandwidth: 4.50"),
        ("max 4.00 GiB/s", "max 3.20 GiB/s"),
        ("average iops: 989,165", "average iops: 889,165"),
    ],
)
def test_sums_of_wekatester_are_those_of_directions_and_hosts(printed: str, other: str) -> None:
    text = (DATA / "foreign" / "wekatester.log").read_text()
    assert printed in text
    found = of("wekatester").import_output(text.replace(printed, other), "x")
    wrong = [each for job in found for each in job.result.contradictions or ()]
    assert wrong and are_worded(wrong, TEXTS)
