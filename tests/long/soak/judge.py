"""Whether what a trial left is what its faults must lead to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.lab.faults_check import problem_codes, violations
from tests.lab.faults_run import LiveRun
from tui.model.event import Message
from tui.text.run_texts import run_text

if TYPE_CHECKING:
    from tests.long.soak.lab import SoakLab
    from tests.long.soak.trial import Trial


def judge(trial: Trial, run: LiveRun) -> None:
    """Note the state of the run and everything about it that must not be."""
    record = run.record()
    trial.state = record["state"]
    trial.codes = {host["name"]: problem_codes(record, host["name"]) for host in record["hosts"]}
    tasks = run.spool.tasks()
    trial.bytes = sum(len(task.collected_out) for task in tasks)
    trial.gaps = sum(not task.whole for task in tasks)
    trial.broken += [*violations(run, record), *differences(trial, record)]
    log = (run.run_dir / "engine.log").read_text(errors="replace")
    if "Traceback" in log:
        trial.broken.append(f"engine.log: {log[-400:]}")


def differences(trial: Trial, record: dict[str, Any]) -> Iterator[str]:
    """Yield how the record differs from what the faults must lead to."""
    if starved(trial):
        return
    inside = {fault for fault, hit in zip(trial.faults, trial.hit, strict=True) if hit}
    costs = {
        fault: fault.cost(trial.lease_s, trial.runtime_s) if fault in inside else None
        for fault in trial.happened
    }
    if set(costs.values()) <= {"none"} and trial.state != "complete":
        yield f"{trial.state}, though nothing was lost: {record['reason']}"
    if {"host", "run"} & set(costs.values()) and trial.state == "complete":
        yield "complete, though something was lost"
    if "run" in costs.values() or None in costs.values():
        return
    for fault, cost in costs.items():
        if cost == "host" and not trial.codes[fault.host]:
            yield f"no problem of {fault.host} is named"
    yield from suffering_with_it(trial, record)


def starved(trial: Trial) -> bool:
    """Whether a run lost its lease on every host before anything was done to it: a loaded machine
    let nobody renew it.

    Such a trial has missed, and is drawn again.
    """
    return (
        not trial.happened
        and bool(trial.codes)
        and all("lease-expired" in each for each in trial.codes.values())
    )


def suffering_with_it(trial: Trial, record: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with hosts to which nothing was done."""
    hit = {fault.host for fault in trial.happened}
    results = record["steps"][0]["results"]["per_host"]
    for host, codes in trial.codes.items():
        if host not in hit and codes:
            yield f"{host} suffers with it: {codes}"
        if host not in hit and host not in results:
            yield f"no result of {host}"


LEFT = ("may remain", "may still be", "remain in", "not removed")


def named_as_left(run: LiveRun) -> set[str]:
    """Return the hosts of which a run says that it has left something there, or could not collect
    all.
    """
    messages = {
        each.host
        for each in run.of_type(Message)
        if each.host and any(word in run_text(each.text) for word in LEFT)
    }
    reason = (
        run_text(run.record()["reason"]).partition("results of ")[2].partition(" are incomplete")[0]
    )
    return messages | {name.strip() for name in reason.split(",")}


def size_of(directory: Path) -> int:
    """Return the bytes in all files below a directory."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def describe(pids: list[int]) -> list[str]:
    """Return pid and command line of each of these processes that is still there."""
    lines = []
    for pid in pids:
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
            lines.append(f"{pid} {words[:80].decode(errors='replace')}")
    return lines


def live_locks(lab: SoakLab) -> list[str]:
    """Return the locks that hold on the lab's hosts."""
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    found = []
    for host in lab.hosts:
        for path in host.root.glob("locks*/lock.*"):
            words = path.read_text().split()
            if words and float(words[0]) > uptime:
                found.append(f"{host.name}: {path.name}")
    return found
