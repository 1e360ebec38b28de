"""Output of fio that was kept: as JSON, as terse lines, or as it prints for people, with whatever stands around it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import msgspec

from tui.model.event import HostResult
from tui.model.plan import JobLoad
from tui.workloads.base import ImportedOutput
from tui.workloads.fio.kept_json import ALL_CLIENTS, json_outputs, planned
from tui.workloads.fio.options import JobOptions
from tui.workloads.fio.results import kept_result
from tui.workloads.fio.snapshot import Snapshot
from tui.workloads.fio.terse import terse_outputs
from tui.workloads.fio.text_output import Printed, printed_outputs

STAMP_ERROR_S = 1.0
UNTOLD = "not told in the output"
PRINTED = ("bytes", "bw_bytes_per_s", "slat", "clat", "lat")  # to four digits, percentiles to their unit


def import_output(text: str, file: str) -> Sequence[ImportedOutput]:
    """Return every output in a text; of a fio that printed its state again and again the last. Raises UsageError."""
    text = text.replace("\r\n", "\n")
    return json_outputs(text, file) or terse_outputs(text, file) or list(_of_text(printed_outputs(text, file)))


def _of_text(found: Sequence[Printed]) -> Iterator[ImportedOutput]:
    """Yield printed outputs; those of one client are of one measurement, whose sum is left out."""
    place, clients, session = -1, set[str](), -1
    for each in found:
        if each.sections[0].job.jobname == ALL_CLIENTS and clients:
            clients = set()
            continue
        if not each.host or not clients or each.session != session:
            place, clients = place + 1, set()
        session = each.session
        name = each.host
        while name in clients:  # several of them are on one machine
            stem, _, count = name.rpartition("#")
            name = f"{stem}#{int(count) + 1}" if stem and count.isdigit() else f"{name}#2"
        if name:
            clients.add(name)
        yield _of_one(each, place, name or each.prompt_host)


def _of_one(printed: Printed, place: int, host: str) -> ImportedOutput:
    jobs = [section.job for section in printed.sections]
    ended = [section.ended_s for section in printed.sections if section.ended_s is not None]
    stamp_ms = round(max(ended, default=0.0) * 1000)
    result = kept_result(Snapshot(stamp_ms, printed.version, list(jobs)), place)
    if not ended:
        result.end_ms = None
    counted = all(section.counted for section in printed.sections)
    mark_rounded(result, PRINTED if counted else ("ios", "iops", *PRINTED))
    names = dict.fromkeys(job.jobname for job in jobs)
    told = command_options(printed.command) if printed.command else []
    loads, runtime_s = planned(told) if told else (_from_lines(printed), None)
    return ImportedOutput(place, ", ".join(names), result, host, loads, runtime_s, printed.command, STAMP_ERROR_S)


def mark_rounded(result: HostResult, names: Sequence[str]) -> None:
    """Mark figures of all directions as known only as they were printed."""
    for dirs in (result.dirs, *result.jobs.values()):
        for part in dirs.values():
            part.rounded = [name for name in names if getattr(part, name) is not None]


def _from_lines(printed: Printed) -> list[JobLoad]:
    """Return the load as far as fio's first words on each job tell it; whether it synced, they do not."""
    workers: dict[str, int] = {}
    for section in printed.sections:
        workers[section.job.jobname] = workers.get(section.job.jobname, 0) + section.workers
    if not set(workers) <= set(printed.lines):
        return []
    own = {name: {**printed.lines[name], "numjobs": str(count)} for name, count in workers.items()}
    loads, _ = planned([JobOptions(name, {}, options) for name, options in own.items()])
    return [msgspec.structs.replace(load, durable=UNTOLD) for load in loads]


def command_options(command: str) -> list[JobOptions]:
    """Return the jobs of a command line: options before the first name are those of all, when there are several."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    shared: dict[str, str] = {}
    jobs: list[tuple[str, dict[str, str]]] = []
    for name, value in _words(words):
        if name == "name":
            jobs.append((value, {}))
        elif name.startswith(("output", "eta", "status-interval")):
            continue
        else:
            (jobs[-1][1] if jobs else shared)[name] = value
    return [JobOptions(name, shared, own) for name, own in jobs] if shared or jobs else []


def _words(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield options with their values: ``-bs=8k``, ``--bs=8k``, ``-iodepth 1``, ``-thread``."""
    for place, word in enumerate(words):
        if not word.startswith("-"):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        following = words[place + 1] if place + 1 < len(words) else "-"
        yield name, value if equals else "1" if following.startswith("-") else following
