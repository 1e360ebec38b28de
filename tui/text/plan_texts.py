"""Texts of a plan's caveats, by code."""

from __future__ import annotations

from collections.abc import Sequence

from tui.metrics import units
from tui.text.form import Text


def one_value_for_suite(name: str, value: str, others: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return which values a parameter has in the profiles of a suite, if one is set for all."""
    own = "; ".join(f"{each} in {', '.join(tags)}" for each, tags in others)
    return f"{name}={value} applies to every profile of the suite; their own values differ: {own}"


def host_counts_skipped(counts: Sequence[int], hosts: int) -> str:
    """Return the host counts of a profile that exceed the number of chosen hosts."""
    chosen = f"{units.plural(hosts, 'host')} {'is' if hosts == 1 else 'are'} chosen"
    skipped = ", ".join(map(str, counts))
    return f"host counts {skipped} of the profile: skipped, because only {chosen}"


PLAN: dict[str, Text] = {
    "one-value-for-suite": one_value_for_suite,
    "loads-on-servers": (
        "{hosts:all}: role server in the inventory, but generating load in this run"
    ),
    "same-load-in-sweep": (
        "sweep over {name}: all points run the same load, so they differ only by chance"
    ),
    "same-load-in-search": "search over {name}: all values give the same load",
    "host-counts-skipped": host_counts_skipped,
    "profile-rejected": "this version of benchtui rejects the profile: {quote}",
    "profile-hint": "{quote}",
    "dynamic-program": "{program} is dynamically linked: the hosts need the same libraries",
    "option-not-applied": "{source}: {option} is not applied; put the option into ~/.ssh/config",
    "note-of-source": "{quote}",
}
