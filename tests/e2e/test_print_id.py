"""What scripts name a run by: the id that `run --print-id` prints, and `last`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.command import benchtui, only_run

LOAD = Path(__file__).parents[1] / "faults" / "load.yaml"
SHORT = ("--hosts", "local", "--set", "runtime=1s", "--no-telemetry", "--cleanup", "--yes")


@pytest.mark.e2e
def test_the_id_is_alone_on_stdout_and_a_refused_run_is_not_the_last(
    home: Path, tmp_path: Path
) -> None:
    done = benchtui(home, "run", LOAD, *SHORT, "--set", f"directory={tmp_path}", "--print-id")
    assert done.returncode in (0, 1), done.stderr
    measured = only_run(home).name
    assert done.stdout == f"{measured}\n"
    assert "record: " in done.stderr, "the summary is there, on stderr"

    refused = benchtui(home, "run", LOAD, *SHORT, "--set", "directory=/proc/nowhere", "--print-id")
    assert refused.returncode == 3
    assert refused.stdout.strip() not in ("", measured), "a refused run has an id too"
    assert benchtui(home, "runs", "show", "last").stdout.startswith(measured)
    assert benchtui(home, "runs", "show", "last:any").stdout.startswith(refused.stdout.strip())


@pytest.mark.parametrize("other", ["--json", "--dry-run", "--stream=jsonl"])
def test_nothing_else_goes_to_stdout_beside_the_id(home: Path, other: str) -> None:
    done = benchtui(home, "run", LOAD, *SHORT, "--print-id", other)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"benchtui: --print-id and {other.replace('=', ' ')}")
