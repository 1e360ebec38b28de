"""The headless display of a run: one line on a terminal that is rewritten, or a line now and then in a log."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TextIO

from tui.metrics import units
from tui.model.event import AnyEvent, HostProblem, Message, PhaseStarted
from tui.results.journal import JournalTail
from tui.results.live import RunState
from tui.results.store import is_running

POLL_S = 0.2
LOG_EVERY_S = 10.0
GONE_AFTER_S = 3.0  # an engine that wrote nothing and is not alive: give its last words time to reach the disk
PERCENTILES = ("50", "99", "99.9")


class ProgressDisplay:
    """Draws a run on `out` from its journal."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self.out = out
        self.rewrites = out.isatty()
        self.drawn = False
        self.logged_at = -LOG_EVERY_S

    def events(self, events: list[AnyEvent]) -> None:
        """Print what deserves a line of its own."""
        for event in events:
            if isinstance(event, PhaseStarted):
                self.line(f"{clock(event.t)} {phase_text(event)}")
            elif isinstance(event, HostProblem):
                self.line(f"{clock(event.t)} {event.host}: {event.message}")
            elif isinstance(event, Message) and event.severity != "info":
                self.line(f"{clock(event.t)} {event.host + ': ' if event.host else ''}{event.text}")

    def line(self, text: str) -> None:
        """Print one whole line, over a status line when there is one."""
        self.clear()
        print(text, file=self.out, flush=True)

    def status(self, state: RunState, now_t: float) -> None:
        """Show the current numbers: in place on a terminal, every ten seconds elsewhere."""
        text = status_text(state, now_t)
        if not self.rewrites:
            if state.phase in ("measure", "layout") and now_t - self.logged_at >= LOG_EVERY_S:
                self.logged_at = now_t
                print(text, file=self.out, flush=True)
            return
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\x1b[K{text[:width]}", end="", file=self.out, flush=True)
        self.drawn = True

    def clear(self) -> None:
        """Take the status line away."""
        if self.drawn:
            print("\r\x1b[K", end="", file=self.out, flush=True)
            self.drawn = False


def clock(t: float) -> str:
    """Return seconds since the start as a fixed-width clock."""
    return f"{int(t) // 60:3d}:{int(t) % 60:02d}"


def phase_text(event: PhaseStarted) -> str:
    """Return a phase with what is known of its size."""
    if event.total_bytes:
        return f"{event.phase}: {units.size(event.total_bytes)} to write"
    return f"{event.phase}: {units.duration(event.expected_s)}" if event.expected_s else event.phase


def status_text(state: RunState, now_t: float) -> str:
    """Return the current numbers of the whole cluster in one line."""
    progress = state.progress(now_t)
    parts = [clock(now_t), state.phase or state.state]
    if progress.fraction is not None:
        parts.append(f"{progress.fraction:4.0%}")
    if progress.remaining_s is not None:
        parts.append(f"{units.duration(progress.remaining_s)} left")
    for direction, view in sorted(state.cluster.items()):
        if view.iops is None:
            continue
        parts.append(f"{direction} {units.iops(view.iops)} IOPS {units.bandwidth(view.bw_bytes_per_s)}")
        found = view.interval_percentiles
        parts.append(" ".join(f"p{p} {units.latency(found.get(p))}" for p in PERCENTILES))
    stale = [name for name, host in state.hosts.items() if host.stale_s(now_t) is not None]
    if stale:
        parts.append(f"stale: {', '.join(stale[:3])}{' ...' if len(stale) > 3 else ''}")
    return "  ".join(parts)


def follow(run_dir: Path, display: ProgressDisplay) -> RunState:
    """Draw a run until it has ended, or its engine is gone; return the state reached."""
    tail = JournalTail(run_dir / "journal.jsonl")
    state = RunState()
    started = silent_since = time.monotonic()
    while True:
        events = tail.poll()
        for event in events:
            state.apply(event)
        display.events(events)
        now = time.monotonic()
        if events:
            silent_since, started = now, now - state.t
        if state.exit_code is not None or (now - silent_since > GONE_AFTER_S and not is_running(run_dir)):
            display.clear()
            return state
        display.status(state, now - started)
        time.sleep(POLL_S)
