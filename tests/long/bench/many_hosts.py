"""A run over very many hosts of this one machine: whether all take part, and how long each phase
takes.

64 sshd, agents and fio on a few cores are far busier than as many hosts of their own; deadlines
must hold even so.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from tests.e2e.command import command, environment, only_run
from tests.lab.sshd import SshdLab
from tui.journal.reader import read_events
from tui.model.event import PhaseEnded, PhaseStarted
from tui.text.run_texts import run_text

HOSTS = 64
LOAD = Path(__file__).parents[2] / "faults" / "load.yaml"
SETTINGS = ("--set", "runtime=5s", "--set", "size=256k", "--set", "numjobs=1")
LONGEST_S = 1800


def phases_of(run_dir: Path) -> list[tuple[str, float]]:
    """The phases of a run, and how long each took, seconds."""
    began: dict[str, float] = {}
    took: list[tuple[str, float]] = []
    for event in read_events(run_dir / "journal.jsonl"):
        if isinstance(event, PhaseStarted):
            began[event.phase] = event.t
        elif isinstance(event, PhaseEnded):
            took.append((event.phase, event.t - began.get(event.phase, event.t)))
    return took


def main() -> int:
    """Print the phases; the exit code is 1 when a host is missing."""
    os.environ.setdefault("BENCHTUI_LOCKS", tempfile.mkdtemp())
    with tempfile.TemporaryDirectory() as folder, SshdLab(Path(folder) / "lab", hosts=HOSTS) as lab:
        root = Path(folder)
        home = root / "home"
        home.mkdir()
        hosts = ["--hosts", f"h[1-{HOSTS}]", "--ssh-config", str(lab.ssh_config)]
        words = command("run", LOAD, *hosts, "--set", f"directory={root}", *SETTINGS)
        done = subprocess.run(
            words,
            env=environment(home),
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
        run_dir = only_run(home)
        record = json.loads((run_dir / "run.json").read_text())
        whole = [host for host in record["hosts"] if host["state"] == "done"]
        how = f"exit code {done.returncode}, {record['state']} {record['reason'] or ''}"
        print(f"a run over {HOSTS} loopback hosts: {how}")
        print(f"  {len(whole)} hosts measured to the end")
        for message in [run_text(each["text"]) for each in record["messages"] if each["severity"] != "info"][
            :5
        ]:
            print(f"  {message}")
        for phase, seconds in phases_of(run_dir):
            print(f"  {phase:<10}{seconds:6.1f} s")
    return int(len(whole) != HOSTS)
