"""One host of a run, and which hosts the run is waiting for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct, field

from tui.journal.clock import NAMED, names_of
from tui.journal.measurement import Measurement
from tui.journal.views import FRESH_S, Clock, DirectionView, Group
from tui.model.event import DirectionResult, HostResult, HostStateName
from tui.model.hostfacts import Fact

Activity = Literal["waiting", "running", "silent", "finished", "ended early", "failed", "lost"]
LOADED: frozenset[HostStateName] = frozenset({"running", "layout"})
END_OF: dict[bool, Literal["finished", "ended early"]] = {True: "finished", False: "ended early"}


class HostFigures(Struct, frozen=True):
    """Figures of one host, in total or of one job. `results` come from the tool at its end."""

    dirs: Mapping[str, DirectionView]
    total: DirectionView
    results: Mapping[str, DirectionResult]


class HostView(Struct):
    """One host.

    `dirs` and `total` are of the current measurement, `version` grows with every visible change.
    """

    name: str
    total: DirectionView
    dirs: dict[str, Any]
    state: HostStateName = "waiting"
    detail: str = ""
    facts: dict[str, Fact] = field(default_factory=dict)
    last_sample_t: float | None = None
    running_since_t: float | None = None
    problem: str | None = None
    problem_step: int | None = None  # its step's; None: the run's
    result: HostResult | None = None  # of the current measurement, from the tool's result
    gives_none: bool = False  # the tool gives no samples
    load_ended: bool | None = None  # whether the current load succeeded; None: not ended
    version: int = 0
    jobs: Mapping[str, Measurement] = field(default_factory=dict)  # of the current measurement

    def figures(self, job: str | None = None) -> HostFigures:
        """Return its figures, in total or of one job."""
        told = self.result
        if job is None:
            return HostFigures(self.dirs, self.total, told.dirs if told is not None else {})
        results = told.jobs.get(job, {}) if told is not None else {}
        if job not in self.jobs:
            return HostFigures({}, Group(Clock()), results)
        return HostFigures(
            self.jobs[job].dirs_of(self.name), self.jobs[job].total_of(self.name), results
        )

    def leave_step(self) -> None:
        """Clear problems of a step that is over; those of the run stay."""
        if self.problem_step is not None:
            self.problem = self.problem_step = None
            self.version += 1

    def enter(self, measurement: Measurement, load_ended: bool | None) -> None:
        """Begin a measurement, or continue that of a resumed run."""
        self.dirs, self.total = measurement.dirs_of(self.name), measurement.total_of(self.name)
        self.jobs, self.load_ended = measurement.jobs, load_ended
        self.last_sample_t, self.gives_none, self.result = None, False, None
        self.version += 1

    def end_load(self, *, well: bool) -> None:
        """End its load, so that it no longer counts as silent."""
        self.load_ended = well
        self.version += 1

    def stale_s(self, now_t: float) -> float | None:
        """Return the seconds since the last sample of a silent host.

        None if it is not silent or has no load.
        """
        if (
            self.gives_none
            or self.load_ended is not None
            or self.state not in LOADED
            or self.running_since_t is None
        ):
            return None
        silent = now_t - max(self.running_since_t, self.last_sample_t or 0.0)
        return silent if silent > FRESH_S else None

    def activity(self, now_t: float) -> Activity:
        """Return what the host is doing, for all screens and headless progress."""
        if self.state in ("failed", "lost"):
            return self.state
        if self.state not in (*LOADED, "collecting", "done"):
            return "waiting"
        if self.load_ended is not None:
            return END_OF[self.load_ended]
        if self.state not in LOADED:
            return "finished"
        return "silent" if self.stale_s(now_t) is not None else "running"


OVER: tuple[Activity, ...] = ("finished", "ended early", "failed", "lost")


def activities(hosts: Iterable[HostView], now_t: float) -> dict[Activity, list[HostView]]:
    """Return the hosts by activity."""
    found: dict[Activity, list[HostView]] = {}
    for host in hosts:
        found.setdefault(host.activity(now_t), []).append(host)
    return found


def silent_text(host: HostView, now_t: float) -> str:
    """Return how long a host has been silent: ``silent for 18 s``; empty if it is not."""
    silent_s = host.stale_s(now_t)
    return "" if silent_s is None else f"silent for {silent_s:.0f} s"


def silent_hosts_text(hosts: Iterable[HostView], now_t: float) -> str:
    """Return the silent hosts: ``h7: silent for 18 s``, with the longest time of several.

    Empty if there are none.
    """
    silent = sorted(
        activities(hosts, now_t).get("silent", []), key=lambda host: -(host.stale_s(now_t) or 0.0)
    )
    if len(silent) > 1:
        return (
            f"{len(silent)} hosts {silent_text(silent[0], now_t)}:"
            f" {names_of([host.name for host in silent])}"
        )
    return f"{silent[0].name} {silent_text(silent[0], now_t)}" if silent else ""


def waiting_text(hosts: Iterable[HostView], now_t: float) -> str:
    """Return the hosts that a load waits for: ``11 of 12 finished, waiting for h7 (silent for 18
    s)``.

    Empty while no host has finished, and once all have.
    """
    hosts = list(hosts)
    found = activities(hosts, now_t)
    rest = [*found.get("silent", []), *found.get("running", [])]
    if "finished" not in found or not rest:
        return ""
    over = [f"{len(found[name])} {name}" for name in OVER[1:] if name in found]
    parts = [f"{len(found['finished'])} of {len(hosts)} finished", *over]
    return f"{', '.join(parts)}, waiting for {_named(rest, now_t)}"


def _named(rest: list[HostView], now_t: float) -> str:
    if len(rest) > NAMED + 1:
        return names_of([host.name for host in rest])
    return ", ".join(
        f"{host.name} ({silent})" if (silent := silent_text(host, now_t)) else host.name
        for host in rest
    )
