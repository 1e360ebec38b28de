"""Lists of hosts and other names as text, the first few by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tui.model.plain import some

NAMED = 3  # more names than this are counted
LISTED_VALUES = 3  # of a swept parameter; of more values, only the first and the last
FEW = 6  # names or ranges
_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})")
FIGURE = re.compile(r"(?<![\w.])\d+(?= (?:%|requests))")  # not the number of a core or device


def names_of(hosts: Sequence[str]) -> str:
    """Return up to four names, or the first three and the number of remaining ones, as text."""
    more = len(hosts) - NAMED
    if more <= 1:
        return ", ".join(hosts)
    return f"{', '.join(hosts[:NAMED])} and {more} more"


def swept_text(values: Sequence[str]) -> str:
    """Return the values of a swept parameter: ``4k,64k``; ``4k–1M`` for more than three."""
    return ",".join(values) if len(values) <= LISTED_VALUES else f"{values[0]}–{values[-1]}"


def loss_text(left: int, total: int, from_s: float, missing: Sequence[str]) -> str:
    """Return a loss as text: "7 of 8 hosts after 132 s (without h8)".

    `from_s` counts from the start of the first host.
    """
    since = f"after {from_s:.0f} s" if from_s >= 0.5 else "from the start"
    return f"{left} of {total} hosts {since} (without {names_of(missing)})"


def ranges_of(names: Sequence[str]) -> str:
    """Return host names as typed in commands, numbered ones as ranges: ``weka-[01-08], nas``."""
    found: list[tuple[str, list[str]]] = []
    for name in names:
        part = _NUMBERED.fullmatch(name)
        stem, number = part.groups() if part else (name, "")
        if found and number and found[-1][0] == stem and _follows(found[-1][1][-1], number):
            found[-1][1].append(number)
        else:
            found.append((stem, [number]))
    return ", ".join(
        f"{stem}[{numbers[0]}-{numbers[-1]}]" if len(numbers) > 1 else f"{stem}{numbers[0]}"
        for stem, numbers in found
    )


def some_of(names: Iterable[str]) -> str:
    """Return host names as ranges; if there are many ranges, the first few names instead."""
    listed = [*dict.fromkeys(names)]
    text = ranges_of(listed)
    return text if text.count(", ") < FEW else some(listed)


def _follows(number: str, next_number: str) -> bool:
    """Return whether a number follows another in a range, with the same padding."""
    return bool(number) and str(int(number) + 1).zfill(len(number)) == next_number


def told_of(found: Mapping[str, str], link: str = ": ") -> str:
    """Join texts about hosts, naming hosts with equal texts together.

    ``h1, h2, h3 and 6 more: 97 % busy; h9: 91 % busy``
    """
    groups: dict[str, list[str]] = {}
    for host, text in found.items():
        groups.setdefault(text, []).append(host)
    said = [f"{names_of(hosts)}{link}{text}" for text, hosts in groups.items()]
    if len(groups) == len(found):
        return names_of(said)
    hidden = sum(len(hosts) for hosts in list(groups.values())[NAMED:])
    return "; ".join(said[:NAMED]) + (f" and {hidden} more" if hidden else "")


def told_in_range(found: Mapping[str, str]) -> str:
    """Join texts about hosts as `told_of` does, merging those that differ only in figures if they
    are about more than three hosts: ``h1, h2, h3 and 6 more: 91 to 97 % busy``.
    """
    alike: dict[str, list[str]] = {}
    for host, text in found.items():
        alike.setdefault(FIGURE.sub("", text), []).append(host)
    told = dict(found)
    for hosts in alike.values():
        if len(hosts) > NAMED:
            told |= dict.fromkeys(hosts, _merged([found[host] for host in hosts]))
    return told_of(told)


def _merged(texts: Sequence[str]) -> str:
    """Return a text with the range of each figure of texts that differ only in figures."""
    figures = zip(*(map(int, FIGURE.findall(text)) for text in texts), strict=True)
    spans = iter([(min(each), max(each)) for each in figures])

    def span(_: re.Match[str]) -> str:
        low, high = next(spans)
        return f"{low} to {high}" if low < high else str(low)

    return FIGURE.sub(span, texts[0])
