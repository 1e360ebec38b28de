"""One trial: a short run, faults at their times, then everything that must hold afterwards."""

from __future__ import annotations

import random
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.e2e.command import benchtui
from tests.lab.faults import directories, marked, shells
from tests.lab.faults_run import LOAD, LiveRun
from tests.long.soak.judge import describe, judge, live_locks, named_as_left, size_of
from tests.long.soak.kinds import BY_NAME, Fault, Scene, draw, kinds_of, phase_of
from tests.long.soak.lab import SoakLab
from tests.long.soak.proof import Strike, proved

END_S = 200.0  # a run of 8 s, a lease of 20 s, a minute of overtime; twice, on a loaded machine
FAULTS_S = 120.0
SLACK_S = 10.0  # what a loaded machine takes to notice and to sweep
DRAWS = 4  # of one trial, until its fault falls into the phase that it is for
RECOVERIES = ("after the lease", "never")


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
    # of each fault: whether there was something to do it to
    done: list[bool] = field(default_factory=list)
    strikes: list[Strike | None] = field(default_factory=list)  # of each fault: when it was done
    # of each fault: whether it was done, within its phase by the journal
    hit: list[bool] = field(default_factory=list)
    # how long after the last fault, or the run's end, the last marked process was gone
    ended_s: float = 0.0
    kept: int = 0  # directories that hold what was not collected, for `runs recover`
    kept_bytes: int = 0
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
        words = [
            "" if hit[i] else " (not in its phase)" if done[i] else " (missed)"
            for i in range(len(self.faults))
        ]
        what = "; ".join(f"{fault}{word}" for fault, word in zip(self.faults, words, strict=True))
        how = f"runtime {self.runtime_s}s, lease {self.lease_s}s"
        how += f", recovered {self.recovery}" if self.engine_killed else ""
        came = f"{self.state or '?'}, {self.bytes} bytes, {self.gaps} gaps, {self.took_s:.0f}s"
        came += f", clean after {self.ended_s:.0f}s"
        came += f", {self.kept} directories kept ({self.kept_bytes} bytes)" if self.kept else ""
        came += f", recover added {self.added} bytes" if self.added else ""
        named = "".join(
            f", {host}: {'+'.join(sorted(codes))}"
            for host, codes in sorted(self.codes.items())
            if codes
        )
        end = "  VIOLATION" if self.broken else "" if self.counts else "  MISSED"
        return (
            f"seed {self.seed} trial {self.number}.{self.draw}: {what} ({how}) ->"
            f" {came}{named}{end}"
        )


def drawn(
    seed: int, number: int, hosts: list[str], only: str | None = None, draw_: int = 1
) -> Trial:
    """Return the trial of this seed, number and draw, the same every time.

    Further draws differ in hosts and times.
    """
    random_ = random.Random(f"{seed}/{number}/{draw_}")
    phase = phase_of(number, BY_NAME[only] if only else None)
    kind = BY_NAME[only] if only else random.Random(f"{seed}/{number}").choice(kinds_of(phase))
    runtime_s, lease_s = random_.randint(4, 8), random_.randint(10, 16)
    faults = draw(random_, hosts, runtime_s, kind, phase)
    return Trial(seed, number, runtime_s, lease_s, faults, random_.choice(RECOVERIES), draw_)


def play(trial: Trial, lab: SoakLab, home: Path, target: Path) -> Trial:
    """Run a trial and note what is broken.

    Leaves nothing behind, neither on hosts nor in the lab.
    """
    begin = time.monotonic()
    first = trial.faults[0]
    with ExitStack() as stack:
        stack.callback(lab.forget)
        stack.callback(lab.heal)
        if any(fault.kind.floods for fault in trial.faults):
            lab.arm_floods()
        if first.phase in ("layout", "cleanup"):  # files of its own, which it writes and removes
            target = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=target)))
        lab.hold(first.host, first.phase)
        more = ["--cleanup"] if first.phase == "cleanup" else []
        hosts, params = ",".join(lab.names), {"runtime": f"{trial.runtime_s}s"}
        run = stack.enter_context(
            LiveRun.begin(
                home,
                lab,
                target,
                params,
                *more,
                hosts=hosts,
                lease_s=trial.lease_s,
                root_of=lab.root_of,
            )
        )
        stack.callback(lab.forget_run, run.run_id)
        lab.hold(first.host, first.phase, run.run_id)
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
        # a fault of the soak test itself is this trial's; the others have their turn
        except Exception:
            trial.broken.append(traceback.format_exc(limit=-3))
        trial.story = run.story() if trial.broken else ""
    no_strays(trial, lab)
    trial.took_s = time.monotonic() - begin
    return trial


class Course:
    """Does every fault of a trial at its time and undoes it at its time."""

    def __init__(self, trial: Trial, lab: SoakLab, run: LiveRun) -> None:
        self.trial = trial
        self.lab = lab
        self.run = run
        self.waiting = set(range(len(trial.faults)))
        self.agenda: list[tuple[float, Callable[[], object]]] = []
        trial.done = [False] * len(trial.faults)
        trial.strikes = [None] * len(trial.faults)

    def inflict_all(self) -> None:
        """Do each fault once its phase goes on on its host.

        Return when all is undone, or nothing more can come.
        """
        deadline = time.monotonic() + FAULTS_S
        while self.waiting or self.agenda:
            self._plan_ripe()
            if self.agenda and self.agenda[0][0] <= time.monotonic():
                self.agenda.pop(0)[1]()
            elif not self.agenda and (self._over() or time.monotonic() > deadline):
                break
            else:
                time.sleep(0.03)
        self.lab.release()
        self.trial.hit = [
            strike is not None and proved(self.run.events(), fault, strike)
            for fault, strike in zip(self.trial.faults, self.trial.strikes, strict=True)
        ]
        if (
            self.run.over()
            and not any(self.trial.done)
            and self.trial.faults[0].measuring
            and not self.run.started()
        ):
            raise AssertionError("the run did not start")

    def _over(self) -> bool:
        return self.run.over() or self.trial.engine_killed

    def _plan_ripe(self) -> None:
        for index in sorted(self.waiting):
            fault = self.trial.faults[index]
            if self._ripe(fault):
                self.waiting.discard(index)
                self._at(time.monotonic() + fault.at_s, partial(self._inflict, index))

    def _ripe(self, fault: Fault) -> bool:
        """Whether a fault's phase goes on on its host."""
        if fault.measuring:
            return self.run.hosts_measuring() >= len(self.lab.names)
        if self.run.phase() != fault.phase:
            return False
        return (
            self.run.loaded(fault.host, "layout")
            if fault.phase == "layout"
            else self.lab.held(fault.host, fault.phase)
        )

    def _inflict(self, index: int) -> None:
        fault = self.trial.faults[index]
        scene = Scene(self.lab, self.run, fault.host, fault.phase)
        begun = self.run.now()
        self.trial.done[index] = not self.run.over() and fault.kind.inflict(scene)
        if index == 0:
            self.lab.release()
        if self.trial.done[index]:
            self.trial.strikes[index] = Strike(begun, self.run.now())
            if (heal := fault.kind.heal) is not None:
                self._at(time.monotonic() + fault.lasts_s, lambda: heal(scene))

    def _at(self, when: float, do: Callable[[], object]) -> None:
        self.agenda.append((when, do))
        self.agenda.sort(key=lambda entry: entry[0])


def finish(trial: Trial, run: LiveRun) -> None:
    """Wait for the end of the run, unless its engine was killed."""
    if not trial.engine_killed or run.over():
        run.finished(END_S)


def recover(trial: Trial, run: LiveRun) -> None:
    """Recover a run whose engine was killed, after its hosts were looked at, and count what that
    adds.
    """
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
    """After two leases, without recovery: no load, no shell of the agent, no lock, no directory
    without a use.
    """
    begin = time.monotonic()
    deadline = begin + 2 * trial.lease_s + SLACK_S
    while left := [*describe([*marked(run.run_id), *shells(run.run_id)]), *live_locks(lab)]:
        if time.monotonic() > deadline:
            raise AssertionError(f"two leases later there is still: {left}")
        time.sleep(0.1)
    trial.ended_s = time.monotonic() - begin
    found = {name: directories(f"{run.run_id}/{name}", [lab.root_of(name)]) for name in lab.names}
    trial.kept = sum(map(len, found.values()))
    trial.kept_bytes = sum(size_of(path) for paths in found.values() for path in paths)
    allowed = set(lab.names) if trial.engine_killed else named_as_left(run)
    if wrongly := {name: paths for name, paths in found.items() if paths and name not in allowed}:
        trial.broken.append(f"left on hosts, and the run does not say so: {wrongly}")


def clean_up(trial: Trial, lab: SoakLab, run: LiveRun) -> None:
    """What hosts still keep is found and removed by the command for it."""
    # only this run: other labs and other people's runs on this machine look like hosts of ours
    words = ["--yes", "--run", run.run_id, "--ssh-config", str(lab.ssh_config)]
    code, said, _ = run.command("hosts", "sweep", *words, *lab.names)
    if code != 0:
        trial.broken.append(f"hosts sweep: exit {code}: {said[-300:]}")
    if left := directories(run.run_id, lab.roots):
        trial.broken.append(f"left on hosts after a sweep: {left}")


def no_strays(trial: Trial, lab: SoakLab) -> None:
    """All connections are cut by now: nothing that they began goes on, whether it carries a mark or
    not.
    """
    deadline = time.monotonic() + 2 * SLACK_S
    while strays := describe(lab.strays()):
        if time.monotonic() > deadline:
            trial.broken.append(f"processes outlive their connection: {strays}")
            lab.end_strays()
            return
        time.sleep(0.1)


def clean_run(lab: SoakLab, home: Path, target: Path) -> str | None:
    """Return why a run without faults is not complete; None: it is."""
    words = [
        "--hosts",
        ",".join(lab.names),
        "--ssh-config",
        str(lab.ssh_config),
        "--set",
        f"directory={target}",
    ]
    done = benchtui(home, "run", LOAD, *words, "--set", "runtime=2s")
    return None if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-500:]}"
