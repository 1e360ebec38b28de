"""`run --wait`: how long to wait for hosts that another run uses."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.e2e.command import benchtui
from tui.cli.run import NEVER_S
from tui.cli.shared.progress import ProgressDisplay
from tui.model.event import HostProblem

PLAN = ("run", "demo/quick", "--hosts", "local", "--dry-run", "--json")


@pytest.mark.parametrize(
    ("words", "wait_s"), [((), 0.0), (("--wait", "5m"), 300.0), (("--wait",), NEVER_S)]
)
def test_how_long_is_in_the_plan(home: Path, words: tuple[str, ...], wait_s: float) -> None:
    done = benchtui(home, *PLAN, *words)
    assert json.loads(done.stdout)["wait_s"] == wait_s, done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--wait", "soon"), "--wait: "),
        (("--wait", "--take-locks"), "--wait cannot be used with --take-locks: "),
    ],
)
def test_what_makes_no_sense_is_refused(home: Path, words: tuple[str, ...], said: str) -> None:
    done = benchtui(home, *PLAN, *words)
    assert done.returncode == 2
    assert said in done.stderr and "Traceback" not in done.stderr


def test_who_is_refused_is_told_which_options_help() -> None:
    out = io.StringIO()
    held = HostProblem(
        t=1.0,
        host="n1",
        phase="preflight",
        code="host-locked",
        message="in use by run 1 of ann@jump",
    )
    ProgressDisplay(out).events([held])
    assert out.getvalue().endswith(
        f"n1: {held.message}; stop the other run, or use --wait or --take-locks\n"
    )
