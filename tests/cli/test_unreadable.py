"""What may not be read is said so, never that it is not there or holds nothing."""

from __future__ import annotations

import ctypes
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.samples.events import DATA
from tui.cli.main import main
from tui.library.import_sources import read_source

CAPABILITIES_3 = 0x20080522  # linux/capability.h, as are the numbers of the two
READS_EVERYTHING = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@contextmanager
def without_rights_of_root() -> Iterator[None]:
    """Let this thread read what its user may read, also when that is root."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, kept = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, kept) == 0
    less = (ctypes.c_uint32 * 6)(kept[0] & ~READS_EVERYTHING, *kept[1:])
    assert libc.capset(header, less) == 0
    try:
        yield
    finally:
        assert libc.capset(header, kept) == 0


@pytest.fixture
def closed(home: Path, tmp_path: Path) -> Iterator[Path]:
    """A directory that we may not look into."""
    path = tmp_path / "tree" / "closed"
    path.mkdir(parents=True)
    (path / "out.txt").write_text("fio-3.33\n")
    path.chmod(0)
    with without_rights_of_root():
        yield path
    path.chmod(0o700)


@pytest.mark.parametrize("option", ["--inventory", "--ssh-config"])
def test_a_file_below_a_closed_directory(
    option: str, closed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hosts", "list", option, str(closed / "file")]) == 2
    assert (
        capsys.readouterr().err
        == f"benchtui: {option} {closed}/file: cannot be read: Permission denied\n"
    )


def test_a_closed_directory_is_no_empty_import(
    closed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(closed)]) == 2
    assert capsys.readouterr().err == f"benchtui: {closed}: cannot be read: Permission denied\n"


def test_a_directory_of_an_import_that_may_not_be_read_is_left_out_by_its_name(
    closed: Path,
) -> None:
    (closed.parent / "a.txt").write_text("text")
    source = read_source(closed.parent)
    assert [file.name for file in source.files] == ["a.txt"]
    assert [(name, str(problem)) for name, problem in source.left_out] == [
        ("closed", f"{closed}: cannot be read: Permission denied")
    ]


@pytest.mark.parametrize("index", [-1, 1, -(2**63) - 1])
def test_a_plan_whose_steps_are_not_in_their_places_is_no_plan(
    index: int, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = home / "runs" / "20261118T080000Z-test-mix-0001"
    shutil.copytree(DATA / "mix", run_dir)
    plan = json.loads((run_dir / "plan.json").read_text())
    plan["steps"][0]["index"] = index
    (run_dir / "plan.json").write_text(json.dumps(plan))
    assert main(["runs", "verify", run_dir.name]) == 1
    out, err = capsys.readouterr()
    assert (
        f"{run_dir}/plan.json: is not a plan: steps.0.index: found {index}, allowed: 0" in out + err
    )
