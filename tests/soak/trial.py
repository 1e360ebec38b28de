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
from tests.lab.faults import marked
from tests.lab.faults_run import LOAD, LiveRun
from tests.lab.proxy import ProxiedLab
from tests.soak.judge import describe, judge, live_locks
from tests.soak.kinds import BY_NAME, Fault, Scene, draw

END_S = 100.0  # a run of 8 s, a lease of 20 s, a minute of overtime
FAULTS_S = 60.0
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
    done: list[bool] = field(default_factory=list)  # of each fault: whether there was something to do it to
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
    def engine_killed(self) -> bool:
        return any(fault.kind.kills_engine for fault in self.happened)

    def line(self) -> str:
        """Return all of it on one line."""
        done = [*self.done, *[False] * len(self.faults)]
        what = "; ".join(f"{fault}{'' if done[i] else ' (too late)'}" for i, fault in enumerate(self.faults))
        how = f"runtime {self.runtime_s}s, lease {self.lease_s}s"
        how += f", recovered {self.recovery}" if self.engine_killed else ""
        came = f"{self.state or '?'}, {self.bytes} bytes, {self.gaps} gaps, {self.took_s:.0f}s"
        named = "".join(f", {host}: {'+'.join(sorted(codes))}" for host, codes in sorted(self.codes.items()) if codes)
        end = "  VIOLATION" if self.broken else ""
        return f"seed {self.seed} trial {self.number}: {what} ({how}) -> {came}{named}{end}"


def drawn(seed: int, number: int, hosts: list[str], only: str | None = None) -> Trial:
    """Return the trial of this seed and number, the same every time."""
    random_ = random.Random(f"{seed}/{number}")
    runtime_s, lease_s = random_.randint(4, 8), random_.randint(10, 20)
    faults = draw(random_, hosts, runtime_s, BY_NAME[only] if only else None)
    return Trial(seed, number, runtime_s, lease_s, faults, random_.choice(RECOVERIES))


def play(trial: Trial, lab: ProxiedLab, home: Path, target: Path) -> Trial:
    """Run a trial and note what is broken. Leaves nothing behind, neither on hosts nor in the lab."""
    begin = time.monotonic()
    with ExitStack() as stack:
        stack.callback(lab.heal)
        hosts, params = ",".join(lab.names), {"runtime": f"{trial.runtime_s}s"}
        run = stack.enter_context(LiveRun.begin(home, lab, target, params, hosts=hosts, lease_s=trial.lease_s))
        try:
            Course(trial, lab, run).inflict_all()
            finish(trial, run)
            judge(trial, run)
            no_process_outlives_the_lease(trial, run)
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

    def __init__(self, trial: Trial, lab: ProxiedLab, run: LiveRun) -> None:
        self.trial = trial
        self.lab = lab
        self.run = run
        self.agenda: list[tuple[float, Callable[[], object]]] = []
        trial.done = [False] * len(trial.faults)

    def inflict_all(self) -> None:
        """Work off the early faults and wait for the measurement, then the others; return when all is undone."""
        self._plan(early=True)
        self._work(until=self._ready)
        if self.run.over() and not any(fault.early for fault in self.trial.faults):
            raise AssertionError("the run did not start")
        self._plan(early=False)
        self._work(until=lambda: True)

    def _plan(self, *, early: bool) -> None:
        now = time.monotonic()
        for index, fault in enumerate(self.trial.faults):
            if fault.early == early:
                self._at(now + fault.at_s, partial(self._inflict, index))

    def _inflict(self, index: int) -> None:
        fault = self.trial.faults[index]
        scene = Scene(self.lab, self.run, fault.host)
        self.trial.done[index] = not self.run.over() and fault.kind.inflict(scene)
        if (heal := fault.kind.heal) is not None:
            self._at(time.monotonic() + fault.lasts_s, lambda: heal(scene))

    def _at(self, when: float, do: Callable[[], object]) -> None:
        self.agenda.append((when, do))
        self.agenda.sort(key=lambda entry: entry[0])

    def _ready(self) -> bool:
        return self.run.over() or self.trial.engine_killed or self.run.hosts_measuring() >= len(self.lab.names)

    def _work(self, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + FAULTS_S
        while self.agenda or not until():
            if self.agenda and self.agenda[0][0] <= time.monotonic():
                self.agenda.pop(0)[1]()
            elif not self.agenda and time.monotonic() > deadline:
                return
            else:
                time.sleep(0.03)


def finish(trial: Trial, run: LiveRun) -> None:
    """Wait for the end of the run; one whose engine was killed is recovered, or left alone until its lease ended it."""
    if not trial.engine_killed or run.over():
        run.finished(END_S)
        return
    if trial.recovery != "now":
        run.no_process_left(trial.lease_s + 10)
    if trial.recovery != "never" and run.events():
        _, said, _ = run.command("runs", "recover", run.run_id)
        if "Traceback" in said:
            raise AssertionError(f"recover: {said[-300:]}")
        run.finished(END_S)


def no_process_outlives_the_lease(trial: Trial, run: LiveRun) -> None:
    try:
        run.no_process_left(trial.lease_s + 10)
    except AssertionError:
        raise AssertionError(f"processes outlive the lease: {describe(marked(run.run_id))}") from None


def clean_up(trial: Trial, lab: ProxiedLab, run: LiveRun) -> None:
    """What hosts still keep is found and removed by the command for it."""
    # only this run: other labs and other people's runs on this machine look like hosts of ours
    words = ["--yes", "--run", run.run_id, "--ssh-config", str(lab.ssh_config)]
    code, said, _ = run.command("hosts", "sweep", *words, *lab.names)
    if code != 0:
        trial.broken.append(f"hosts sweep: exit {code}: {said[-300:]}")
    if left := list(Path("/tmp").glob(f".benchtui-*/{run.run_id}")):
        trial.broken.append(f"left on hosts after a sweep: {left}")


def wait_for_locks(trial: Trial, lab: ProxiedLab) -> None:
    """A host that was lost stays locked for its lease; longer would keep the next run away."""
    deadline = time.monotonic() + trial.lease_s + 10
    while held := live_locks(lab):
        if time.monotonic() > deadline:
            trial.broken.append(f"locks outlive the lease: {held}")
            return
        time.sleep(0.1)


def clean_run(lab: ProxiedLab, home: Path, target: Path) -> str | None:
    """Return why a run without faults is not complete; None: it is."""
    words = ["--hosts", ",".join(lab.names), "--ssh-config", str(lab.ssh_config), "--set", f"directory={target}"]
    done = benchtui(home, "run", LOAD, *words, "--set", "runtime=2s")
    return None if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-500:]}"
