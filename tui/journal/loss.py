"""Hosts that dropped out of a measurement: from when on every total holds over fewer of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tui.model.event import TaskEnded

ASKED_TO_END = ("stop", "abort")
NAMED = 3  # more hosts than this are counted, not named
SHARE = re.compile(r"(\D*)(\d+)( % \D+)")


def ended_badly(event: TaskEnded) -> bool:
    """Tell whether a command ended without anybody having asked it to; an exit code that nobody knows is no success."""
    if not event.collected:
        return True
    if event.reason in ASKED_TO_END:
        return False
    return event.reason != "exit" or event.exit_code != 0


def names_of(hosts: Sequence[str]) -> str:
    """Return some of the names, and how many more there are."""
    more = len(hosts) - NAMED
    if more <= 1:
        return ", ".join(hosts)
    return f"{', '.join(hosts[:NAMED])} and {more} more"


def told_of(found: Mapping[str, str], link: str = ": ") -> str:
    """Return what is told of hosts, once where it is the same: ``h1, h2 and 6 more: 97 % busy; h9: 91 % busy``."""
    groups: dict[str, list[str]] = {}
    for host, text in found.items():
        groups.setdefault(text, []).append(host)
    said = [f"{names_of(hosts)}{link}{text}" for text, hosts in groups.items()]
    if len(groups) == len(found):
        return names_of(said)
    hidden = sum(len(hosts) for hosts in list(groups.values())[NAMED:])
    return "; ".join(said[:NAMED]) + (f" and {hidden} more" if hidden else "")


def told_in_range(found: Mapping[str, str]) -> str:
    """Return what is told of hosts, the shares of many as a range: ``h1, h2, h3 and 6 more: 91 to 97 % busy``."""
    shares = {host: part for host, text in found.items() if (part := SHARE.fullmatch(text))}
    spans: dict[tuple[str, str], list[int]] = {}
    for part in shares.values():
        spans.setdefault((part[1], part[3]), []).append(int(part[2]))
    told = dict(found)
    for host, part in shares.items():
        span = spans[part[1], part[3]]
        if len(span) > NAMED and min(span) < max(span):
            told[host] = f"{part[1]}{min(span)} to {max(span)}{part[3]}"
    return told_of(told)


def loss_text(left: int, total: int, from_s: float, missing: Sequence[str]) -> str:
    """Return a loss for people: "7 of 8 hosts from 132 s on (without h8)"; `from_s` counts from the first start."""
    since = f"from {from_s:.0f} s on" if from_s >= 0.5 else "from the start"
    return f"{left} of {total} hosts {since} (without {names_of(missing)})"
