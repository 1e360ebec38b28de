"""Check of the commands that loads ran, against the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.judge.check import CheckResult, RunEvidence, Severity, UnknownError, run_check
from tui.model.host_tables import LoadCommand, rows
from tui.model.operands import Operands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui.model.plan import Plan
    from tui.model.step_record import Scalar

MOST_SHOWN = 120  # characters of a command line


@run_check(
    "planned-command",
    "Planned command",
    rule=(
        "the processes that have the test files open run the planned command line, whatever starts"
        " them, with the planned job file; a warning if arguments were added, if the job file was"
        " changed after it was sent and then restored, or if a packaged program maps libraries"
        " from elsewhere in place of the system's; a note on preloaded libraries"
    ),
    advice=(
        "Find out what runs in place of the load generator on the host (command -v, type) and"
        " remove it, or put its options into the profile."
    ),
    source="/proc/PID/cmdline, environ, maps and cwd of the load, 3 s into each step",
)
def planned_command(evidence: RunEvidence) -> Iterator[CheckResult]:
    """A wrapper with other options, or another job file, measures a load that differs from the
    record, and can still print the planned options.
    """
    ran = {host.name: rows(host.facts, LoadCommand) for host in evidence.hosts}
    if not any(ran.values()):
        raise UnknownError("command-lines")
    yield from _other_job(ran)
    yield from _other_words(ran, evidence.plan)
    yield from _touched(ran)
    yield from _replaced(ran, evidence)
    yield from _preloaded(ran)


def _touched(ran: dict[str, list[LoadCommand]]) -> Iterator[CheckResult]:
    """Yield the hosts whose job file was changed after it was sent, then restored: fio reads it
    once.
    """
    hosts = [
        host
        for host, found in ran.items()
        if any(row.touched for row in found) and not any(row.other_job for row in found)
    ]
    if hosts:
        scope: dict[str, Scalar] = {"hosts": " ".join(hosts)}
        yield CheckResult("warning", "touched", len(hosts), 0, scope, {"hosts": hosts})


def _replaced(ran: dict[str, list[LoadCommand]], evidence: RunEvidence) -> Iterator[CheckResult]:
    """Yield libraries in place of the system's in a program that the system's packages provide.

    A program from elsewhere may come with its libraries.
    """
    tools = {step.index: step.tool for step in evidence.plan.steps}
    found: dict[str, list[str]] = {}
    for host in evidence.hosts:
        told = [
            path
            for row in ran[host.name]
            if f"{tools.get(row.step)}_package" in host.facts
            for path in filter(None, row.replaced.split(":"))
        ]
        if told:
            found[host.name] = list(dict.fromkeys(told))
    if found:
        scope: dict[str, Scalar] = {"hosts": " ".join(found)}
        operands: Operands = {"libraries": list(found.items())}
        yield CheckResult("warning", "replaced", len(found), 0, scope, operands)


def _other_job(ran: dict[str, list[LoadCommand]]) -> Iterator[CheckResult]:
    hosts = [host for host, found in ran.items() if any(row.other_job for row in found)]
    if hosts:
        scope: dict[str, Scalar] = {"hosts": " ".join(hosts)}
        yield CheckResult("error", "other-job", "other", "as planned", scope, {"hosts": hosts})


def _other_words(ran: dict[str, list[LoadCommand]], plan: Plan) -> Iterator[CheckResult]:
    """Yield the hosts on which arguments differ from the plan in any step, then those on which
    arguments were only added.
    """
    planned = {(step.index, task.host): task.argv[1:] for step in plan.steps for task in step.tasks}
    other, more = dict[str, tuple[str, list[str]]](), dict[str, tuple[str, list[str]]]()
    for host, found in ran.items():
        pairs = [(row.words, planned.get((row.step, host), [])) for row in found if row.words]
        wrong = [(line, words) for line, words in pairs if words and not ends_as(line, words)]
        if wrong:
            added = all(_has_all(line, words) for line, words in wrong)
            (more if added else other)[host] = wrong[0]
    kinds: list[tuple[Severity, str, dict[str, tuple[str, list[str]]]]] = [
        ("error", "other", other),
        ("warning", "more", more),
    ]
    for severity, code, hosts in kinds:
        for line, words in list(hosts.values())[:1]:
            shown, meant = line[:MOST_SHOWN], " ".join(words)
            scope: dict[str, Scalar] = {"hosts": " ".join(hosts)}
            operands: Operands = {"hosts": list(hosts), "ran": shown, "planned": meant}
            yield CheckResult(severity, code, shown, meant, scope, operands)


def ends_as(command: str, words: Sequence[str]) -> bool:
    """Return whether a command line is a program with these arguments.

    What starts the program may come first (ld.so, an interpreter), but no option may stand between
    the program and the arguments.
    """
    first, end, rest = command.rpartition(f" {' '.join(words)}")
    return bool(end) and not rest and not first.rpartition(" ")[2].startswith("-")


def _has_all(command: str, words: Sequence[str]) -> bool:
    """Return whether all of these words are in a command line, in this order."""
    left = iter(command.split(" "))
    return all(word in left for each in words for word in each.split(" "))


def _preloaded(ran: dict[str, list[LoadCommand]]) -> Iterator[CheckResult]:
    known = {
        host: list(dict.fromkeys(row.preload for row in found if row.preload))
        for host, found in ran.items()
    }
    with_some = {host: libraries for host, libraries in known.items() if libraries}
    if with_some:
        scope: dict[str, Scalar] = {"hosts": " ".join(with_some)}
        operands: Operands = {"libraries": list(with_some.items())}
        yield CheckResult("info", "preloaded", len(with_some), 0, scope, operands)
