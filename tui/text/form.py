"""Texts by code: a format string, with the formats below (``{told:size}``, ``{hosts:names}``), or a
function of the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui.metrics import units
from tui.model import tool as generators
from tui.model.operands import Clause, is_clause
from tui.text.names import names_of, told_in_range, told_of

if TYPE_CHECKING:
    from tui.model.figure_record import CodedText

Text = str | Callable[..., str]
DAY_S = 86_400
BY_GENERATOR = "by-generator"


def version(number: float) -> str:
    """Return a version stored as one number (1000 times major plus minor) as text."""
    major, minor = divmod(int(number), 1000)
    return f"{major}.{minor}"


def where(host: str, job: str, direction: str) -> str:
    """Return the host, job and direction that a figure belongs to: ``h1, job log, read``."""
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
    "jobs": lambda names: f"{'job' if len(names) == 1 else 'jobs'} {names_of(names)}",
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
    """Fill a text with its operands; `names` replace ``{0}``, ``{1}`` and so on."""
    return text.format(*names, **{name: _Formed(value) for name, value in operands.items()})


class _Formed:
    """An operand that a text may format as one of `UNITS`, or, for a list of names, as one of
    `LINES`. In a list of (name, value), the values are formatted.
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


def worded_from(texts: Mapping[str, Text], told: CodedText | Clause | str) -> str:
    """Return the text for a code in a record. Older records store the text itself; return it
    unchanged.
    """
    if isinstance(told, str):
        return told
    if isinstance(told, dict):
        return text_by_code(texts, told["code"], told["operands"])
    return text_by_code(texts, told.code, told.operands)


def text_by_code(texts: Mapping[str, Text], code: str, operands: Mapping[str, Any]) -> str:
    """Return the text for a code; code and operands if this version has no text for them."""
    text = texts.get(code)
    try:
        own = code == BY_GENERATOR  # whose texts word its operands too
        known = {name: value if own else _told(texts, value) for name, value in operands.items()}
        if text is not None:
            return text(**known) if callable(text) else formed(text, known)
    except (TypeError, ValueError, LookupError, AttributeError):
        pass
    return _by_name(code, operands)


def of_generator(*, tool: str, about: str, **operands: Any) -> str:
    """Return a load generator's text for a code (`Workload.texts`); code and operands if the load
    generator is not installed or fails.
    """
    try:
        texts = generators.load(tool).texts()
    except Exception:
        texts = {}
    return text_by_code(texts, about, operands)


def advice_of(tool: str, about: str) -> str:
    """Return a load generator's advice on a problem (`Workload.advice`); empty if it has none."""
    try:
        return str(generators.load(tool).advice(about))
    except Exception:
        return ""


def _by_name(code: str, operands: Mapping[str, Any]) -> str:
    said = ", ".join(f"{name} {_plain(value)}" for name, value in operands.items())
    return f"{code}: {said}" if said else code


def _told(texts: Mapping[str, Text], value: Any) -> Any:
    """Return an operand with clauses replaced by their texts."""
    if is_clause(value):
        return text_by_code(texts, value["code"], value["operands"])
    return [_told(texts, each) for each in value] if isinstance(value, list | tuple) else value


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_plain, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
