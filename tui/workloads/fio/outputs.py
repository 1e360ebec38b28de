"""Read saved fio output: JSON, terse, or text."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import field

from tui.model.bounded import NO_JSON
from tui.model.event import Contradiction, HostResult
from tui.model.plan import JobLoad
from tui.model.problem import Problem, UsageError
from tui.workloads.base import BesideLogs, ImportedOutput, KeptFile
from tui.workloads.fio.contradictions import contradictions, printed, with_one_value
from tui.workloads.fio.load_options import command_options, load_options
from tui.workloads.fio.loads import job_loads, moved_bytes, waves
from tui.workloads.fio.log_figures import compared
from tui.workloads.fio.options import JobOptions
from tui.workloads.fio.printed import ENDED, RAMPS, has
from tui.workloads.fio.results import entries_of, kept_result, length_ms
from tui.workloads.fio.snapshot import (
    ALL_CLIENTS,
    NOT_A_NUMBER,
    Count,
    JsonSplitter,
    Snapshot,
    Stamp,
    StatusDirection,
    StatusJob,
)
from tui.workloads.fio.terse_output import TerseJob, runs_of, terse_blocks
from tui.workloads.fio.terse_output import contradictions as terse_contradictions
from tui.workloads.fio.text_contradictions import all_contradictions, is_sum
from tui.workloads.fio.text_output import Printed, printed_outputs
from tui.workloads.reading import BLOCK, budget

VERSION = "fio version"
PAUSE_S = 1.0  # between phases: layout, start of the workers
SAME_BEGIN_S = 2.5  # snapshots of one fio: its clock less its age, which is rounded up to seconds
DEEPEST = 3  # how deep fio's objects may be nested in those of other programs
_BEGIN = re.compile(r'^[ \t]*(?:\{(?=\s*")|\[(?=\s*[{\[]))', re.MULTILINE)
WASTED = 8  # times the text may be searched for objects without success


class KeptJob(StatusJob):
    """One entry of ``jobs`` or ``client_stats``. `elapsed`: seconds since fio started."""

    hostname: str = ""
    port: int = 0
    elapsed: Count = 0


class FioDocument(msgspec.Struct):
    """A complete JSON object of fio, from one process or from a client with servers."""

    timestamp_ms: Stamp = 0
    timestamp: Stamp = 0
    version: str = field(name=VERSION, default="")
    shared: dict[str, Any] | list[dict[str, Any]] = field(
        name="global options", default_factory=dict
    )
    jobs: list[KeptJob] = field(default_factory=list)
    clients: list[KeptJob] = field(name="client_stats", default_factory=list)

    @property
    def stamp_ms(self) -> int:
        """Epoch milliseconds when it was printed; for a client, when printing began."""
        return self.timestamp_ms or self.timestamp * 1000

    def shared_by(self, host: str, port: int) -> dict[str, str]:
        """Return the global options of one host, which newer clients print per host."""
        parts = self.shared if isinstance(self.shared, list) else [self.shared]
        own = [
            part
            for part in parts
            if part.get("hostname", host) == host and part.get("port", port) == port
        ]
        first = own[0] if own else {}
        return {
            name: str(value) for name, value in first.items() if name not in ("hostname", "port")
        }

    def is_of_same(self, other: FioDocument) -> bool:
        """Return whether another object is an earlier state printed by the same fio."""
        if not self.jobs or [(job.jobname, job.groupid) for job in self.jobs] != [
            (job.jobname, job.groupid) for job in other.jobs
        ]:
            return False
        idle = not any(part.total_ios for job in other.jobs for part in job.directions().values())
        return idle or abs(self._begun_s() - other._begun_s()) <= SAME_BEGIN_S

    def _begun_s(self) -> float:
        return self.stamp_ms / 1000 - max(job.elapsed for job in self.jobs)


_decoder = msgspec.json.Decoder(FioDocument, strict=False)


def json_outputs(text: str, file: str) -> list[ImportedOutput]:
    """Return every JSON output in a text; for repeated states, the last one.

    Raises UsageError.
    """
    kept: list[tuple[FioDocument, bytes]] = []
    fell: dict[int, list[Contradiction]] = {}
    for line, data in _objects(text, file):
        document = _decoded(data, file, line)
        if kept and document.is_of_same(kept[-1][0]):
            before, shared = kept.pop()[0], document.shared_by("", 0)
            fell.setdefault(len(kept), []).extend(fallen(before.jobs, document.jobs, shared))
        kept.append((document, data))
    found = _numbered(
        [
            output
            for place, each in enumerate(kept)
            for output in _outputs(*each, place, fell.get(place, []))
        ]
    )
    if found and _is_cut(text):
        found[-1].result.final = False
    return found


def _is_cut(text: str) -> bool:
    """Return whether a stream ends within an object, so that the last complete one is
    intermediate.
    """
    return text.rfind("\n{\n") > text.rfind("\n}\n") > 0


def _objects(text: str, file: str) -> Iterator[tuple[int, bytes]]:
    """Yield fio's JSON objects, each with its line number."""
    named, none = f'"{VERSION}"', True
    if named not in text:
        return
    at, counted, line = 0, 0, 1
    for piece in _framed(text, file):
        if named.encode() not in piece:
            continue
        none = False
        at = max(text.find(piece.decode(), at), at)
        line, counted = line + text.count("\n", counted, at), at
        yield line, piece
        at += len(piece)
    if none:
        yield from _inner(text, file)


def _framed(text: str, file: str) -> Iterator[bytes]:
    """Yield JSON objects whose braces are on separate lines, as fio prints them."""
    framer, limits = JsonSplitter(), budget()
    for start in range(0, len(text), BLOCK):
        limits.check(file)
        yield from (
            piece
            for piece in framer.feed(text[start : start + BLOCK].encode())
            if isinstance(piece, bytes)
        )
    yield from (piece for piece in framer.close() if isinstance(piece, bytes))


def _inner(text: str, file: str) -> Iterator[tuple[int, bytes]]:
    """Yield fio's JSON objects within output of other programs: in lists, on one line, or
    reindented.
    """
    decoder, at, none, limits = json.JSONDecoder(), 0, True, budget()
    limits.check_json(text, file)
    counted, line, wasted = 0, 1, 0
    while (match := _BEGIN.search(text, at)) and wasted <= WASTED * len(text):
        limits.check(file)
        line, counted = line + text.count("\n", counted, match.end()), match.end()
        try:
            value, at = decoder.raw_decode(text, match.end() - 1)
        except (ValueError, RecursionError) as error:
            at = match.end()
            # the error also counts the lines before its place
            wasted += 2 * getattr(error, "pos", len(text)) - at
            continue
        for each in _of_fio(value):
            none = False
            yield line, json.dumps(each).encode()
    if none:
        raise UsageError(
            [
                Problem(
                    "the fio JSON ends in the middle of an object",
                    file=file,
                    line=text.count("\n") + 1,
                )
            ]
        )


def _of_fio(value: object, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield fio's JSON objects nested within another object."""
    if isinstance(value, dict) and VERSION in value:
        yield value
    elif depth < DEEPEST and isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _of_fio(each, depth + 1)


def _decoded(data: bytes, file: str, line: int) -> FioDocument:
    budget().check_json(data, file)
    try:
        return _decoder.decode(NOT_A_NUMBER.sub(rb"\g<1>0", data))
    except NO_JSON as error:
        raise UsageError(
            [Problem(f"cannot read fio JSON: {error}", file=file, line=line)]
        ) from None


JobPhase = tuple[Sequence[StatusJob], Sequence[Contradiction] | None]
"""Entries that ran at the same time, and their contradictions."""


def _phases(
    groups: Sequence[Sequence[StatusJob]], wrong: Sequence[Contradiction] | None
) -> list[JobPhase]:
    """Return groups of entries that ran one after the other, each with its contradictions.

    Contradictions that belong to no job go to the first group; those of a job that is in several
    groups go to the first of these.
    """
    if wrong is None or len(groups) < 2:
        return [(jobs, wrong) for jobs in groups]
    own: list[list[Contradiction]] = [[] for _ in groups]
    for each in wrong:
        named = (at for at, jobs in enumerate(groups) if each.job in {job.jobname for job in jobs})
        own[next(named, 0)].append(each)
    return list(zip(groups, own, strict=True))


def _numbered(found: Sequence[tuple[int, ImportedOutput]]) -> list[ImportedOutput]:
    """Return outputs with consecutive places: one for each phase of each place."""
    places = sorted({(output.place, phase) for phase, output in found})
    return [
        msgspec.structs.replace(output, place=places.index((output.place, phase)))
        for phase, output in found
    ]


def _outputs(
    found: FioDocument, data: bytes, place: int, fell: Sequence[Contradiction]
) -> Iterator[tuple[int, ImportedOutput]]:
    """Yield the output of each host and phase, with the number of the phase."""
    try:
        wrong = contradictions(data, found.shared_by)
    except UsageError:  # options in an unknown form
        wrong = {}
    for (host, port), (name, jobs) in _hosts(found).items():
        shared = found.shared_by(host, port)
        own = wrong.get((host, port))
        groups = _by_group(jobs, max(job.elapsed for job in jobs))
        phases = _phases(groups, None if own is None else [*own, *fell])
        for phase, (entries, contradicted) in enumerate(phases):
            left_ms = sum(length_ms(later) for later, _ in phases[phase + 1 :])
            stamp_ms = max(found.stamp_ms - left_ms, 0)
            snapshot = Snapshot(stamp_ms, found.version, list(entries)).with_shared(shared)
            options = _sections(entries, shared)
            loads, runtime_s = planned(options)
            result = _imported_result(snapshot, place)
            result.contradictions = None if contradicted is None else list(contradicted)
            if _moved_all(options, result, runtime_s):
                runtime_s = None  # a limit that was not reached
            if not found.stamp_ms:
                result.end_ms = None
            stamp_error_s = 0.001 if found.timestamp_ms or result.start_ms else 1.0
            if left_ms and not result.start_ms:
                stamp_error_s += PAUSE_S * (len(phases) - phase - 1)
            output = ImportedOutput(
                place,
                _names(entries),
                result,
                name,
                loads,
                runtime_s,
                stamp_error_s=stamp_error_s,
                options=load_options(options),
            )
            yield phase, output


def _names(jobs: Sequence[StatusJob]) -> str:
    return ", ".join(dict.fromkeys(job.jobname for job in jobs))


def _imported_result(snapshot: Snapshot, place: int) -> HostResult:
    result = kept_result(snapshot, place)
    result.entries = entries_of(snapshot.jobs)
    return result


def beside_logs(file: KeptFile, logs: Sequence[KeptFile]) -> BesideLogs:
    """Return the comparison of the JSON of one run with its logs.

    Empty for any other file, and for output of several runs or hosts.
    """
    whole = [
        (document, data)
        for line, data in _objects(file.text, file.place)
        if (document := _decoded(data, file.place, line)).jobs
    ]
    if not whole or any(not whole[-1][0].is_of_same(each) for each, _ in whole[:-1]):
        return BesideLogs()
    document, data = whole[-1]
    found = printed(data)
    shared = with_one_value(data, document.shared_by("", 0))
    return BesideLogs() if found is None else compared(found, shared, logs)


def _sections(jobs: Sequence[StatusJob], shared: Mapping[str, str]) -> list[JobOptions]:
    """Return the job sections; workers with the same name and options belong to one section."""
    if any(job.options.get("name", job.jobname) != job.jobname for job in jobs):
        return []  # a group of several jobs has the options of the last one
    found = {(job.jobname, *sorted(job.options.items())): job for job in jobs}
    return [JobOptions(job.jobname, shared, job.options) for job in found.values()]


def _moved_all(jobs: Collection[JobOptions], result: HostResult, runtime_s: float | None) -> bool:
    """Return whether jobs ended before their runtime because all of their data was done.

    fio does not print time_based if it was given without a value.
    """
    try:
        due = [moved_bytes(job) for job in jobs]
    except UsageError:
        return False
    moved = sum(part.bytes for part in result.dirs.values())
    ran_s = max((part.runtime_s for part in result.dirs.values()), default=0.0)
    whole = sum(each or 0 for each in due)
    early = runtime_s is not None and ran_s < ENDED * runtime_s
    return early and all(due) and abs(moved / whole - 1) <= 1 - ENDED


def _hosts(found: FioDocument) -> dict[tuple[str, int], tuple[str, list[KeptJob]]]:
    """Return the name and jobs of each (host, port); the name includes the port if several are on
    one host.
    """
    if not found.clients:
        return {("", 0): ("", found.jobs)} if found.jobs else {}
    hosts: dict[tuple[str, int], list[KeptJob]] = {}
    for job in found.clients:
        if job.jobname != ALL_CLIENTS:
            hosts.setdefault((job.hostname, job.port), []).append(job)
    names = [host for host, _ in hosts]
    return {
        (host, port): (f"{host}:{port}" if names.count(host) > 1 else host, jobs)
        for (host, port), jobs in hosts.items()
    }


def planned(jobs: Sequence[JobOptions]) -> tuple[list[JobLoad], float | None]:
    """Return the jobs in common terms, and their runtime in seconds.

    The runtime is None unless every job has one. It starts after startdelay and ramp_time, as fio
    prints it. Unreadable options give no jobs, and None.
    """
    try:
        known = bool(jobs) and all(job.seconds("runtime") > 0 for job in jobs)
        longest = (max(job.seconds("runtime") for job in wave) for wave in waves(jobs))
        return job_loads(jobs), sum(longest) if known else None
    except UsageError:
        return [], None


def terse_outputs(text: str, file: str) -> list[ImportedOutput]:
    """Return the terse outputs in a text. Raises UsageError."""
    return _numbered(
        [
            output
            for place, (group, block) in enumerate(
                (group, block) for block in terse_blocks(text, file) for group in runs_of(block)
            )
            for output in _terse(place, group, block)
        ]
    )


def _terse(
    place: int, group: Sequence[TerseJob], block: Sequence[TerseJob]
) -> Iterator[tuple[int, ImportedOutput]]:
    wrong = terse_contradictions(group, block)
    phases = _phases(_by_group([each.job for each in group]), wrong)
    for phase, (jobs, contradicted) in enumerate(phases):
        result = _imported_result(Snapshot(0, group[0].version, list(jobs)), place)
        result.end_ms = None
        result.contradictions = None if contradicted is None else list(contradicted)
        mark_rounded(result, ROUNDED)
        yield phase, ImportedOutput(place, _names(jobs), result)


def _by_group(jobs: Sequence[StatusJob], elapsed_s: float | None = None) -> list[list[StatusJob]]:
    """Return the jobs by fio's reporting group.

    A stonewall, which fio does not print, begins a group; so does new_group. A group that new_group
    began ran together with the previous one if running all groups one after the other would have
    taken longer than fio ran (`elapsed_s`).
    """
    groups: dict[int, list[StatusJob]] = {}
    for job in jobs:
        groups.setdefault(job.groupid, []).append(job)
    together = elapsed_s is not None and sum(map(length_ms, groups.values())) > 1000 * elapsed_s
    found: list[list[StatusJob]] = []
    for group in groups.values():
        if found and together and any("new_group" in job.options for job in group):
            found[-1].extend(group)
        else:
            found.append(list(group))
    return found


STAMP_ERROR_S = 1.0
WAITS = ("stonewall", "wait_for_previous")
ROUNDED = ("ios", "bytes", "iops", "bw_bytes_per_s", "slat", "clat", "lat")
UNTOLD = "not in the output"
# to four digits, percentiles to their unit
PRINTED = ("bytes", "bw_bytes_per_s", "slat", "clat", "lat")


def import_output(text: str, file: str) -> Sequence[ImportedOutput]:
    """Return every fio output in a text; for repeated states, the last one.

    Raises UsageError.
    """
    text = text.replace("\r\n", "\n")
    return (
        json_outputs(text, file)
        or terse_outputs(text, file)
        or _numbered(list(_of_text(printed_outputs(text, file))))
    )


def _of_text(found: Sequence[Printed]) -> Iterator[tuple[int, ImportedOutput]]:
    """Yield human-readable outputs.

    The hosts of one client are one measurement; the client's own total is skipped.
    """
    place, clients, session = -1, set[str](), -1
    wrong = all_contradictions(found)
    for at, each in enumerate(found):
        if is_sum(each) and clients:
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
        yield from _of_one(each, place, name or each.prompt_host, wrong[at])


def _of_one(
    printed: Printed, place: int, host: str, wrong: Sequence[Contradiction] | None
) -> Iterator[tuple[int, ImportedOutput]]:
    """Yield each phase of one output: by stonewall of the command line, else by reporting group."""
    every = [section.job for section in printed.sections]
    ended = [section.ended_s for section in printed.sections if section.ended_s is not None]
    given = command_options(printed.command) if printed.command else []
    phases = _phases(_by_group(every), wrong)
    if given and not any(name in job.own for job in given for name in WAITS):
        phases = [(every, wrong)]  # groups, but at the same time
    engines = {line["ioengine"] for line in printed.lines.values()}
    shared = {"ioengine": engines.pop()} if len(engines) == 1 else {}
    for phase, (jobs, contradicted) in enumerate(phases):
        left_ms = sum(length_ms(later) for later, _ in phases[phase + 1 :])
        stamp_ms = max(round(max(ended, default=0.0) * 1000) - left_ms, 0)
        snapshot = Snapshot(stamp_ms, printed.version, list(jobs)).with_shared(shared)
        result = _imported_result(snapshot, place)
        result.contradictions = None if contradicted is None else list(contradicted)
        if not ended:
            result.end_ms = None
        names = {job.jobname for job in jobs}
        part = replace(
            printed,
            sections=[each for each in printed.sections if any(each.job is j for j in jobs)],
        )
        part.lines = {name: line for name, line in printed.lines.items() if name in names}
        counted = all(section.counted for section in part.sections)
        mark_rounded(result, PRINTED if counted else ("ios", "iops", *PRINTED))
        own = [job for job in given if job.name in names] or given
        lines = [] if given else _from_lines(part)
        loads, runtime_s = planned(own) if given else (_without_syncs(lines), None)
        output = ImportedOutput(
            place,
            _names(jobs),
            result,
            host,
            loads,
            runtime_s,
            printed.command,
            STAMP_ERROR_S + PAUSE_S * (len(phases) - phase - 1),
            options=load_options(own if given else lines, complete=bool(given)),
        )
        yield phase, output


def mark_rounded(result: HostResult, names: Sequence[str]) -> None:
    """Mark these figures as rounded in every direction: the output has few digits."""
    for dirs in (result.dirs, *result.jobs.values(), *result.entries.values()):
        for part in dirs.values():
            part.rounded = [name for name in names if getattr(part, name) is not None]


def _from_lines(printed: Printed) -> list[JobOptions]:
    """Return the options in the first line that fio prints for each job."""
    workers: dict[str, int] = {}
    for section in printed.sections:
        workers[section.job.jobname] = workers.get(section.job.jobname, 0) + section.workers
    if not set(workers) <= set(printed.lines):
        return []
    if set(workers) != set(printed.lines) and max(workers.values()) > 1:
        return []  # one group of several jobs, under the name of the first
    own = {name: {**printed.lines[name], "numjobs": str(count)} for name, count in workers.items()}
    return [JobOptions(name, {}, options) for name, options in own.items()]


def _without_syncs(jobs: Sequence[JobOptions]) -> list[JobLoad]:
    """Return the loads of jobs whose syncs are unknown: the lines of jobs do not show them."""
    loads, _ = planned(jobs)
    return [msgspec.structs.replace(load, durable=UNTOLD) for load in loads]


# -- compare consecutive states that one fio printed (--status-interval)


RESETTING = (*RAMPS, "latency_target", "steadystate", "verify", "loops")


def fallen(
    before: Sequence[StatusJob], after: Sequence[StatusJob], shared: Mapping[str, str]
) -> Iterator[Contradiction]:
    """Yield counts and maxima that fell, and minima that rose, from one state to the next.

    fio counts from the start of a job; some options restart it.
    """
    for then, now in zip(before, after, strict=False):
        if has(JobOptions(now.jobname, shared, now.options), RESETTING):
            continue
        earlier = then.directions()
        for name, part in now.directions().items():
            if name in earlier and earlier[name].total_ios:
                for was, became in _lower(earlier[name], part):
                    yield Contradiction("fell", became, was, now.jobname, name)


def _lower(then: StatusDirection, now: StatusDirection) -> Iterator[tuple[float, float]]:
    """Yield (before, after) of figures that only grow."""
    pairs = [(then.total_ios, now.total_ios), (then.io_bytes, now.io_bytes)]
    for was, became in ((then.clat, now.clat), (then.lat, now.lat), (then.slat, now.slat)):
        if was is not None and became is not None and was.n:
            pairs += [(was.n, became.n), (round(was.max), round(became.max))]
            if became.n and was.min < became.min:
                yield was.min, became.min
    yield from ((was, became) for was, became in pairs if became < was)
