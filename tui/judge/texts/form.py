"""Formats of operands in texts: ``{told:size}``, ``{hosts:names}``, ``{slow:share}``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tui.journal.clock import names_of, told_in_range, told_of
from tui.metrics import units

Text = str | Callable[..., str]
DAY_S = 86_400


def version(number: float) -> str:
    """Return the text of a version that is one number: 1000 times the major plus the minor one."""
    major, minor = divmod(int(number), 1000)
    return f"{major}.{minor}"


def where(host: str, job: str, direction: str) -> str:
    """Return what a figure is of: ``h1, job log, read``."""
    return ", ".join(filter(None, [host, job and f"job {job}", direction]))


UNITS: Mapping[str, Callable[[float], str]] = {
    "size": units.size,
    "time": units.seconds,
    "latency": units.latency,
    "bandwidth": units.bandwidth,
    "iops": units.iops,
    "share": units.share,
    "share1": lambda share: units.share(share, 1),
    "offset": lambda seconds: f"{seconds:+.3f} s",
    "rounds": lambda count: units.plural(round(count), "round"),
    "exact": lambda count: units.exact(round(count)),
    "days": lambda seconds: f"{seconds / DAY_S:.0f}",
    "version": version,
}


LINES: Mapping[str, Callable[[Sequence[Any]], str]] = {
    "names": names_of,
    "all": ", ".join,
    "and": " and ".join,
    "of": lambda at: where(*at),
    "lines": "; ".join,
    "bracket": lambda pairs: names_of([f"{name} ({what})" for name, what in pairs]),
    "colon": lambda pairs: names_of([f"{name}: {what}" for name, what in pairs]),
    "on": lambda pairs: names_of([f"{what} on {name}" for name, what in pairs]),
    "merged": lambda pairs: told_of(dict(pairs)),
    "range": lambda pairs: told_in_range(dict(pairs)),
    "job": " of job ".join,  # a direction, and its job if it is one of several
}


def formed(text: str, operands: Mapping[str, Any], names: Sequence[str] = ()) -> str:
    """Return a text with its operands; `names` are those in ``{0}`` and so on."""
    return text.format(*names, **{name: _Formed(value) for name, value in operands.items()})


class _Formed:
    """An operand that a text may format as one of `UNITS`, and a list of names as one of `LINES`.

    Of a list of (name, value), the values are formatted.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __format__(self, form: str) -> str:
        value = self.value
        if isinstance(value, list | tuple):
            if form in LINES:
                return LINES[form](value)
            return names_of([f"{name} {_Formed(each):{form}}" for name, each in value])
        return UNITS[form](value) if form in UNITS else format(value, form)
