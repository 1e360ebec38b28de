"""Check of the commands that loads ran, against the plan."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tui import workloads
from tui.judge.check import (
    CheckResult,
    RunEvidence,
    Severity,
    UnknownError,
    Unread,
    run_check,
    unread_in_steps,
)
from tui.model.host_tables import LoadCommand, rows, steps_of
from tui.model.operands import Operands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui.model.step_record import Scalar
    from tui.workloads.base import Workload

MOST_SHOWN = 120  # characters of a command line
# ld.so(8), with options that only say where libraries are
LOADER = re.compile(
    r"\S*/?ld[-.]\S*so\S*( --(library-path|inhibit-rpath|argv0|glibc-hwcaps-\w+) \S+"
    r"| --inhibit-cache)*"
)
IS_LOADER = re.compile(r"ld[-.]\S*so\S*")
Rows = dict[str, list[LoadCommand]]


@run_check(
    "planned-command",
    "Planned command",
    rule=(
        "the load has test files open, not only other files (not compared with preloaded"
        " libraries, a startdelay, engines that do not keep files open, or more than 64 files); the"
        " processes that have the test files open (over a network: those with the job file as"
        " an argument) run the planned command line with the planned job file (compared only if"
        " the load has one; an error if added arguments change the load); a warning if other"
        " arguments were added, if another program than the dynamic loader runs the load"
        " generator, if the job file was changed after it was sent and then restored, if a"
        " packaged program maps libraries from elsewhere in place of the system's, or if a process"
        " runs another program file than the one that was checked before the run (a script in its"
        " place, for example), apart from the dynamic loader; a note on preloaded libraries"
    ),
    advice=(
        "Find out what runs in place of the load generator on the host (command -v, type) and"
        " remove it, or put its options into the profile."
    ),
    source="/proc/PID/cmdline, environ, exe, maps and cwd of the load, 3 s into each step",
)
def planned_command(evidence: RunEvidence) -> Iterator[CheckResult | Unread]:
    """A wrapper with other options, or another job file, measures a load that differs from the
    record, and can still print the planned options.
    """
    count = len(evidence.plan.steps)
    ran = {
        host.name: [
            replace(row, step=step)
            for row in rows(host.facts, LoadCommand)
            for step in steps_of(row, count)
        ]
        for host in evidence.hosts
    }
    if not any(ran.values()):
        raise UnknownError("command-lines")
    read = {host: {row.step for row in found} for host, found in ran.items()}
    yield from unread_in_steps(evidence, read, "command-lines", range(count))
    yield from _elsewhere(evidence, ran)
    yield from _other_job(ran)
    yield from _other_words(evidence, ran)
    yield from _touched(ran)
    yield from _replaced(ran, evidence)
    yield from _other_programs(ran, evidence)
    yield from _preloaded(ran)


def _elsewhere(evidence: RunEvidence, ran: Rows) -> Iterator[CheckResult]:
    """Yield the hosts on which the load had other files open in place of the test files in any
    step: what was measured is not the target.
    """
    planned = {
        (step.index, task.host): task.files[0].path
        for step in evidence.plan.steps
        for task in step.tasks
        if task.files
    }
    found: dict[str, LoadCommand] = {}
    for host, row in ((host, row) for host, each in ran.items() for row in each):
        if row.elsewhere:
            found.setdefault(host, row)
    if found:
        host, row = next(iter(found.items()))
        paths, file = row.elsewhere.split(":"), planned.get((row.step, host), "")
        scope: dict[str, Scalar] = {"hosts": " ".join(found)}
        operands: Operands = {"hosts": list(found), "paths": paths, "planned": file}
        yield CheckResult("error", "elsewhere", paths[0], file, scope, operands)


def _touched(ran: Rows) -> Iterator[CheckResult]:
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


def _replaced(ran: Rows, evidence: RunEvidence) -> Iterator[CheckResult]:
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


def _other_programs(ran: Rows, evidence: RunEvidence) -> Iterator[CheckResult]:
    """Yield hosts on which another program than the one that was checked did the I/O: what starts
    it may change its arguments and its output.
    """
    tools = {step.index: step.tool for step in evidence.plan.steps}
    found: dict[str, tuple[str, str]] = {}
    for host in evidence.hosts:
        for row in ran[host.name]:
            if row.program and not IS_LOADER.fullmatch(posixpath.basename(row.program)):
                checked = str(host.facts.get(f"{tools.get(row.step)}_path") or "")
                found.setdefault(host.name, (row.program, checked))
    if found:
        scope: dict[str, Scalar] = {"hosts": " ".join(found)}
        program, checked = next(iter(found.values()))
        operands: Operands = {"hosts": list(found), "ran": program, "checked": checked}
        yield CheckResult("warning", "other-program", program, checked, scope, operands)


def _other_job(ran: Rows) -> Iterator[CheckResult]:
    hosts = [host for host, found in ran.items() if any(row.other_job for row in found)]
    if hosts:
        scope: dict[str, Scalar] = {"hosts": " ".join(hosts)}
        yield CheckResult("error", "other-job", "other", "as planned", scope, {"hosts": hosts})


class AddedWords(Struct, frozen=True):
    """Words that were added to a planned command line: before the load generator, and to its own
    arguments. `program`: the load generator, empty if its name does not occur.
    """

    starter: tuple[str, ...] = ()
    program: str = ""
    own: tuple[str, ...] = ()


def _other_words(evidence: RunEvidence, ran: Rows) -> Iterator[CheckResult]:
    """Yield the hosts on which arguments differ from the plan in any step, then those on which
    arguments were added that change the load, then those with other additions.
    """
    tasks = {
        (step.index, task.host): (step, task) for step in evidence.plan.steps for task in step.tasks
    }
    kinds: dict[str, dict[str, Operands]] = {"other": {}, "changing": {}, "more": {}}
    for host, row in ((host, row) for host, found in ran.items() for row in found if row.words):
        step, task = tasks.get((row.step, host), (None, None))
        if step is None or task is None or not task.argv[1:]:
            continue
        words = added_words(row.words, task.argv)
        if words is not None and not words.starter and not words.own:
            continue
        if not task.files and _starts_the_load(words, row, ran[host], task.argv):
            continue
        tool = workloads.find(step.tool) if words is not None and words.own else None
        changing = _changing(tool, words) if tool is not None and words is not None else []
        kind = "other" if words is None else "changing" if changing else "more"
        kinds[kind].setdefault(
            host,
            {
                "ran": row.words[:MOST_SHOWN],
                "planned": " ".join(task.argv[1:]),
                "words": " ".join(changing)[:MOST_SHOWN],
            },
        )
    for kind, hosts in kinds.items():
        for about in list(hosts.values())[:1]:
            scope: dict[str, Scalar] = {"hosts": " ".join(hosts)}
            severity: Severity = "warning" if kind == "more" else "error"
            operands: Operands = {"hosts": list(hosts), **about}
            yield CheckResult(severity, kind, about["ran"], about["planned"], scope, operands)


def _starts_the_load(
    words: AddedWords | None, row: LoadCommand, found: Sequence[LoadCommand], planned: Sequence[str]
) -> bool:
    """Return whether this process waits for the load, which is another process of the same step.

    Over a network a script in the load's place cannot be told from it by open files.
    """
    if words is not None and not words.starter:
        return False
    others = [added_words(each.words, planned) for each in found if each.step == row.step]
    return any(each is not None and not each.starter for each in others)


def added_words(command: str, planned: Sequence[str]) -> AddedWords | None:
    """Return what was added to a planned command line; None if planned arguments are missing.

    The dynamic loader may come first, with its options: it starts a program that comes with its own
    C library.
    """
    words = command.split(" ")
    wanted = " ".join(planned[1:]).split(" ")
    if words[1:] == wanted:
        return AddedWords(program=words[0])
    name = posixpath.basename(planned[0])
    places = [at for at, word in enumerate(words) if posixpath.basename(word).startswith(name)]
    first = places[0] if places else 0
    added = _added(words[first + 1 :], wanted)
    if added is None:
        return None
    program = words[first] if places else ""
    starter = () if LOADER.fullmatch(" ".join(words[:first])) else tuple(words[:first])
    return AddedWords(starter, program, tuple(added))


def _added(words: Sequence[str], wanted: Sequence[str]) -> list[str] | None:
    """Return the words besides those wanted; None unless all of these occur in their order."""
    added, left = [], list(wanted)
    for word in words:
        if left and word == left[0]:
            del left[0]
        else:
            added.append(word)
    return None if left else added


def _changing(tool: Workload, words: AddedWords) -> Sequence[str]:
    """Return the added words that change the load.

    If the program has another name, words without a hyphen may be of what starts it.
    """
    own = words.own if words.program else [word for word in words.own if word.startswith("-")]
    return tool.changing_words(own)


def _preloaded(ran: Rows) -> Iterator[CheckResult]:
    known = {
        host: list(dict.fromkeys(row.preload for row in found if row.preload))
        for host, found in ran.items()
    }
    with_some = {host: libraries for host, libraries in known.items() if libraries}
    if with_some:
        scope: dict[str, Scalar] = {"hosts": " ".join(with_some)}
        operands: Operands = {"libraries": list(with_some.items())}
        yield CheckResult("info", "preloaded", len(with_some), 0, scope, operands)
