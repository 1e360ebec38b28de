"""The kinds of faults: what each does to a run, for how long, and what the run must make of it."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tests.e2e.command import comm
from tests.lab.faults import kill, kill_sessions
from tests.lab.faults_run import LiveRun
from tests.lab.flood import FLOODS
from tests.soak.lab import FLOODS as SOAKED
from tests.soak.lab import SoakLab
from tui.model.event import StopRequested

MEASURE = "measure"
EARLY = ("connect", "preflight", "layout", "barrier")
Cost = Literal["none", "host", "run"]  # what is lost: nothing; what this host had still to measure; the run's rest
REPAIR_S = 7.0  # a broken connection is up again this long after its cause is gone, on a busy machine


@dataclass(frozen=True)
class Scene:
    """One run in the lab."""

    lab: SoakLab
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
    floods: bool = False
    measuring: bool = False  # only a load that runs can have it
    small: bool = False  # only the host with the small spool can


@dataclass(frozen=True)
class Fault:
    """A kind drawn for a trial, and the phase that it shall hit.

    `at_s` counts from the first samples of all hosts; of an early phase: from its begin.
    """

    kind: Kind
    host: str
    at_s: float
    lasts_s: float
    phase: str = MEASURE

    @property
    def early(self) -> bool:
        return self.phase != MEASURE

    def __str__(self) -> str:
        lasts = f" for {self.lasts_s:.1f}s" if self.lasts_s else ""
        return f"{self.kind.name} {self.host} at {self.at_s:.1f}s of {self.phase}{lasts}"

    def cost(self, lease_s: int, runtime_s: int) -> Cost | None:
        """Return what it must cost; None: it may or may not, being near the lease or the end of the load."""
        if self.early or self.kind.kills_engine:
            return None
        near_the_lease = self.kind.cuts_renewal and self.lasts_s + REPAIR_S > lease_s * 5 / 6
        too_late = self.kind.cost != "none" and self.at_s > runtime_s - 2.5
        return None if near_the_lease or too_late else self.kind.cost


def on_proxy(method: str, *arguments: object) -> Act:
    def act(scene: Scene) -> bool:
        proxy = scene.lab.proxies[scene.host]
        there = proxy.connections > 0
        getattr(proxy, method)(*arguments)
        return there

    return act


def signal_all(pids: list[int], number: signal.Signals) -> bool:
    """Signal all of these; False when none is there."""
    return sum(kill(pid, number) for pid in pids) > 0


def refuse(scene: Scene) -> bool:
    proxy = scene.lab.proxies[scene.host]
    there = proxy.connections > 0
    proxy.refuse()
    proxy.reset()
    return there


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
            "worker": lambda: [pid for pid in load.workers() if comm(pid) == "fio"][:1],
            "supervisor": lambda: [load.supervisor],
            "runner": lambda: [load.runner],
            "guard": lambda: [load.guard],
            "watchers": load.watchers,
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


def kill_all_watchers(scene: Scene) -> bool:
    """Kill the engine, and supervisor and guard of every task on every host, at once."""
    pids = [pid for host in scene.lab.names for pid in scene.run.load_on(host).watchers()]
    if (engine := scene.run.engine_pid()) is None or not pids:
        return False
    for pid in [engine, *pids]:
        kill(pid)
    scene.run.wait(lambda: scene.run.engine_pid() is None, "the end of the engine")
    return True


def flood(how: str, scene: Scene) -> bool:
    """Have a load print without end, beside what fio prints."""
    if not (scene.lab.host(scene.host).root / "floods").exists():
        return False
    place = scene.lab.host(scene.host).root / "flood"
    place.with_suffix(".new").write_text(FLOODS[how])
    place.with_suffix(".new").rename(place)
    return True


def slow_shell(scene: Scene) -> bool:
    """Slow down log-in shells, and cut the connection, so that there is need for one."""
    (scene.lab.host(scene.host).root / "slow").write_text("3\n")
    return on_proxy("reset")(scene)


def quick_shell(scene: Scene) -> bool:
    (scene.lab.host(scene.host).root / "slow").unlink(missing_ok=True)
    return True


def ask(words: tuple[str, ...], scene: Scene) -> bool:
    """Ask the run to end; a command that comes when all is over ends well and does nothing."""
    done = scene.run.command("stop", scene.run.run_id, *words)[0] == 0
    return done and bool(scene.run.of_type(StopRequested))


def frozen_then(words: tuple[str, ...], scene: Scene) -> bool:
    """Freeze fio on one host, then ask the run to end."""
    return signal_load("fio", signal.SIGSTOP, scene) and ask(words, scene)


STOP, CONT = signal.SIGSTOP, signal.SIGCONT
freeze_supervisor = partial(signal_load, "supervisor", STOP)
thaw_supervisor = partial(signal_load, "supervisor", CONT)
freeze_sessions = partial(signal_sessions, STOP)
KINDS = [
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
    Kind("fio-killed", partial(signal_load, "main", signal.SIGKILL), cost="host", measuring=True),
    Kind("fio-worker-killed", partial(signal_load, "worker", signal.SIGKILL), cost="host", measuring=True),
    Kind("fio-frozen", partial(signal_load, "fio", STOP), partial(signal_load, "fio", CONT), (1, 4), measuring=True),
    Kind("fio-terminated", partial(signal_load, "main", signal.SIGTERM), cost="host", measuring=True),
    Kind("supervisor-killed", partial(signal_load, "supervisor", signal.SIGKILL), cost="host", measuring=True),
    Kind("runner-killed", partial(signal_load, "runner", signal.SIGKILL), cost="host", measuring=True),
    Kind("guard-killed", partial(signal_load, "guard", signal.SIGKILL), measuring=True),
    Kind("watchers-killed", partial(signal_load, "watchers", signal.SIGKILL), cost="host", measuring=True),
    Kind("supervisor-frozen", freeze_supervisor, thaw_supervisor, (1, 4), measuring=True),
    Kind("engine-and-watchers-killed", kill_all_watchers, cost="run", kills_engine=True, measuring=True),
    Kind("spool-full", lambda scene: scene.lab.fill_spool(), cost="host", measuring=True, small=True),
    Kind("slow-shell", slow_shell, quick_shell, (2, 8), cuts_renewal=True),
    *(Kind(f"flood-{how}", partial(flood, how), cost="host", measuring=True, floods=True) for how in SOAKED),
    Kind("fio-frozen-then-stop", partial(frozen_then, ()), cost="run", measuring=True),
    Kind("fio-frozen-then-abort", partial(frozen_then, ("--abort",)), cost="run", measuring=True),
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
        gentle = [each for each in KINDS if each.cost != "run" and not each.small]
        others = [host for host in hosts if host != faults[0].host]  # one fault's end would end the other one too
        faults.append(draw_one(random_, random_.choice(gentle), others or hosts, runtime_s))
    return faults


def draw_one(random_: random.Random, kind: Kind, hosts: list[str], runtime_s: int) -> Fault:
    early = random_.random() < EARLY_SHARE and not kind.measuring
    phase = random_.choice(EARLY) if early else MEASURE
    at = random_.uniform(0.0, 0.1) if early else random_.uniform(0.0, runtime_s - 1.5)
    host = hosts[-1] if kind.small else random_.choice(hosts)
    return Fault(kind, host, at, random_.uniform(*kind.lasts), phase)
