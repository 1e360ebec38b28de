"""fio's report with significant_figures below its default of 4."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.library.imported import records_of
from tui.model.problem import UsageError
from tui.workloads.fio.outputs import import_output

# fio 3.33, significant_figures=2, bs=128k
REPORT = """\
a: (g=0): rw=read, bs=(R) 0MiB-0MiB, (W) 0MiB-0MiB, (T) 0MiB-0MiB, ioengine=libaio, iodepth=8
fio-3.33
Starting 1 process

a: (groupid=0, jobs=1): err= 0: pid=28374: Sat Nov 28 23:56:05 2026
  read: IOPS=2k, BW=0GiB/s (0GB/s)(1GiB/4004msec)
    slat (usec): min=9, max=3290, avg=47.07, stdev=96.41
    clat (usec): min=171, max=39812, avg=3541.55, stdev=4341.18
     lat (usec): min=190, max=39877, avg=3588.62, stdev=4349.82
   bw (  KiB/s): min=214272, max=390144, per=100.00%, avg=290121.14, stdev=65127.61, samples=7
   iops        : min= 1674, max= 3048, avg=2266.57, stdev=508.81, samples=7
     issued rwts: total=8964,0,0,0 short=0,0,0,0 dropped=0,0,0,0
     latency   : target=0, window=0, percentile=100.00%, depth=8
"""


def checks_of(text: str, folder: Path) -> set[str]:
    path = folder / "report.txt"
    path.write_text(text)
    found = records_of([path])[0].record.findings
    return {finding.id for finding in found if finding.severity == "error"}


def test_bytes_come_from_samples_and_counts(tmp_path: Path) -> None:
    read = import_output(REPORT, "report.txt")[0].result.dirs["read"]
    assert (read.ios, read.bytes) == (8964, 8964 * 128 * 1024)
    assert read.iops == pytest.approx(8964 / 4.004)
    assert read.bw_bytes_per_s == pytest.approx(read.bytes / 4.004)
    assert checks_of(REPORT, tmp_path) == set()


def test_a_rate_beyond_its_last_digit_is_still_an_error(tmp_path: Path) -> None:
    assert "rate-mismatch" in checks_of(REPORT.replace("IOPS=2k", "IOPS=3k"), tmp_path)


def test_without_samples_the_bytes_are_unknown() -> None:
    lines = [line for line in REPORT.splitlines() if "samples=" not in line]
    with pytest.raises(UsageError, match="significant_figures"):
        import_output("\n".join(lines), "report.txt")
