"""A real run of three hosts to doctor, made once: paced reads for half a minute, sealed at its
end.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tests.e2e.command import benchtui
from tests.lab.sshd import SshdLab
from tui.model.plan import Plan
from tui.model.rundir import JOURNAL_FILE, PLAN_FILE, RECORD_FILE

Event = dict[str, Any]
PROFILE = """\
profile: lies/doctored
version: 1
title: "To be doctored"
tool: fio
fio:
  global: {{ioengine: psync, direct: 1, rw: randread, bs: {block}, size: 8M, rate_iops: {rate}, time_based: 1,
    runtime: {seconds}s, filename: "{target}/data.{{host}}"}}
  jobs: {{load: {{numjobs: 1}}}}
headline: {{metric: iops, direction: read}}
"""
# block, IOPS, seconds: the one to doctor, and another one
LOADS = (("4k", 150, 31), ("16k", 80, 9))


@dataclass(frozen=True, slots=True)
class RealRun:
    """A run as it was measured, and the key that sealed it."""

    run_dir: Path
    key: Path
    other: Path  # another run by the same key

    def copy(self, folder: Path) -> Path:
        """Return a copy under its own name that can be changed."""
        place = folder / self.run_dir.name
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.run_dir, place)
        return place


def real_run(folder: Path) -> RealRun:
    """Make both runs. Raises AssertionError when one does not come to its end."""
    home = folder / "home"
    home.mkdir()
    with SshdLab(folder / "lab", 3) as lab:
        for block, rate, seconds in LOADS:
            text = PROFILE.format(block=block, rate=rate, seconds=seconds, target=folder)
            (folder / "p.yaml").write_text(text)
            said = benchtui(home, "run", folder / "p.yaml", "--hosts", ",".join(lab.names),
                "--ssh-config",
                            lab.ssh_config, "--yes")  # fmt: skip
            assert said.returncode in (0, 1), said.stderr[-500:]
    first, second = sorted((home / "runs").glob("2*"), key=lambda path: path.stat().st_mtime)
    keys = list(home.rglob("seal_key"))
    return RealRun(first, keys[0], second)


def events_of(run_dir: Path) -> list[Event]:
    """Return the journal."""
    return [json.loads(line) for line in (run_dir / JOURNAL_FILE).read_text().splitlines()]


def write_events(run_dir: Path, events: list[Event]) -> None:
    """Write a journal in the order of time."""
    found = sorted(events, key=lambda event: event["t"])
    (run_dir / JOURNAL_FILE).write_text("".join(json.dumps(event) + "\n" for event in found))


def judged_again(
    run: RealRun,
    change: Callable[[list[Event]], object] | None = None,
    plan: Callable[[Plan], Plan] | None = None,
) -> Callable[[Path], frozenset[str]]:
    """Return what tells the checks that weaken a run whose journal, or plan, was changed."""
    from tui.library.build import build_record

    def judge(folder: Path) -> frozenset[str]:
        run_dir = run.copy(folder)
        (run_dir / RECORD_FILE).unlink(missing_ok=True)
        events = events_of(run_dir)
        if change is not None:
            change(events)
        write_events(run_dir, events)
        if plan is not None:
            path = run_dir / PLAN_FILE
            now = msgspec.json.decode(path.read_bytes(), type=Plan)
            path.write_bytes(msgspec.json.encode(plan(now)))
        record = build_record(run_dir)
        return frozenset(finding.id for finding in record.findings if finding.severity != "info")

    return judge


def samples(events: list[Event], host: str = "") -> Iterator[Event]:
    """Yield the samples of the measurement."""
    for event in events:
        if (
            event["type"] == "sample"
            and event["phase"] == "measure"
            and host in ("", event["host"])
        ):
            yield event


def results(events: list[Event], host: str = "") -> Iterator[Event]:
    """Yield the results."""
    for event in events:
        if event["type"] == "host_result" and host in ("", event["host"]):
            yield event
