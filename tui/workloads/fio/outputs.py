"""Output of fio that was kept: as JSON, or as it prints for people, with whatever stands around it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import field

from tui.model.plan import JobLoad
from tui.model.problem import Problem, UsageError
from tui.workloads.base import ImportedOutput
from tui.workloads.fio.framing import Framer
from tui.workloads.fio.loads import job_loads
from tui.workloads.fio.options import JobOptions
from tui.workloads.fio.plan import timing
from tui.workloads.fio.results import host_result
from tui.workloads.fio.snapshot import NOT_A_NUMBER, Job, Snapshot
from tui.workloads.fio.text_output import Printed, printed_outputs

ALL_CLIENTS = "All clients"
STAMP_ERROR_S = 1.0
UNTOLD = "not told in the output"


class ClientJob(Job):
    """One entry of ``client_stats``."""

    hostname: str = ""


class Document(Snapshot):
    """An object of fio whole, of one process or of a client over its servers."""

    shared: dict[str, str] = field(name="global options", default_factory=dict)
    clients: list[ClientJob] = field(name="client_stats", default_factory=list)


_decoder = msgspec.json.Decoder(Document, strict=False)


def import_output(text: str, file: str) -> Sequence[ImportedOutput]:
    """Return every output in a text; of a fio that printed its state again and again the last. Raises UsageError."""
    framer = Framer()
    data = text.replace("\r\n", "\n").encode()
    pieces = [*framer.feed(data), *framer.close()]
    objects = [piece for piece in pieces if isinstance(piece, bytes) and b'"fio version"' in piece]
    if not objects and framer.cut and '"fio version"' in text:
        raise UsageError([Problem("the JSON ends in the middle of an object", file=file, line=text.count("\n") + 1)])
    if objects:
        return list(_of_json(objects[-1], text, file))
    return list(_of_text(printed_outputs(text, file)))


def _of_json(data: bytes, text: str, file: str) -> Iterator[ImportedOutput]:
    try:
        found = _decoder.decode(NOT_A_NUMBER.sub(rb"\g<1>0", data))
    except msgspec.DecodeError as error:
        line = text[: text.find(data.decode())].count("\n") + 1
        raise UsageError([Problem(f"is no output of fio: {error}", file=file, line=line)]) from None
    hosts: dict[str, list[Job]] = {"": found.jobs} if found.jobs else {}
    for job in found.clients:
        if job.jobname != ALL_CLIENTS:
            hosts.setdefault(job.hostname, []).append(job)
    for host, jobs in hosts.items():
        snapshot = Snapshot(found.timestamp_ms, found.version, list(jobs))
        options = {job.jobname: JobOptions(job.jobname, found.shared, job.options) for job in jobs}
        loads, runtime_s = _planned(list(options.values()))
        result = host_result(snapshot, host, 0, final=True)
        yield ImportedOutput(0, ", ".join(options), result, host, loads, runtime_s)


def _of_text(found: Sequence[Printed]) -> Iterator[ImportedOutput]:
    place = -1
    before: Printed | None = None
    for each in found:
        again = before is not None and each.host and before.host and each.host != before.host
        if each.sections[0].job.jobname == ALL_CLIENTS and before is not None and before.host:
            continue
        place, before = place if again else place + 1, each
        yield _of_one(each, place)


def _of_one(printed: Printed, place: int) -> ImportedOutput:
    jobs = [section.job for section in printed.sections]
    ended = [section.ended_s for section in printed.sections if section.ended_s is not None]
    result = host_result(Snapshot(round(max(ended, default=0.0) * 1000), printed.version, jobs), "", 0, final=True)
    if not ended:
        result.end_ms = None
    names = dict.fromkeys(job.jobname for job in jobs)
    told = command_options(printed.command) if printed.command else []
    loads, runtime_s = _planned(told) if told else (_from_lines(printed), None)
    return ImportedOutput(
        place, ", ".join(names), result, printed.host, loads, runtime_s, printed.command, STAMP_ERROR_S
    )


def _planned(jobs: Sequence[JobOptions]) -> tuple[list[JobLoad], float | None]:
    """Return what jobs are in the field's words, and their runtime; nothing where their options cannot be read."""
    try:
        return job_loads(jobs), timing(jobs).runtime_s
    except UsageError:
        return [], None


def _from_lines(printed: Printed) -> list[JobLoad]:
    """Return the load as far as fio's first words on each job tell it; whether it synced, they do not."""
    workers: dict[str, int] = {}
    for section in printed.sections:
        workers[section.job.jobname] = workers.get(section.job.jobname, 0) + section.workers
    if not set(workers) <= set(printed.lines):
        return []
    own = {name: {**printed.lines[name], "numjobs": str(count)} for name, count in workers.items()}
    loads, _ = _planned([JobOptions(name, {}, options) for name, options in own.items()])
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
