"""Import hygiene: headless verbs stay lean, and the arrows between the rooms go one way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tui.cli.main import VERBS

ROOT = Path(__file__).parent.parent
SCREENS = {"textual", "rich"}
HEAVY = {*SCREENS, "asyncssh", "plotext", "pydantic", "ruamel", "cryptography", "asyncio"}
PROBE = """
import json, sys
from pathlib import Path
from tui.cli.main import main
try:
    code = main(sys.argv[2:])
except SystemExit as end:
    code = end.code
Path(sys.argv[1]).write_text(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""
COMMANDS = [
    "--help",
    "--version",
    "run --help",
    "run demo/quick --hosts local --dry-run",
    "profiles list",
    "profiles show demo/quick",
    "hosts list",
    "runs list",
    "runs list --json",
    "schema profile",
    "schema run",
    "doctor",
]


def loaded(tmp_path: Path, arguments: str) -> set[str]:
    """Run the command in a fresh interpreter and return the top-level packages it has loaded."""
    answer = tmp_path / "modules.json"
    environ = {**os.environ, "BENCHTUI_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environ.pop("SSH_AUTH_SOCK", None)
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(answer), *arguments.split()],
        env=environ,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    code, modules = json.loads(answer.read_text())
    assert code == 0, done.stderr
    assert "Traceback" not in done.stderr
    return set(modules)


@pytest.mark.parametrize("arguments", COMMANDS)
def test_headless_verbs_load_no_screen_library(tmp_path: Path, arguments: str) -> None:
    assert loaded(tmp_path, arguments) & SCREENS == set()


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_every_verb_loads_no_screen_library(tmp_path: Path, verb: str) -> None:
    assert loaded(tmp_path, f"{verb} --help") & SCREENS == set()


@pytest.mark.parametrize("arguments", ["--help", "--version"])
def test_help_and_version_load_next_to_nothing(tmp_path: Path, arguments: str) -> None:
    assert loaded(tmp_path, arguments) & HEAVY == set()


def test_listing_runs_loads_neither_ssh_nor_yaml_nor_charts(tmp_path: Path) -> None:
    assert loaded(tmp_path, "runs list") & {"asyncssh", "cryptography", "plotext", "pydantic", "ruamel"} == set()


def test_listing_profiles_loads_no_models(tmp_path: Path) -> None:
    assert loaded(tmp_path, "profiles list") & {*HEAVY, "msgspec", "email"} == set()


def test_the_arrows_between_the_rooms_go_one_way() -> None:
    checker = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([checker, "--no-cache", "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", ["tui.journal.state", "tui.journal.writer", "tui.cli.progress"])
def test_reading_or_following_a_journal_does_not_load_pydantic(module: str) -> None:
    code = f"import sys, {module}; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False).returncode == 0


def test_an_engine_loads_neither_models_nor_searches_before_it_needs_them() -> None:
    code = "import json, sys; import tui.engine.process.main; print(json.dumps([name for name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    seen = set(json.loads(done.stdout))
    assert seen & {"pydantic", "yaml", "ruamel", "numpy", "scipy", "asyncssh", "tui.engine.running.search"} == set()
