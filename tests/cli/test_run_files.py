"""command.txt, summary.txt and report.html: what a run's directory says to `ls` and `less`."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.test_import import MAPR
from tui.cli.main import main
from tui.cli.shared.common import write_texts
from tui.library.build import write_record

WHOLE = "20261120T101530Z-demo-quick-7f3a"


@pytest.fixture
def run_dir(home: Path) -> Path:
    shutil.copytree(Path(__file__).parents[1] / "data" / "whole", home / "runs" / WHOLE)
    return home / "runs" / WHOLE


def test_the_command_repeats_the_run(run_dir: Path) -> None:
    record = write_record(run_dir)
    write_texts(run_dir, record)
    (line,) = [
        line
        for line in (run_dir / "command.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    assert shlex.split(line)[:4] == ["benchtui", "run", record.profile.tag, "--hosts"]


def test_the_summary_is_what_runs_show_prints(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_texts(run_dir, write_record(run_dir))
    assert main(["runs", "show", WHOLE]) == 0
    assert (run_dir / "summary.txt").read_text() == capsys.readouterr().out


@pytest.mark.parametrize("wanted", [True, False])
def test_there_is_a_report_where_the_settings_ask_for_it(
    run_dir: Path, home: Path, wanted: bool
) -> None:
    assert main(["config", "set", "report", str(wanted).lower()]) == 0
    write_texts(run_dir, write_record(run_dir))
    assert (run_dir / "report.html").exists() is wanted


def test_an_import_says_what_it_was_made_of(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", *map(str, MAPR)]) == 0
    (run_dir,) = (home / "runs").iterdir()
    assert MAPR[0].name in (run_dir / "command.txt").read_text()
    assert (run_dir / "summary.txt").read_text().startswith(run_dir.name)
