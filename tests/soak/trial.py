"""One trial: a short run, faults at their times, then everything that must hold afterwards."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.e2e.command import benchtui
from tests.lab.faults import directories, marked, shells
from tests.lab.faults_run import LOAD, LiveRun
from tests.soak.judge import describe, judge, live_locks
from tests.soak.kinds import BY_NAME, KINDS, MEASURE, Fault, Scene, draw
from tests.soak.lab import SoakLab

END_S = 200.0  # a run of 8 s, a lease of 20 s, a minute of overtime; twice, on a loaded machine
FAULTS_S = 120.0
SLACK_S = 10.0  # what a loaded machine takes to notice and to sweep
DRAWS = 4  # of one trial, until its fault falls into the phase that it is for
RECOVERIES = ("now", "after the lease", "never")


@dataclass
class Trial:
    """What was drawn, what came of it. `broken`: what must not be, in words."""

    seed: int
    number: int
    runtime_s: int
    lease_s: int
    faults: list[Fault]
    recovery: str
    draw: int = 1
    done: list[bool] = field(default_factory=list)  # of each fault: whether there was something to do it to
    hit: list[bool] = field(default_factory=list)  # of each fault: whether it was done, within its phase
    ended_s: float = 0.0  # how long after the last fault, or the run's end, the last marked process was gone
    kept: int = 0  # directories that hold what was not collected, for `runs recover`
    added: int = 0  # bytes that `runs recover` has collected
    state: str = ""
    codes: dict[str, set[str]] = field(default_factory=dict)
    gaps: int = 0
    bytes: int = 0
    took_s: float = 0.0
    broken: list[str] = field(default_factory=list)
    story: str = ""

    @property
    def happened(self) -> list[Fault]:
        return [fault for fault, done in zip(self.faults, self.done, strict=False) if done]

    @property
    def counts(self) -> bool:
        """Whether its first fault, which it is for, hit."""
        return bool(self.hit) and self.hit[0]

    @property
    def engine_killed(self) -> bool:
        return any(fault.kind.kills_engine for fault in self.happened)

    def line(self) -> str:
        """Return all of it on one line."""
        done = [*self.done, *[False] * len(self.faults)]
        hit = [*self.hit, *[False] * len(self.faults)]
        words = ["" if hit[i] else " (not in its phase)" if done[i] else " (missed)" for i in range(len(self.faults))]
        what = "; ".join(f"{fault}{word}" for fault, word in zip(self.faults, words, strict=True))
        how = f"runtime {self.runtime_s}s, lease {self.lease_s}s"
        how += f", recovered {self.recovery}" if self.engine_killed else ""
        came = f"{self.state or '?'}, {self.bytes} bytes, {self.gaps} gaps, {self.took_s:.0f}s"
        came += f", clean after {self.ended_s:.0f}s"
        came += f", {self.kept} kept" if self.kept else ""
        came += f", recover added {self.added} bytes" if self.added else ""
        named = "".join(f", {host}: {'+'.join(sorted(codes))}" for host, codes in sorted(self.codes.items()) if codes)
        end = "  VIOLATION" if self.broken else "" if self.counts else "  MISSED"
        return f"seed {self.seed} trial {self.number}.{self.draw}: {what} ({how}) -> {came}{named}{end}"


def drawn(seed: int, number: int, hosts: list[str], only: str | None = None, draw_: int = 1) -> Trial:
    """Return the trial of this seed, number and draw, the same every time."""
    random_ = random.Random(f"{seed}/{number}/{draw_}")
    kind = BY_NAME[only] if only else random.Random(f"{seed}/{number}").choice(KINDS)
    runtime_s, lease_s = random_.randint(4, 8), random_.randint(10, 20)
    faults = draw(random_, hosts, runtime_s, kind)
    return Trial(seed, number, runtime_s, lease_s, faults, random_.choice(RECOVERIES), draw_)


def play(trial: Trial, lab: SoakLab, home: Path, target: Path) -> Trial:
    """Run a trial and note what is broken. Leaves nothing behind, neither on hosts nor in the lab."""
    begin = time.monotonic()
    with ExitStack() as stack:
        stack.callback(lab.forget)
        stack.callback(lab.heal)
        if any(fault.kind.floods for fault in trial.faults):
            lab.arm_floods()
        hosts, params = ",".join(lab.names), {"runtime": f"{trial.runtime_s}s"}
        run = stack.enter_context(
            LiveRun.begin(home, lab, target, params, hosts=hosts, lease_s=trial.lease_s, root_of=lab.root_of)
        )
        stack.callback(lab.forget_run, run.run_id)
        try:
            Course(trial, lab, run).inflict_all()
            finish(trial, run)
            hosts_are_left(trial, lab, run)
            recover(trial, run)
            judge(trial, run)
            lab.heal()
            clean_up(trial, lab, run)
        except AssertionError as error:
            trial.broken.append(str(error))
        trial.story = run.story() if trial.broken else ""
    wait_for_locks(trial, lab)
    trial.took_s = time.monotonic() - begin
    return trial


class Course:
    """Does every fault of a trial at its time and undoes it at its time."""

    def __init__(self, trial: Trial, lab: SoakLab, run: LiveRun) -> None:
        self.trial = trial
        self.lab = lab
        self.run = run
        self.planned: set[int] = set()
        self.agenda: list[tuple[float, Callable[[], object]]] = []
        trial.done = [False] * len(trial.faults)
        trial.hit = [False] * len(trial.faults)

    def inflict_all(self) -> None:
        """Do the early faults in their phases, then those of the measurement; return when all is undone."""
        self._work(until=self._ready)
        if self.run.over() and not any(fault.early for fault in self.trial.faults):
            raise AssertionError("the run did not start")
        self._plan(MEASURE)
        self._work(until=lambda: True)

    def _plan(self, phase: str) -> None:
        now = time.monotonic()
        for index, fault in enumerate(self.trial.faults):
            if fault.phase == phase and index not in self.planned:
                self.planned.add(index)
                self._at(now + fault.at_s, partial(self._inflict, index))

    def _inflict(self, index: int) -> None:
        """Do a fault. It hit when its phase went on before and, unless it ended that, afterwards, on its host too."""
        fault = self.trial.faults[index]
        scene = Scene(self.lab, self.run, fault.host)
        within = self._within(fault)
        self.trial.done[index] = not self.run.over() and fault.kind.inflict(scene)
        self.trial.hit[index] = self.trial.done[index] and within
        if self.trial.done[index] and (heal := fault.kind.heal) is not None:
            self._at(time.monotonic() + fault.lasts_s, lambda: heal(scene))

    def _within(self, fault: Fault) -> bool:
        """Whether the run is in the fault's phase, and so is its host."""
        return self.run.phase() == fault.phase and (fault.early or self.run.task_end(fault.host) is None)

    def _at(self, when: float, do: Callable[[], object]) -> None:
        self.agenda.append((when, do))
        self.agenda.sort(key=lambda entry: entry[0])

    def _ready(self) -> bool:
        return self.run.over() or self.trial.engine_killed or self.run.hosts_measuring() >= len(self.lab.names)

    def _work(self, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + FAULTS_S
        while self.agenda or not until():
            if any(fault.early for fault in self.trial.faults):
                self._plan(self.run.phase())
            if self.agenda and self.agenda[0][0] <= time.monotonic():
                self.agenda.pop(0)[1]()
            elif not self.agenda and time.monotonic() > deadline:
                return
            else:
                time.sleep(0.03)


def finish(trial: Trial, run: LiveRun) -> None:
    """Wait for the end of the run, unless its engine was killed; one that is recovered now comes to its end by that."""
    if not trial.engine_killed or run.over():
        run.finished(END_S)
    elif trial.recovery == "now" and run.events():
        ask_to_recover(run)


def recover(trial: Trial, run: LiveRun) -> None:
    """Recover a run whose engine was killed, after its hosts were looked at, and count what that adds."""
    if run.over() or trial.recovery != "after the lease" or not run.events():
        return
    before = collected(run)
    ask_to_recover(run)
    trial.added = collected(run) - before


def ask_to_recover(run: LiveRun) -> None:
    _, said, _ = run.command("runs", "recover", run.run_id)
    if "Traceback" in said:
        raise AssertionError(f"recover: {said[-300:]}")
    run.finished(END_S)


def collected(run: LiveRun) -> int:
    return sum(len(task.collected_out) + len(task.collected_err) for task in run.spool.tasks())


def hosts_are_left(trial: Trial, lab: SoakLab, run: LiveRun) -> None:
    """After two leases, without recovery: no load, no shell of the agent, no lock, no directory without a use."""
    begin = time.monotonic()
    deadline = begin + 2 * trial.lease_s + SLACK_S
    while left := [*marked(run.run_id), *shells(run.run_id)]:
        if time.monotonic() > deadline:
            raise AssertionError(f"processes outlive two leases: {describe(left)}")
        time.sleep(0.1)
    trial.ended_s = time.monotonic() - begin
    found = {name: directories(f"{run.run_id}/{name}", [lab.root_of(name)]) for name in lab.names}
    trial.kept = sum(map(len, found.values()))
    if wrongly := {name: paths for name, paths in found.items() if paths and not may_keep(trial, run, name)}:
        trial.broken.append(f"left on hosts though all was collected: {wrongly}")


def may_keep(trial: Trial, run: LiveRun, host: str) -> bool:
    """Whether a host may still have a directory: its engine was killed, or could not reach it to the end."""
    end = run.task_end(host)
    away = any(fault.kind.permanent and fault.host == host for fault in trial.happened)
    return trial.engine_killed or away or end is None or not end.collected


def clean_up(trial: Trial, lab: SoakLab, run: LiveRun) -> None:
    """What hosts still keep is found and removed by the command for it."""
    # only this run: other labs and other people's runs on this machine look like hosts of ours
    words = ["--yes", "--run", run.run_id, "--ssh-config", str(lab.ssh_config)]
    code, said, _ = run.command("hosts", "sweep", *words, *lab.names)
    if code != 0:
        trial.broken.append(f"hosts sweep: exit {code}: {said[-300:]}")
    if left := directories(run.run_id, lab.roots):
        trial.broken.append(f"left on hosts after a sweep: {left}")


def wait_for_locks(trial: Trial, lab: SoakLab) -> None:
    """A host that was lost stays locked for its lease; longer would keep the next run away."""
    deadline = time.monotonic() + trial.lease_s + 10
    while held := live_locks(lab):
        if time.monotonic() > deadline:
            trial.broken.append(f"locks outlive the lease: {held}")
            return
        time.sleep(0.1)


def clean_run(lab: SoakLab, home: Path, target: Path) -> str | None:
    """Return why a run without faults is not complete; None: it is."""
    words = ["--hosts", ",".join(lab.names), "--ssh-config", str(lab.ssh_config), "--set", f"directory={target}"]
    done = benchtui(home, "run", LOAD, *words, "--set", "runtime=2s")
    return None if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-500:]}"
