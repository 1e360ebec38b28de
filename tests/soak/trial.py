"""One trial: a short run, faults at their times, then everything that must hold afterwards."""

from __future__ import annotations

import heapq
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.command import benchtui
from tests.lab.faults import marked
from tests.lab.faults_check import problem_codes, violations
from tests.lab.faults_run import LiveRun
from tests.lab.proxy import ProxiedLab
from tests.soak.kinds import Fault, Scene, draw

END_S = 100.0  # a run of 8 s, a lease of 20 s, a minute of overtime
STOPPED_IN_S = 15.0
Recovery = str  # now, after the lease, never


@dataclass
class Trial:
    """What was drawn, what came of it. `broken`: what must not be, in words."""

    seed: int
    number: int
    runtime_s: int
    lease_s: int
    faults: list[Fault]
    recovery: Recovery
    done: list[bool] = field(default_factory=list)  # of each fault: whether there was something to do it to
    state: str = ""
    codes: dict[str, set[str]] = field(default_factory=dict)
    gaps: int = 0
    bytes: int = 0
    took_s: float = 0.0
    broken: list[str] = field(default_factory=list)
    story: str = ""

    def line(self) -> str:
        what = "; ".join(map(str, self.faults))
        codes = ", ".join(f"{host}: {'+'.join(sorted(codes))}" for host, codes in sorted(self.codes.items()) if codes)
        begin = f"seed {self.seed} trial {self.number}: {what} (runtime {self.runtime_s}s, lease {self.lease_s}s"
        begin += f", recovered {self.recovery})" if any(fault.kind.kills_engine for fault in self.faults) else ")"
        end = f" -> {self.state or '?'}, {self.bytes} bytes, {self.gaps} gaps, {self.took_s:.0f}s"
        return f"{begin}{end}{f', {codes}' if codes else ''}{'' if not self.broken else '  VIOLATION'}"


def drawn(seed: int, number: int, hosts: list[str], only: str | None = None) -> Trial:
    """Return the trial of this seed and number, the same every time."""
    from tests.soak.kinds import BY_NAME

    random_ = random.Random(f"{seed}/{number}")
    runtime_s, lease_s = random_.randint(4, 8), random_.randint(10, 20)
    faults = draw(random_, hosts, runtime_s, BY_NAME[only] if only else None)
    return Trial(seed, number, runtime_s, lease_s, faults, random_.choice(["now", "after the lease", "never"]))


def play(trial: Trial, lab: ProxiedLab, home: Path, target: Path) -> Trial:
    """Run a trial and note what is broken. Leaves nothing behind, neither on hosts nor in the lab."""
    begin = time.monotonic()
    try:
        with ExitStack() as stack:
            stack.callback(lab.heal)
            run = LiveRun.begin(
                home, lab, target, hosts=",".join(lab.names), lease_s=trial.lease_s, runtime=f"{trial.runtime_s}s"
            )
            stack.enter_context(run)
            try:
                _play(trial, lab, run)
            except AssertionError as error:
                trial.broken.append(str(error))
            trial.story = run.story() if trial.broken else ""
    finally:
        trial.took_s = time.monotonic() - begin
    wait_for_locks(trial, lab)
    return trial


def _play(trial: Trial, lab: ProxiedLab, run: LiveRun) -> None:
    inflict_all(trial, lab, run)
    finish(trial, run)
    end = time.monotonic()
    record = run.record()
    judge(trial, run, record)
    while marked(run.run_id):
        if time.monotonic() > end + trial.lease_s + 10:
            raise AssertionError(f"processes outlive the lease: {describe(marked(run.run_id))}")
        time.sleep(0.1)
    lab.heal()
    clean_up(trial, lab, run)


def inflict_all(trial: Trial, lab: ProxiedLab, run: LiveRun) -> None:
    """Do every fault at its time and undo it at its time, until the run is over."""
    started = time.monotonic()
    trial.done = [False] * len(trial.faults)
    early = [(number, fault) for number, fault in enumerate(trial.faults) if fault.early]
    agenda: list[tuple[float, int, Callable[[], None]]] = []

    def plan(base: float, number: int, fault: Fault) -> None:
        scene = Scene(lab, run, fault.host)

        def inflict() -> None:
            trial.done[number] = fault.kind.inflict(scene)
            if fault.kind.heal is not None:
                heal = fault.kind.heal
                heapq.heappush(agenda, (time.monotonic() + fault.lasts_s, len(agenda) + 100, lambda: (heal(scene), None)[1]))

        heapq.heappush(agenda, (base + fault.at_s, number, inflict))

    for number, fault in early:
        plan(started, number, fault)
    work_off(agenda, run, until=lambda: ready(run, lab) or dead(trial))
    if not early and run.over():
        raise AssertionError("the run did not start")
    for number, fault in enumerate(trial.faults):
        if not fault.early:
            plan(time.monotonic(), number, fault)
    work_off(agenda, run)


def ready(run: LiveRun, lab: ProxiedLab) -> bool:
    """Whether all hosts measure, or never will."""
    return run.over() or run.hosts_measuring() >= len(lab.names)


def dead(trial: Trial) -> bool:
    """Whether the engine was killed."""
    return any(done and fault.kind.kills_engine for done, fault in zip(trial.done, trial.faults, strict=True))


def work_off(
    agenda: list[tuple[float, int, Callable[[], None]]], run: LiveRun, until: Callable[[], bool] | None = None
) -> None:
    """Do what is due; return when all is done (and `until` holds), or the run is over and nothing is to be undone."""
    deadline = time.monotonic() + 60
    while agenda or (until is not None and not until()):
        if agenda and agenda[0][0] <= time.monotonic():
            heapq.heappop(agenda)[2]()
        elif time.monotonic() > deadline or (run.over() and not agenda):
            return
        else:
            time.sleep(0.03)


def finish(trial: Trial, run: LiveRun) -> None:
    """Wait for the end of the run; one whose engine was killed is recovered, or left alone until its lease ended it."""
    if not dead(trial) or run.over():
        run.finished(END_S)
        return
    if trial.recovery != "now":
        run.no_process_left(trial.lease_s + 10)
    if trial.recovery != "never" and run.events():
        _, said, _ = run.command("runs", "recover", run.run_id)
        if "Traceback" in said:
            raise AssertionError(f"recover: {said[-300:]}")
        run.finished(END_S)


def judge(trial: Trial, run: LiveRun, record: dict[str, Any]) -> None:
    """Note the state of the run and everything about it that must not be."""
    trial.state = record["state"]
    trial.codes = {host["name"]: problem_codes(record, host["name"]) for host in record["hosts"]}
    tasks = run.spool.tasks()
    trial.bytes = sum(len(task.collected_out) for task in tasks)
    trial.gaps = sum(not task.whole for task in tasks)
    trial.broken += violations(run, record)
    trial.broken += list(expected(trial, record))
    log = (run.run_dir / "engine.log").read_text(errors="replace")
    if "Traceback" in log:
        trial.broken.append(f"engine.log: {log[-400:]}")


def expected(trial: Trial, record: dict[str, Any]) -> list[str]:
    """Return how the state differs from what these faults must lead to."""
    done = [fault for fault, done in zip(trial.faults, trial.done, strict=True) if done]
    costs = [fault.cost(trial.lease_s, trial.runtime_s) for fault in done]
    found = []
    if all(cost == "none" for cost in costs) and trial.state != "complete":
        found.append(f"{trial.state}, though nothing was lost: {record['reason']}")
    if any(cost in ("host", "run") for cost in costs) and trial.state == "complete":
        found.append("complete, though something was lost")
    for fault, cost in zip(done, costs, strict=True):
        if cost == "host" and not trial.codes[fault.host] and all(other != "run" for other in costs):
            found.append(f"no problem of {fault.host} is named")
    suffering = {fault.host for fault in done}
    if all(cost in ("none", "host") for cost in costs):
        found += [f"{host} suffers with it: {codes}" for host, codes in trial.codes.items() if codes and host not in suffering]
        results = record["steps"][0]["results"]["per_host"]
        found += [f"no result of {host}" for host in trial.codes if host not in results and host not in suffering]
    return found


def describe(pids: list[int]) -> list[str]:
    lines = []
    for pid in pids:
        path = Path(f"/proc/{pid}/cmdline")
        lines.append(f"{pid} {path.read_bytes()[:80].decode(errors='replace') if path.exists() else 'gone'}")
    return lines


def clean_up(trial: Trial, lab: ProxiedLab, run: LiveRun) -> None:
    """What hosts still keep is found and removed by the command for it."""
    # only this run: other labs and other people's runs on this machine look like hosts of ours
    words = ["--yes", "--run", run.run_id, "--ssh-config", str(lab.ssh_config)]
    code, said, _ = run.command("hosts", "sweep", *words, *lab.names)
    if code != 0:
        trial.broken.append(f"hosts sweep: exit {code}: {said[-300:]}")
    left = list(Path("/tmp").glob(f".benchtui-*/{run.run_id}"))
    if left:
        trial.broken.append(f"left on hosts after a sweep: {left}")


def wait_for_locks(trial: Trial, lab: ProxiedLab) -> None:
    """A host that was lost stays locked for its lease; longer would keep the next run away."""
    deadline = time.monotonic() + trial.lease_s + 10
    while held := live_locks(lab):
        if time.monotonic() > deadline:
            trial.broken.append(f"locks outlive the lease: {held}")
            return
        time.sleep(0.1)


def live_locks(lab: ProxiedLab) -> list[str]:
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    found = []
    for host in lab.hosts:
        for path in host.root.glob("locks/lock.*"):
            words = path.read_text().split()
            if words and float(words[0]) > uptime:
                found.append(f"{host.name}: {path.name}")
    return found


def clean_run(lab: ProxiedLab, home: Path, target: Path) -> str | None:
    """Return why a run without faults is not complete; None: it is."""
    words = ["--hosts", ",".join(lab.names), "--ssh-config", str(lab.ssh_config), "--set", f"directory={target}"]
    from tests.lab.faults_run import LOAD

    done = benchtui(home, "run", LOAD, *words, "--set", "runtime=2s")
    return None if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-500:]}"
