"""Figures of fio's report and terse output that contradict each other: none as fio wrote them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tui.workloads.fio.distributions import span
from tui.workloads.fio.outputs import import_output

DATA = Path(__file__).parents[2] / "data" / "fio"
REPORTS = sorted(
    path
    for path in (*DATA.glob("human/*.stdout"), *DATA.glob("cs/*.stdout"), *DATA.glob("text/*.txt"))
    if re.search(r" BW=", path.read_text())
)
GROUPS = DATA / "human" / "hum-3.33.stdout"  # three groups of 2, 4 and 1 workers
CLIENTS = DATA / "cs" / "two-normal-3.33.stdout"
FAILED = DATA / "human" / "err-3.33.stdout"
QUEUED = DATA / "text" / "queued-3.33.txt"  # with its command line


def kinds(text: str) -> set[str]:
    outputs = import_output(text, "out.txt")
    return {each.about for output in outputs for each in output.result.contradictions or ()}


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.name)
def test_a_report_of_fio_contradicts_nothing(path: Path) -> None:
    assert kinds(path.read_text()) == set()


def test_the_block_size_of_a_report_is_that_of_its_direction() -> None:
    sizes = "bs=(R) 64.0KiB-64.0KiB, (W) 4096B-4096B, (T) 4096B-4096B"
    text = re.sub(r"bs=\(R\).*?(?=, ioengine)", sizes, QUEUED.read_text())
    text = re.sub(r"(?m)^.*\bfio --.*\n", "", text)
    (output,) = import_output(text, "out.txt")
    assert [load.block_bytes for load in output.loads] == [65536]


LIES = {
    "share": (GROUPS, r"(?<=99\.50th=\[)  45312", "   1944"),
    "share-sum": (GROUPS, r"(?<= 4=)90\.07(?=%)", "80.07"),
    "highest-below": (GROUPS, r"(?<=clat \(nsec\): min=1458, max=)3708\.6k", " 908.6k"),
    "sample-order": (GROUPS, r"(?<=per=99\.62%, avg=)724415\.33", "944415.33"),
    "twice": (GROUPS, r"(?<=BW=710MiB/s \()745(?=MB/s)", "945"),
    "depth-syncs": (GROUPS, r"(?<=total=0,181888,0,)2842", "5684"),
    "syncs": (GROUPS, r"    sync \(usec\).*\n", ""),
    "depth-share": (GROUPS, r"(?<=    sync \(usec\): min=231, max=10088, avg=)1028\.97", "9928.97"),
    "depth": (GROUPS, r"(?<=ioengine=posixaio, iodepth=)8", "16"),
    "group-bytes": (GROUPS, r"(?<=io=)1421MiB \(1490MB\)", "2421MiB (2539MB)"),
    "group-rate": (GROUPS, r"(?<=bw=)710MiB/s \(745MB/s\)", "910MiB/s (954MB/s)"),
    "group-time": (GROUPS, r"(?<=run=)2001(?=-2001msec)", "1901"),
    "group-share": (GROUPS, r"(?<=per=)99\.62", "89.62"),
    "started": (GROUPS, r"(?<=Starting )7", "8"),
    "entries": (GROUPS, r"(?<=Starting )7", "6"),
    "clients": (CLIENTS, r"(?<=total=)6000(?=,6000)", "7000"),
    "connected": (CLIENTS, r"(?m)^(?=hostname=vm)", "hostname=other, fio=fio-3.33\n"),
    "more-cpu": (QUEUED, r"(?<=usr=)1\.37", "97.37"),
    "no-error": (FAILED, r"err= 5 \(.*?\)(?=: pid)", "err= 0"),
}


@pytest.mark.parametrize("kind", LIES)
def test_a_figure_changed_alone_contradicts_another(kind: str) -> None:
    path, figure, other = LIES[kind]
    lied, count = re.subn(figure, other, path.read_text(), count=1)
    assert count == 1
    assert kind in kinds(lied)


UNSYNCED = DATA / "text" / "unsynced-3.33.txt"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("", set()),
        (" --fsync=1", {"syncs-due"}),
        (" --fdatasync=8", {"syncs-due"}),
        (" --fsync=1000", set()),  # more than the job wrote
        (" --fsync=1 --ioengine=null", set()),
        (" --fsync=1 --verify=crc32c", set()),
    ],
)
def test_writes_without_any_of_the_syncs_on_the_command_line_contradict_it(
    more: str, told: set[str]
) -> None:
    assert kinds(re.sub(r"(?<=--filename=f)", more, UNSYNCED.read_text(), count=1)) == told


ONE_AT_A_TIME = "1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%"


@pytest.mark.parametrize(
    ("more", "told"), [("", {"depth-share"}), (" --io_submit_mode=offload", set())]
)
def test_depths_of_one_need_other_threads_that_submit(more: str, told: set[str]) -> None:
    text = re.sub(r"(?<= : )1=46\.4%.*16=0\.0%", ONE_AT_A_TIME, QUEUED.read_text())
    assert kinds(re.sub(r"(?<=--rate_iops=2000)", more, text)) == told
    assert kinds(text.partition("\n")[2]) == set()  # unknown without the command


def test_cpu_time_of_a_sync_engine_without_its_command_may_be_that_of_other_threads() -> None:
    text = QUEUED.read_text().partition("\n")[2].replace("usr=1.37", "usr=97.37")
    assert kinds(text) == {"more-cpu"}
    one = re.sub(r"(?<= : )1=46\.4%.*16=0\.0%", ONE_AT_A_TIME, text)
    assert kinds(one) == set()


TERSE = sorted((DATA / "human").glob("terse-*.stdout"))
# of one line: read direction from field 5 on
TERSE_LIES = {
    "group-share": (5 + 38, "12.5%"),
    "sample-order": (5 + 39, "1.0"),
    "share": (5 + 12 + 13, "99.500000%=1"),
    "highest-above": (5 + 9, "999999"),
}


@pytest.mark.parametrize("path", TERSE, ids=lambda path: path.name)
def test_terse_output_of_fio_contradicts_nothing(path: Path) -> None:
    assert kinds(path.read_text()) == set()


@pytest.mark.parametrize("kind", TERSE_LIES)
def test_a_field_of_a_terse_line_changed_alone_contradicts_another(kind: str) -> None:
    at, told = TERSE_LIES[kind]
    fields = (DATA / "human" / "terse-randrw-3.33.stdout").read_text().split(";")
    fields[at] = told
    assert kind in kinds(";".join(fields))


@pytest.mark.parametrize(("two", "told"), [("0.0%", set()), ("51.0%", {"more-cpu"})])
def test_more_cpu_time_than_a_worker_ran_contradicts_depths_above_one(
    two: str, told: set[str]
) -> None:
    fields = (DATA / "human" / "terse-randrw-3.33.stdout").read_text().split(";")
    cpu = 5 + 3 * 41
    fields[cpu], fields[cpu + 6] = "98.5%", two
    assert kinds(";".join(fields)) == told


def test_a_job_that_is_left_out_is_missed_by_its_group() -> None:
    text = GROUPS.read_text()
    start, end = text.index("aio-mix: (groupid"), text.index("lib: (groupid")
    lines = re.sub(r"(?s)Run status group 1.*?(?=Run status group 2)", "", text)
    assert {"started"} == kinds(lines[:start] + lines[end:])


@pytest.mark.parametrize(
    ("printed", "low", "high"),
    [
        ("512B", 512, 512),
        ("139MiB/s", 138.5 * 2**20, 139.501 * 2**20),
        ("44.5k", 44_450, 44_551),
        ("574Mibit/s", 573.5 * 2**17, 574.501 * 2**17),
        ("1.00G", 0.995e9, 2.001e9),  # fio 3.1 prints 1.996 so
    ],
)
def test_a_printed_number_stands_for_all_that_are_printed_so(
    printed: str, low: float, high: float
) -> None:
    assert span(printed) == pytest.approx((low, high))
