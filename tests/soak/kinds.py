"""The kinds of faults: what each does to a run, for how long, and what the run must make of it."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tests.lab.faults import kill, kill_sessions
from tests.lab.faults_run import LiveRun
from tests.lab.proxy import ProxiedLab
from tui.model.event import StopRequested

Cost = Literal["none", "host", "run"]  # what is lost: nothing; what this host had still to measure; the run's rest
REPAIR_S = 7.0  # a broken connection is up again this long after its cause is gone, on a busy machine


@dataclass(frozen=True)
class Scene:
    """One run in the lab."""

    lab: ProxiedLab
    run: LiveRun
    host: str


Act = Callable[[Scene], bool]  # False: there was nothing to do it to


@dataclass(frozen=True)
class Kind:
    """`lasts`: seconds from `inflict` to `heal`, drawn from this range; a `permanent` fault is healed after the run."""

    name: str
    inflict: Act
    heal: Act | None = None
    lasts: tuple[float, float] = (0.0, 0.0)
    cost: Cost = "none"
    permanent: bool = False
    cuts_renewal: bool = False  # the lease is not renewed while it lasts
    kills_engine: bool = False


@dataclass(frozen=True)
class Fault:
    """A kind drawn for a trial. `at_s` counts from the first samples of all hosts; early: from the run's start."""

    kind: Kind
    host: str
    at_s: float
    lasts_s: float
    early: bool = False

    def __str__(self) -> str:
        lasts = f" for {self.lasts_s:.1f}s" if self.lasts_s else ""
        return f"{self.kind.name} {self.host} at {self.at_s:.1f}s{' of the start' if self.early else ''}{lasts}"

    def cost(self, lease_s: int, runtime_s: int) -> Cost | None:
        """Return what it must cost; None: it may or may not, being near the lease or the end of the load."""
        if self.early or self.kind.kills_engine:
            return None
        near_the_lease = self.kind.cuts_renewal and self.lasts_s + REPAIR_S > lease_s * 5 / 6
        too_late = self.kind.cost != "none" and self.at_s > runtime_s - 2.5
        return None if near_the_lease or too_late else self.kind.cost


def on_proxy(method: str, *arguments: object) -> Act:
    def act(scene: Scene) -> bool:
        getattr(scene.lab.proxies[scene.host], method)(*arguments)
        return True

    return act


def signal_all(pids: list[int], number: signal.Signals) -> bool:
    """Signal all of these; False when none is there."""
    return sum(kill(pid, number) for pid in pids) > 0


def refuse(scene: Scene) -> bool:
    proxy = scene.lab.proxies[scene.host]
    proxy.refuse()
    proxy.reset()
    return True


def sessions(scene: Scene) -> bool:
    return kill_sessions(scene.lab.host(scene.host)) > 0


def signal_sessions(number: signal.Signals, scene: Scene) -> bool:
    return signal_all(scene.lab.host(scene.host).sessions(), number)


def signal_load(who: str, number: signal.Signals, scene: Scene) -> bool:
    """Signal one process of a host's load, all of fio, or one of its workers."""
    try:
        load = scene.run.load_on(scene.host)
        pids = {
            "main": lambda: [load.main],
            "fio": lambda: [load.main, *load.workers()],
            "worker": lambda: load.workers()[:1],
            "supervisor": lambda: [load.supervisor],
            "runner": lambda: [load.runner],
        }[who]()
    except (OSError, IndexError, ValueError):
        return False
    return signal_all(pids, number)


def signal_engine(number: signal.Signals, scene: Scene) -> bool:
    pid = scene.run.engine_pid()
    return pid is not None and kill(pid, number)


def kill_engine(scene: Scene) -> bool:
    if scene.run.engine_pid() is None:
        return False
    scene.run.kill_engine()
    return True


def ask(words: tuple[str, ...], scene: Scene) -> bool:
    """Ask the run to end; a command that comes when all is over ends well and does nothing."""
    done = scene.run.command("stop", scene.run.run_id, *words)[0] == 0
    return done and bool(scene.run.of_type(StopRequested))


def frozen_then(words: tuple[str, ...], scene: Scene) -> bool:
    """Freeze fio on one host, then ask the run to end."""
    return signal_load("fio", signal.SIGSTOP, scene) and ask(words, scene)


STOP, CONT = signal.SIGSTOP, signal.SIGCONT
freeze_sessions = partial(signal_sessions, STOP)
KINDS = [
    Kind("nothing", lambda scene: True),
    Kind("reset", on_proxy("reset")),
    Kind("fin", on_proxy("fin")),
    Kind("half-close-to-host", on_proxy("half_close", "to_host")),
    Kind("half-close-to-client", on_proxy("half_close", "to_client")),
    Kind("cut-inside-data", on_proxy("cut_after", 7_777), on_proxy("heal"), (3, 5)),
    Kind("slow-link", on_proxy("slow", 0.1), on_proxy("heal"), (2, 8)),
    Kind("blackhole-short", on_proxy("blackhole"), on_proxy("heal"), (1, 7), cuts_renewal=True),
    Kind("blackhole-long", on_proxy("blackhole"), on_proxy("heal"), (10.5, 13), cuts_renewal=True),
    Kind("blackhole-for-good", on_proxy("blackhole"), cost="host", permanent=True),
    Kind("refused", refuse, on_proxy("heal"), (0.5, 6), cuts_renewal=True),
    Kind("refused-for-good", refuse, cost="host", permanent=True),
    Kind("sshd-session-killed", sessions),
    Kind("sshd-session-frozen", freeze_sessions, partial(signal_sessions, CONT), (1, 12), cuts_renewal=True),
    Kind("fio-killed", partial(signal_load, "main", signal.SIGKILL), cost="host"),
    Kind("fio-worker-killed", partial(signal_load, "worker", signal.SIGKILL), cost="host"),
    Kind("fio-frozen", partial(signal_load, "fio", STOP), partial(signal_load, "fio", CONT), (1, 4)),
    Kind("fio-terminated", partial(signal_load, "main", signal.SIGTERM), cost="host"),
    Kind("supervisor-killed", partial(signal_load, "supervisor", signal.SIGKILL), cost="host"),
    Kind("runner-killed", partial(signal_load, "runner", signal.SIGKILL), cost="host"),
    Kind("fio-frozen-then-stop", partial(frozen_then, ()), cost="run"),
    Kind("fio-frozen-then-abort", partial(frozen_then, ("--abort",)), cost="run"),
    Kind("engine-killed", kill_engine, cost="run", kills_engine=True),
    Kind("engine-frozen", partial(signal_engine, STOP), partial(signal_engine, CONT), (1, 9), cuts_renewal=True),
    Kind("engine-terminated", partial(signal_engine, signal.SIGTERM), cost="run"),
    Kind("stop", partial(ask, ()), cost="run"),
    Kind("abort", partial(ask, ("--abort",)), cost="run"),
]
BY_NAME = {kind.name: kind for kind in KINDS}
EARLY_SHARE, SECOND_SHARE = 0.15, 0.3


def draw(random_: random.Random, hosts: list[str], runtime_s: int, kind: Kind | None = None) -> list[Fault]:
    """Return one or two faults at random times; only the first one may end the engine or the run."""
    faults = [draw_one(random_, kind or random_.choice(KINDS), hosts, runtime_s)]
    if random_.random() < SECOND_SHARE:
        gentle = [each for each in KINDS if each.cost != "run" and each.name != "nothing"]
        faults.append(draw_one(random_, random_.choice(gentle), hosts, runtime_s))
    return faults


def draw_one(random_: random.Random, kind: Kind, hosts: list[str], runtime_s: int) -> Fault:
    early = random_.random() < EARLY_SHARE
    at = random_.uniform(0.0, 5.0) if early else random_.uniform(0.0, runtime_s)
    return Fault(kind, random_.choice(hosts), at, random_.uniform(*kind.lasts), early)
