"""Whatever a run waits for while there is no load (hosts, layout, barrier), and the progress."""

from __future__ import annotations

from collections.abc import Collection
from statistics import median
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui.journal.state import HostView, RunState, waiting_text
from tui.metrics.units import bandwidth, bandwidth_parts, clock, share, size, size_parts
from tui.text.digits import FigureTile
from tui.text.names import names_of

if TYPE_CHECKING:
    from tui.model.plan import Plan
    from tui.record.progress import MatrixProgress

SLOW = 0.8  # of what the median host has written
LEAST_HOSTS = 3  # with fewer a median means little
NOT_CONNECTED = ("waiting", "connecting")
NOT_CHECKED = (*NOT_CONNECTED, "connected", "checking")
FIRST_SAMPLES = "no samples yet"
NO_SAMPLES = "no samples"  # once there will be none


ROUND_UP_S = 0.999  # rounded up: 0 only at the end


class Waiting(Struct, frozen=True):
    """What a run waits for: amount done, its unit, the total, and lines with further facts."""

    title: str
    number: str = ""
    unit: str = ""
    of: str = ""
    fraction: float | None = None
    lines: tuple[str, ...] = ()
    tiles: tuple[FigureTile, ...] = ()
    repeated: int = 0  # number of first lines that repeat what the tiles show

    @property
    def text(self) -> str:
        """The title and the first two facts, on one line."""
        return f"{self.title}: {', '.join(self.lines[:2])}"


def waiting_of(state: RunState, plan: Plan | None) -> Waiting | None:
    """Return what a run waits for; None while a load runs or after the run."""
    if state.ended:
        return None
    hosts = {
        name: host for name, host in state.hosts.items() if host.state not in ("failed", "lost")
    }
    match state.phase:
        case None:
            return Waiting("Start", lines=("the engine is starting",))
        case "connect":
            return _of_hosts(
                "Connect",
                "connected",
                [*hosts],
                [n for n in hosts if hosts[n].state in NOT_CONNECTED],
            )
        case "preflight":
            return _of_hosts(
                "Preflight",
                "checked",
                [*hosts],
                [n for n in hosts if hosts[n].state in NOT_CHECKED],
            )
        case "barrier":
            found = _of_hosts(
                "Barrier", "ready to start", [*hosts], [n for n in hosts if n not in state.armed]
            )
            return replace(found, lines=(*found.lines, _next(state, plan)))
        case "pause":
            return Waiting(
                "Pause",
                lines=(f"the next step starts after {clock(state.phase_expected_s or 0.0)}",),
            )
        case "layout":
            return _layout(state, plan, list(hosts.values()))
    return None


def first_samples_text(state: RunState, plan: Plan | None) -> str:
    """Return why there are no samples yet: the ramp, which is not measured, if the step has one."""
    known = plan is not None and state.step is not None and state.step < len(plan.steps)
    step = plan.steps[state.step or 0] if plan is not None and known else None
    if state.phase != "measure" or step is None or not step.ramp_s:
        return FIRST_SAMPLES
    elapsed = max(0.0, state.clock.now - state.phase_started_t - step.startdelay_s)
    if elapsed >= step.ramp_s:
        return FIRST_SAMPLES
    return f"ramp, not measured: {clock(elapsed)} of {clock(step.ramp_s)}"


def _of_hosts(title: str, done: str, hosts: Collection[str], missing: Collection[str]) -> Waiting:
    """Return how many hosts are ready, and which hosts are missing."""
    ready = len(hosts) - len(missing)
    said = f"{ready} of {len(hosts)} hosts {done}"
    lines = (said, f"waiting for {names_of(sorted(missing))}") if missing else (said,)
    fraction = ready / len(hosts) if hosts else None
    return Waiting(title, f"{ready}", f"of {len(hosts)} hosts", "", fraction, lines)


def _next(state: RunState, plan: Plan | None) -> str:
    step = (
        plan.steps[min(state.step or 0, len(plan.steps) - 1)]
        if plan is not None and plan.steps
        else None
    )
    if step is None or not step.runtime_s:
        return "then all hosts start"
    return f"then {clock(step.runtime_s)} of load on all hosts"


def _layout(state: RunState, plan: Plan | None, hosts: list[HostView]) -> Waiting:
    """Return the amount of the layout that is written, the rate, and a host that is behind."""
    progress, total, done = (
        state.progress(state.clock.now),
        state.phase_total_bytes,
        state.phase_bytes,
    )
    number, unit = size_parts(done)
    of = f"of {size(total)}" if total else ""
    rate = state.total.bw_bytes_per_s if state.current.phase == "layout" else None
    average = done / progress.elapsed_s if progress.elapsed_s else None
    percent = "" if progress.fraction is None else f", {share(progress.fraction)}"
    left = (
        "" if progress.remaining_s is None else f", {left_text(progress.remaining_s, about=True)}"
    )
    written = f"{size(done)} {of} written{percent}".replace("  ", " ")
    speed = f"{bandwidth(rate if rate is not None else average)}{left}"
    waits = waiting_text(hosts, state.clock.now) or _behind(hosts)
    lines = (written, speed, *([waits] if waits else []), _next(state, plan))
    tiles = [FigureTile("written", number, unit, "write", of)]
    if rate is not None:
        aside = f"avg {bandwidth(average)}" if average is not None else ""
        tiles.append(FigureTile("write rate", *bandwidth_parts(rate), "write", aside, drop=1))
    return Waiting(
        "Layout",
        number,
        unit,
        of,
        progress.fraction,
        lines,
        tuple(tiles),
        repeated=2,
    )


def _behind(hosts: list[HostView]) -> str:
    """Return which host has written far less than the median host, or the text that all write at
    the same pace.

    Empty with few hosts.
    """
    written = {host.name: host.total.bytes for host in hosts if host.state == "layout"}
    if len(written) < LEAST_HOSTS:
        return ""
    slowest, middle = min(written, key=lambda name: written[name]), median(written.values())
    if written[slowest] >= SLOW * middle:
        return f"{len(written)} hosts write at the same pace"
    return f"waiting for {slowest}: {size(written[slowest])} written, median host {size(middle)}"


def left_text(remaining_s: float, *, at_most: bool = False, about: bool = False) -> str:
    """Return the time left: ``0:30 left``, ``at most 4:10 left``, ``about 1:15 left``."""
    sign = "at most " if at_most else "about " if about else ""
    return f"{sign}{clock(remaining_s + ROUND_UP_S)} left"


def allocation_text(left_s: float) -> str:
    """Return when the hosts' allocation ends: ``allocation ends in 0:40``."""
    return f"allocation ends in {clock(left_s)}"


def points_text(progress: MatrixProgress) -> str:
    """Return how many points of a sweep are done: ``3/18 points done``."""
    return f"{progress.cells_over}/{progress.cells} points done"


def cells_text(progress: MatrixProgress) -> str:
    """Return the progress of a sweep: ``step 7/36, 3/18 points done, at most 4:10 left in
    total``.
    """
    parts = [progress.place, points_text(progress)]
    if progress.remaining_s is not None and progress.over < progress.steps:
        parts.append(f"{left_text(progress.remaining_s, at_most=progress.at_most)} in total")
    return ", ".join(parts)
