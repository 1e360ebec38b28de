"""Import hygiene: headless verbs stay lean, and the arrows between the rooms go one way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tui.cli.shared.arguments import VERBS
from tui.library.build import write_record

ROOT = Path(__file__).parent.parent
SCREENS = {"textual", "rich"}
HEAVY = {*SCREENS, "asyncssh", "plotext", "pydantic", "ruamel", "cryptography", "asyncio"}
DATACLASSES = {
    "tui.engine.session.context.RunContext",
    "tui.engine.session.host_session.Secrets",
    "tui.engine.session.telemetry.Telemetry",
    "tui.journal.state.RunState",
    "tui.metrics.registry.Direction",
    "tui.metrics.registry.Metric",
    "tui.model.hostfacts.HostFact",
    "tui.record.matrix.MatrixTable",
}  # what needs more than a Struct can
PROBE = """
import json, sys
from pathlib import Path
from tui.cli.main import main
try:
    code = main(sys.argv[2:])
except SystemExit as end:
    code = end.code
Path(sys.argv[1]).write_text(json.dumps([code, sorted(sys.modules)]))
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
    return {name.partition(".")[0] for name in modules_of(tmp_path, arguments)}


def modules_of(tmp_path: Path, arguments: str) -> set[str]:
    """Run the command in a fresh interpreter and return all modules it has loaded."""
    answer = tmp_path / "modules.json"
    environ = {
        **os.environ,
        "BENCHTUI_HOME": str(tmp_path / "home"),
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
    }
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
    assert loaded(tmp_path, arguments) & {*HEAVY, "dataclasses", "inspect", "msgspec"} == set()


def test_listing_runs_loads_neither_ssh_nor_yaml_nor_charts(tmp_path: Path) -> None:
    assert (
        loaded(tmp_path, "runs list")
        & {"asyncssh", "cryptography", "plotext", "pydantic", "ruamel"}
        == set()
    )


def test_listing_checks_loads_no_models(tmp_path: Path) -> None:
    assert loaded(tmp_path, "findings") & HEAVY == set()


def test_listing_profiles_loads_no_models(tmp_path: Path) -> None:
    assert loaded(tmp_path, "profiles list") & {*HEAVY, "msgspec", "email"} == set()


@pytest.mark.parametrize(
    "arguments", ["hosts list", "profiles show demo/quick", "schema run", "schema profile"]
)
def test_verbs_that_ask_no_host_load_no_event_loop(tmp_path: Path, arguments: str) -> None:
    assert loaded(tmp_path, arguments) & {"asyncio", "asyncssh"} == set()


def test_verbs_without_settings_do_not_load_what_reads_them(tmp_path: Path) -> None:
    unwanted = {"tui.model.settings", "tui.cli.shared.settings", "difflib"}
    assert modules_of(tmp_path, "runs list") & unwanted == set()


def test_showing_a_run_loads_neither_checks_nor_journals_nor_baselines_nor_searches(
    tmp_path: Path,
) -> None:
    run_dir = tmp_path / "home" / "runs" / "20261120T101530Z-demo-quick-7f3a"
    shutil.copytree(ROOT / "tests" / "data" / "whole", run_dir)
    assert write_record(run_dir).checks  # so that its objections are counted
    seen = modules_of(tmp_path, f"runs show {run_dir.name}")
    unwanted = {"tui.judge.check", "tui.journal.state", "tui.model.baseline", "tui.view.search"}
    assert seen & unwanted == set()


def test_the_arrows_between_the_rooms_go_one_way() -> None:
    checker = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [checker, "--no-cache", "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "module", ["tui.journal.state", "tui.journal.writer", "tui.cli.shared.progress"]
)
def test_reading_or_following_a_journal_does_not_load_pydantic(module: str) -> None:
    code = f"import sys, {module}; sys.exit('pydantic' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, timeout=PATIENCE_S, check=False
        ).returncode
        == 0
    )


def test_an_engine_loads_neither_models_nor_searches_before_it_needs_them() -> None:
    code = (
        "import json, sys; import tui.engine.main; print(json.dumps([name for name in"
        " sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    seen = set(json.loads(done.stdout))
    assert [name for name in seen if name.startswith("tui.engine.recover")] == []
    assert (
        seen & {"pydantic", "yaml", "ruamel", "numpy", "scipy", "asyncssh", "tui.engine.run.search"}
        == set()
    )


def test_ssh_is_loaded_without_certificates_of_x509_and_without_starting_programs() -> None:
    code = """
import sys
started = []
sys.addaudithook(lambda event, _: started.append(event) if event == "subprocess.Popen" else None)
import tui.remote.connections, tui.remote.login
sys.exit(bool(started) or "cryptography.x509" in sys.modules or "asyncssh" not in sys.modules)
"""
    assert (
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, timeout=PATIENCE_S, check=False
        ).returncode
        == 0
    )


def test_nothing_else_loads_ssh_without_that_care() -> None:
    """Its first import counts, wherever it is: Python's search for libraries starts a compiler."""
    lines = [
        (file.relative_to(ROOT).as_posix(), line)
        for file in sorted((ROOT / "tui").rglob("*.py"))
        for line in file.read_text().splitlines()
    ]
    assert [file for file, line in lines if line.strip() == "import asyncssh"] == [
        "tui/model/lean_asyncssh.py"
    ]


def test_what_an_engine_loads_is_defined_cheaply() -> None:
    """A dataclass takes a millisecond to define, a Struct of msgspec a fiftieth.

    An engine loads over a hundred.
    """
    code = """
import json, sys
import tui.engine.main, tui.remote.login, tui.remote.connections, tui.library.build
ours = [module for name, module in sys.modules.items() if name.startswith("tui.")]
print(json.dumps([f"{kind.__module__}.{name}" for module in ours for name, kind in vars(module).items()
    if isinstance(kind, type) and "__dataclass_fields__" in vars(kind) and kind.__module__ == module.__name__]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(json.loads(done.stdout)) <= DATACLASSES
