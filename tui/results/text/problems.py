"""Problems of hosts: one that several hosts have is told once, with their names."""

from __future__ import annotations

from msgspec import Struct

from tui.model.plain import some
from tui.model.record import RunRecord
from tui.text.line import TEXT, Line, labelled


class Shared(Struct, frozen=True):
    """A problem, and the hosts that have it."""

    hosts: list[str]
    phase: str
    code: str
    message: str
    fatal: bool


def shared_problems(record: RunRecord) -> list[Shared]:
    """Return the problems of hosts, each once, in the order in which the record has them."""
    found: dict[tuple[str, str, str, bool], list[str]] = {}
    for host in record.hosts:
        for each in host.problems:
            found.setdefault((each.phase, each.code, each.message, each.fatal), []).append(host.name)
    return [Shared(list(dict.fromkeys(hosts)), *what) for what, hosts in found.items()]


def problem_lines(record: RunRecord, width: int, *, every: bool = False) -> list[Line]:
    """Return problems of hosts with the names of those who have them: of a few, or of every one."""
    from tui.results.text.findings import MARKS  # with all checks: not for a list of problems alone

    lines: list[Line] = []
    for each in shared_problems(record):
        mark, role = MARKS["error" if each.fatal else "warning"]
        names = some(each.hosts, len(each.hosts)) if every else some(each.hosts)
        lines += labelled([(f"{mark} ", role)], [(f"{names}  {each.message} ({each.code})", TEXT)], width)
    return lines


def measured_nothing(record: RunRecord) -> bool:
    """Tell whether a run failed before any load: what the hosts are says nothing about figures then."""
    return record.state == "failed" and not any(step.results.aggregate or step.metadata for step in record.steps)
