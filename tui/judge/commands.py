"""Check of the commands that loads ran, against the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.journal.clock import names_of
from tui.judge.check import CheckResult, RunEvidence, UnknownError, run_check
from tui.model.host_tables import LoadCommand, rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_SHOWN = 120  # characters of a command line


@run_check(
    "planned-command",
    "Planned command",
    rule=(
        "the processes that have the test files open run the planned command line, whatever starts"
        " them, with the planned job file; a warning if arguments were added, a note on preloaded"
        " libraries"
    ),
    advice=(
        "Find out what is in the load generator's place on the host (command -v, type) and remove"
        " it, or put its options into the profile."
    ),
    source="/proc/PID/cmdline, environ and cwd of the load, 3 s into each step",
)
def planned_command(evidence: RunEvidence) -> Iterator[CheckResult]:
    """A wrapper with other options, or another job file, measures another load than the record
    says, and can print the planned options all the same.
    """
    told = False
    for step in evidence.plan.steps:
        planned = {task.host: task.argv for task in step.tasks}
        seen = {
            host.name: [row for row in rows(host.facts, LoadCommand) if row.step == step.index]
            for host in evidence.hosts
        }
        told = told or any(seen.values())
        yield from _other_job(seen)
        yield from _other_words(seen, planned)
        yield from _preloaded(seen)
    if not told:
        raise UnknownError("the command lines of the load are unknown")


def _other_job(seen: dict[str, list[LoadCommand]]) -> Iterator[CheckResult]:
    hosts = [host for host, found in seen.items() if any(row.other_job for row in found)]
    if hosts:
        message = f"the job file of the load is not the planned one on {names_of(hosts)}"
        yield CheckResult("error", message, "other", "as planned", {"hosts": " ".join(hosts)})


def _other_words(
    seen: dict[str, list[LoadCommand]], planned: dict[str, list[str]]
) -> Iterator[CheckResult]:
    for host, found in seen.items():
        words = planned.get(host, [])[1:]
        other = [row.words for row in found if row.words and not ends_as(row.words, words)]
        if words and other:
            told, meant = other[0][:MOST_SHOWN], " ".join(words)
            added = all(_has_all(each, words) for each in other)
            message = (
                f"{host}: the load ran with {'more' if added else 'other'} arguments than planned:"
                f" {told} (planned: {meant})"
            )
            yield CheckResult(
                "warning" if added else "error", message, told, meant, {"hosts": host}
            )


def ends_as(command: str, words: Sequence[str]) -> bool:
    """Return whether a command line is a program with these arguments.

    Whatever starts the program may come first (ld.so, an interpreter), but no option after it.
    """
    first, end, rest = command.rpartition(f" {' '.join(words)}")
    return bool(end) and not rest and not first.rpartition(" ")[2].startswith("-")


def _has_all(command: str, words: Sequence[str]) -> bool:
    """Return whether all of these words are in a command line, in this order."""
    left = iter(command.split(" "))
    return all(word in left for each in words for word in each.split(" "))


def _preloaded(seen: dict[str, list[LoadCommand]]) -> Iterator[CheckResult]:
    known = {
        host: ", ".join(dict.fromkeys(row.preload for row in found if row.preload))
        for host, found in seen.items()
    }
    with_some = {host: libraries for host, libraries in known.items() if libraries}
    if with_some:
        named = names_of([f"{libraries} on {host}" for host, libraries in with_some.items()])
        message = f"the load runs with preloaded libraries, which can change what it does: {named}"
        scope = {"hosts": " ".join(with_some)}
        yield CheckResult("info", message, len(with_some), 0, dict(scope))
