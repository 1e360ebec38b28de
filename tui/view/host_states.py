"""What a host of a running run does: symbol, state, message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tui.journal.state import HostView, silent_text
from tui.metrics.figures import behind_text
from tui.text.line import LABEL, TEXT, Run

if TYPE_CHECKING:
    from tui.metrics.figures import HostSpread
    from tui.text.sparkline import Symbols

BROKEN = ("failed", "lost")  # states of hosts
MARKS: dict[str, tuple[str, str, str]] = {  # state -> symbol, ASCII symbol, style
    "waiting": ("·", ".", LABEL),
    "connecting": ("›", ">", LABEL),
    "connected": ("›", ">", LABEL),
    "checking": ("›", ">", LABEL),
    "ready": ("○", "o", TEXT),
    "layout": ("■", "#", "read"),
    "armed": ("○", "o", TEXT),
    "running": ("●", "*", "good"),
    "collecting": ("■", "#", LABEL),
    "done": ("✓", "+", "good"),
    "failed": ("✗", "x", "bad"),
    "lost": ("✗", "x", "bad"),
}
NOTHING: Mapping[str, Run] = {}
SAID = ("finished", "ended early", "silent")  # activities not covered by states
STATE_ORDER = (*BROKEN, *reversed(SAID), *(state for state in MARKS if state not in BROKEN))


def lag_text(spread: HostSpread, host: str) -> str:
    """Return how slow a straggler is: ``at 25 % of median``."""
    return f"at {behind_text(spread.shares[host] or 0.0)}"


def mark_of(
    host: HostView,
    now: float,
    symbols: Symbols,
    found: Mapping[str, Run] = NOTHING,
    spread: HostSpread | None = None,
) -> Run:
    """Return the symbol of a host's state and its style.

    A straggler or finding takes precedence.
    """
    activity = host.activity(now)
    if activity in ("silent", "ended early"):
        return "!", "warn"
    if spread is not None and spread.lags(host.name) and host.state not in BROKEN:
        return "v" if symbols == "ascii" else "▼", "bad"
    if host.name in found and host.state not in BROKEN:
        return "!", found[host.name][1]
    symbol, plain, key = MARKS.get(
        "done" if activity == "finished" else host.state, ("?", "?", LABEL)
    )
    return (plain if symbols == "ascii" else symbol), key


def message_of(
    host: HostView, now: float, found: Mapping[str, Run] = NOTHING, spread: HostSpread | None = None
) -> Run:
    """Return the message about a host: silence, straggler, findings, or its state."""
    if silent := silent_text(host, now):
        return silent, "warn"
    if spread is not None and spread.lags(host.name):
        return lag_text(spread, host.name), "bad"
    does, over = state_text(host, now), host.activity(now) in ("finished", "ended early")
    if host.name in found and (over or host.state == "running"):
        text, role = found[host.name]
        return (f"{does}: {text}" if over else text), role
    if host.problem:
        return f"{does}: {host.problem}", "warn"
    return f"{does}: {host.detail}" if host.detail else does, LABEL


def state_text(host: HostView, now: float) -> str:
    """Return a host's activity in a word or two.

    Before and between loads, its state in the engine.
    """
    activity = host.activity(now)
    return activity if activity in SAID else host.state


def count_states(hosts: Sequence[HostView], now: float) -> str:
    """Return ``62 running, 1 silent, 1 failed``: states that need attention come last."""
    counts = Counter(state_text(host, now) for host in hosts)
    order = [*(state for state in MARKS if state not in BROKEN), *SAID, *BROKEN]
    return ", ".join(f"{counts[name]} {name}" for name in order if name in counts)
