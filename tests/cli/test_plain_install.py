"""Without the extra `full`: what works all the same, and what is said of the rest in one line."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.test_compare import OTHER, SAME, SLOWER, keep
from tests.samples.records import IOPS, run, step
from tui.cli.main import main
from tui.engine.inputs.profiles import Catalogue
from tui.engine.launch import create_run
from tui.engine.plan.plan import Choices, build_plan
from tui.model.address import HostAddress
from tui.model.extras import ONE_FILE, are_packed
from tui.model.problem import UsageError

ROOT = Path(__file__).parents[2]
WHOLE = "20261120T101530Z-demo-quick-7f3a"
INSTALL = "is not installed: pip install 'benchtui[full]'"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the libraries of `full` impossible to import."""
    for name in ("numpy", "scipy", "scipy.interpolate", "scipy.optimize", "vl_convert"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def runs(home: Path) -> Path:
    shutil.copytree(ROOT / "tests" / "data" / "whole", home / "runs" / WHOLE)
    for seed, (name, factor) in enumerate(((SAME, 1.0), (OTHER, 1.0), (SLOWER, 0.8)), 1):
        keep(home / "runs", run(step(IOPS * factor, seed=seed), run_id=name))
    return home / "runs"


@pytest.mark.parametrize("words", [
    ("compare", SAME, OTHER),
    ("compare", f"{SAME},{OTHER}", SLOWER),
    ("trend", "test/p"),
    ("runs", "show", WHOLE),
    ("runs", "show", WHOLE, "--plot"),
    ("report", "--no-trend", WHOLE, "-o", "{home}/r.md"),
    ("run", "demo/quick", "--hosts", "local", "--dry-run"),
])  # fmt: skip
def test_what_needs_no_heavy_library_works(
    words: tuple[str, ...], runs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([each.format(home=home) for each in words])
    assert code in (0, 3), capsys.readouterr().err
    assert "installed" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [
    ("capacity", "capacity/nfs-8k", "--hosts", "local", "--dry-run"),
    ("run", "capacity/nfs-8k", "--hosts", "local", "--dry-run"),
    ("report", "--no-trend", WHOLE, "-o", "{home}/r.html"),
])  # fmt: skip
def test_what_needs_one_says_in_one_line_what_to_install(
    words: tuple[str, ...], runs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([each.format(home=home) for each in words]) == 2
    said = capsys.readouterr().err.strip()
    assert said.count("\n") == 0
    assert said.endswith(INSTALL)
    assert not (home / "r.html").exists()


def test_a_search_is_planned_without_unpacking_and_its_run_unpacks_first(
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file, unpacked = tmp_path / "benchtui", tmp_path / "unpacked"
    file.write_text(f"open({str(unpacked)!r}, 'w').close(); raise SystemExit('disk full')")
    monkeypatch.setenv(ONE_FILE, str(file))
    assert are_packed()
    words = ["capacity", "capacity/nfs-8k", "--hosts", "local", "--dry-run", "--json"]
    assert main(words) == 0 and not unpacked.exists()
    plan = build_plan(
        Catalogue(home).load("capacity/nfs-8k"), Choices(hosts=[HostAddress("local")])
    )
    assert plan.search is not None and not unpacked.exists()
    with pytest.raises(UsageError, match="disk full"):
        create_run(plan, home / "runs")
    assert unpacked.exists() and not (home / "runs").exists()
