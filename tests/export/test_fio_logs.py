"""fio's logs, made of the seconds of a run."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tui.export.save import export
from tui.model.exporter import ExportSource

GNUPLOT = "/usr/bin/fio2gnuplot"
PLOTS = "/usr/bin/fio_generate_plots"
PLOTTED = re.compile(r"'([^']+)' using \(\$1/1000\):\(\$2/(\d+)\)")
STEM = "randrw-iodepth-1-numjobs-1"


def test_there_is_a_log_of_all_hosts_and_of_each(plain: ExportSource, tmp_path: Path) -> None:
    names = {str(path.relative_to(tmp_path)) for path in export(plain, "fio-logs", str(tmp_path))}
    everyone = {f"{STEM}_{kind}.1.log" for kind in ("bw", "iops", "clat")}
    assert names == everyone | {
        f"hosts/{name}.{host}" for name in everyone for host in ("h1", "h2")
    }


def test_a_line_is_what_the_record_has_of_a_second(plain: ExportSource, tmp_path: Path) -> None:
    export(plain, "fio-logs", str(tmp_path))
    series = plain.record.steps[0].series
    assert series is not None
    column = next(each for each in series.columns if each.host is None and each.direction == "read")
    lines = (tmp_path / f"{STEM}_iops.1.log").read_text().splitlines()
    reads = {
        int(line.split(", ")[0]): int(line.split(", ")[1])
        for line in lines
        if line.split(", ")[2] == "0"
    }
    known = {
        (place + 1) * 1000: round(value)
        for place, value in enumerate(column.iops)
        if value is not None
    }
    assert reads == known and reads
    assert all(line.endswith(", 4096") for line in lines)


@pytest.mark.parametrize("folder", [".", "hosts"])
def test_fio_plot_draws_them(
    plain: ExportSource, tmp_path: Path, fio_plot: Any, folder: str
) -> None:
    export(plain, "fio-logs", str(tmp_path / "in"))
    found = fio_plot(f"-i in/{folder} -g -r randrw -f read write -t bw iops clat -d 1 -n 1")
    assert found.startswith(b"\x89PNG")


@pytest.mark.skipif(not Path(GNUPLOT).exists(), reason="this fio brings no fio2gnuplot")
def test_fios_own_script_adds_them_up(plain: ExportSource, tmp_path: Path) -> None:
    export(plain, "fio-logs", str(tmp_path))
    command = [sys.executable, GNUPLOT, "-i", "-d", "out", "-o", "sums"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    lines = (tmp_path / f"{STEM}_iops.1.log").read_text().splitlines()
    values = [int(line.split(", ")[1]) for line in lines]
    found = dict(line.split("=") for line in (tmp_path / "out" / "sums.global").read_text().split())
    assert (int(found["values_count"]), float(found["max"])) == (len(values), max(values))


@pytest.mark.skipif(not Path(PLOTS).exists(), reason="this fio brings no fio_generate_plots")
def test_fios_own_plots_take_the_logs_and_their_columns(
    plain: ExportSource, tmp_path: Path
) -> None:
    """What it tells gnuplot is looked at, which need not be here.

    It ends at the first kind that has no log.
    """
    written = export(plain, "fio-logs", str(tmp_path / "in"))
    logs = {path.name for path in written if path.parent == tmp_path / "in"}
    for kind in ("lat", "slat"):  # as docs/export.md says
        (tmp_path / "in" / f"none_{kind}.log").touch()
    gnuplot = tmp_path / "gnuplot"
    gnuplot.write_text(f"#!/bin/sh\ncat >> {tmp_path}/told\n")
    gnuplot.chmod(0o755)
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(
        [PLOTS, "title"], cwd=tmp_path / "in", env=environ, capture_output=True, check=True
    )
    plotted = PLOTTED.findall((tmp_path / "told").read_text())
    scales = {"bw": 1, "iops": 1, "clat": 1_000_000}  # KiB/s, 1/s, ns as ms
    assert {(name, int(scale)) for name, scale in plotted if not name.startswith("none_")} == {
        (f"{STEM}_{kind}.1.log", scale) for kind, scale in scales.items()
    }
    assert logs == {f"{STEM}_{kind}.1.log" for kind in scales}
    for name in logs:
        lines = (tmp_path / "in" / name).read_text().splitlines()
        assert lines and all(re.match(r"\d+000, \d+,", line) for line in lines), (
            "its columns 1 and 2: ms, value"
        )


@pytest.fixture
def fiologparser(tmp_path: Path) -> Path:
    """The script that Debian's package of fio has among its documentation."""
    for packed in (
        Path("/usr/share/doc/fio/fiologparser.py.gz"),
        Path("/usr/share/doc/fio/fiologparser.py"),
    ):
        if packed.exists():
            data = packed.read_bytes()
            (tmp_path / "fiologparser.py").write_bytes(
                gzip.decompress(data) if packed.suffix == ".gz" else data
            )
            return tmp_path / "fiologparser.py"
    pytest.skip("this fio brings no fiologparser.py")


def test_fios_own_parser_adds_the_hosts_up_to_the_log_of_all(
    sweep: ExportSource, tmp_path: Path, fiologparser: Path
) -> None:
    written = export(sweep, "fio-logs", str(tmp_path / "in"))
    (whole, *_) = (path for path in written if path.name.endswith("_iops.1.log"))
    hosts = sorted((whole.parent / "hosts").glob(f"{whole.name}.*"))
    assert len(hosts) == 2
    done = subprocess.run(
        [sys.executable, fiologparser, "-s", *hosts], capture_output=True, text=True, check=True
    )
    summed = {
        int(ms): float(value)
        for ms, value in (line.split(", ") for line in done.stdout.splitlines())
    }
    together = {
        int(line.split(", ")[0]): int(line.split(", ")[1])
        for line in whole.read_text().splitlines()
    }
    seconds = sorted(summed)[1:-1]  # hosts begin and end within a second
    assert seconds and all(summed[ms] == pytest.approx(together[ms], abs=2) for ms in seconds)
