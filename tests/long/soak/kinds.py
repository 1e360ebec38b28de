"""The kinds of faults: what each does to a run, for how long, and what the run must make of it."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tests.e2e.command import comm
from tests.lab.faults import HostLoad, kill, kill_sessions
from tests.lab.faults_run import LiveRun
from tests.lab.flood import FLOODS
from tests.long.soak.lab import FLOODS as SOAKED
from tests.long.soak.lab import SoakLab
from tests.patience import wait_until
from tui.model.event import StopRequested

MEASURE = "measure"
PHASES = ("connect", "preflight", "layout", "barrier", MEASURE, "collect", "cleanup")
LOADED = ("layout", MEASURE)  # a load generator runs
WATCHED = ("layout", "barrier", MEASURE)  # the agent's shells look after a task
TURNS = (MEASURE, *PHASES)  # trials take the phases in turn; most kinds are for the measurement
# what is lost: nothing; what this host had still to measure; the run's rest
Cost = Literal["none", "host", "run"]
# a broken connection is up again this long after its cause is gone, on a busy machine
REPAIR_S = 7.0


@dataclass(frozen=True)
class Scene:
    """One run in the lab, and where and when a fault strikes it."""

    lab: SoakLab
    run: LiveRun
    host: str
    phase: str = MEASURE

    def load_on(self, host: str) -> HostLoad:
        """The processes of a host's task in this phase: what is armed in the barrier is what
        measures later.
        """
        return self.run.load_on(host, "layout" if self.phase == "layout" else MEASURE)


Act = Callable[[Scene], bool]  # False: there was nothing to do it to


@dataclass(frozen=True)
class Kind:
    """`lasts`: seconds from `inflict` to `heal`, drawn from this range.

    A `permanent` fault is healed after the run.
    """

    name: str
    inflict: Act
    heal: Act | None = None
    lasts: tuple[float, float] = (0.0, 0.0)
    cost: Cost = "none"
    permanent: bool = False
    cuts_renewal: bool = False  # the lease is not renewed while it lasts
    kills_engine: bool = False
    floods: bool = False
    asks: bool = False  # it is a request, which the engine journals
    phases: tuple[str, ...] = PHASES  # where it can strike
    small: bool = False  # only the host with the small spool can


@dataclass(frozen=True)
class Fault:
    """A kind drawn for a trial, and the phase that it shall hit.

    `at_s` counts from the first samples of all hosts, or from the first process of a layout. The
    other phases are held until it strikes.
    """

    kind: Kind
    host: str
    at_s: float
    lasts_s: float
    phase: str = MEASURE

    @property
    def measuring(self) -> bool:
        return self.phase == MEASURE

    def __str__(self) -> str:
        lasts = f" for {self.lasts_s:.1f}s" if self.lasts_s else ""
        return f"{self.kind.name} {self.host} at {self.at_s:.1f}s of {self.phase}{lasts}"

    def cost(self, lease_s: int, runtime_s: int) -> Cost | None:
        """Return what it must cost.

        None: it may or may not, being near the lease or the end of the load.
        """
        if not self.measuring or self.kind.kills_engine:
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
        load = scene.load_on(scene.host)
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
    pids = [pid for host in scene.lab.names for pid in scene.load_on(host).watchers()]
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
    """Slow down login shells, and cut the connection, so that there is need for one."""
    (scene.lab.host(scene.host).root / "slow").write_text("3\n")
    return on_proxy("reset")(scene)


def quick_shell(scene: Scene) -> bool:
    (scene.lab.host(scene.host).root / "slow").unlink(missing_ok=True)
    return True


def hang_probe(scene: Scene) -> bool:
    """Have fio hang that is just being asked for its version."""
    (scene.lab.host(scene.host).root / "hang").touch()
    return True


def ask(words: tuple[str, ...], scene: Scene) -> bool:
    """Ask the run to end; a command that comes when all is over ends well and does nothing.

    It waits for the end of the run: a phase that is held goes on as soon as the engine has heard
    it.
    """
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(scene.run.command, "stop", scene.run.run_id, *words)
        wait_until(
            lambda: asked.done() or bool(scene.run.of_type(StopRequested)), "an answer to stop"
        )
        scene.lab.release()
        return asked.result()[0] == 0 and bool(scene.run.of_type(StopRequested))


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
    Kind(
        "sshd-session-frozen",
        freeze_sessions,
        partial(signal_sessions, CONT),
        (1, 12),
        cuts_renewal=True,
    ),
    Kind("probe-hangs", hang_probe, cost="host", phases=("preflight",)),
    Kind("fio-killed", partial(signal_load, "main", signal.SIGKILL), cost="host", phases=LOADED),
    Kind(
        "fio-worker-killed",
        partial(signal_load, "worker", signal.SIGKILL),
        cost="host",
        phases=(MEASURE,),
    ),  # layouts have threads
    Kind(
        "fio-frozen",
        partial(signal_load, "fio", STOP),
        partial(signal_load, "fio", CONT),
        (1, 4),
        phases=LOADED,
    ),
    Kind(
        "fio-terminated", partial(signal_load, "main", signal.SIGTERM), cost="host", phases=LOADED
    ),
    Kind(
        "supervisor-killed",
        partial(signal_load, "supervisor", signal.SIGKILL),
        cost="host",
        phases=WATCHED,
    ),
    Kind(
        "runner-killed", partial(signal_load, "runner", signal.SIGKILL), cost="host", phases=LOADED
    ),
    Kind("guard-killed", partial(signal_load, "guard", signal.SIGKILL), phases=WATCHED),
    Kind(
        "watchers-killed",
        partial(signal_load, "watchers", signal.SIGKILL),
        cost="host",
        phases=WATCHED,
    ),
    Kind("supervisor-frozen", freeze_supervisor, thaw_supervisor, (1, 4), phases=WATCHED),
    Kind(
        "engine-and-watchers-killed",
        kill_all_watchers,
        cost="run",
        kills_engine=True,
        phases=WATCHED,
    ),
    Kind(
        "spool-full",
        lambda scene: scene.lab.fill_spool(),
        cost="host",
        phases=(MEASURE,),
        small=True,
    ),
    Kind("slow-shell", slow_shell, quick_shell, (2, 8), cuts_renewal=True),
    *(
        Kind(f"flood-{how}", partial(flood, how), cost="host", phases=(MEASURE,), floods=True)
        for how in SOAKED
    ),
    Kind("fio-frozen-then-stop", partial(frozen_then, ()), cost="run", asks=True, phases=LOADED),
    Kind(
        "fio-frozen-then-abort",
        partial(frozen_then, ("--abort",)),
        cost="run",
        asks=True,
        phases=LOADED,
    ),
    Kind("engine-killed", kill_engine, cost="run", kills_engine=True),
    Kind(
        "engine-frozen",
        partial(signal_engine, STOP),
        partial(signal_engine, CONT),
        (1, 9),
        cuts_renewal=True,
    ),
    Kind("engine-terminated", partial(signal_engine, signal.SIGTERM), cost="run"),
    Kind("stop", partial(ask, ()), cost="run", asks=True),
    Kind("abort", partial(ask, ("--abort",)), cost="run", asks=True),
]
BY_NAME = {kind.name: kind for kind in KINDS}
SECOND_SHARE = 0.3


def phase_of(number: int, kind: Kind | None = None) -> str:
    """Return the phase that a trial is for: all that there are for a kind, in turn."""
    turns = [phase for phase in TURNS if kind is None or phase in kind.phases]
    return turns[number % len(turns)]


def kinds_of(phase: str) -> list[Kind]:
    """Return the kinds that can strike in a phase."""
    return [kind for kind in KINDS if phase in kind.phases]


def draw(
    random_: random.Random, hosts: list[str], runtime_s: int, kind: Kind, phase: str
) -> list[Fault]:
    """Return a fault of this kind in this phase, and perhaps a second, gentle one while it
    measures.
    """
    faults = [draw_one(random_, kind, hosts, runtime_s, phase)]
    if random_.random() < SECOND_SHARE:
        gentle = [each for each in kinds_of(MEASURE) if each.cost != "run" and not each.small]
        # one fault's end would end the other one too
        others = [host for host in hosts if host != faults[0].host]
        faults.append(
            draw_one(random_, random_.choice(gentle), others or hosts, runtime_s, MEASURE)
        )
    return faults


def draw_one(
    random_: random.Random, kind: Kind, hosts: list[str], runtime_s: int, phase: str
) -> Fault:
    longest = {MEASURE: runtime_s - 1.5, "layout": 1.5}.get(phase, 0.0)
    host = hosts[-1] if kind.small else random_.choice(hosts)
    return Fault(kind, host, random_.uniform(0.0, longest), random_.uniform(*kind.lasts), phase)
