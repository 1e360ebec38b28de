"""JSON of fio that was kept: as fio printed it, or as other programs wrote it again, with whatever stands around it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import field

from tui.model.no_json import NO_JSON
from tui.model.plan import JobLoad
from tui.model.problem import Problem, UsageError
from tui.workloads.base import ImportedOutput
from tui.workloads.budget import budget
from tui.workloads.fio.framing import Framer
from tui.workloads.fio.loads import job_loads
from tui.workloads.fio.options import JobOptions
from tui.workloads.fio.plan import timing
from tui.workloads.fio.results import kept_result
from tui.workloads.fio.snapshot import NOT_A_NUMBER, Count, Job, Snapshot, Stamp
from tui.workloads.lines import BLOCK

ALL_CLIENTS = "All clients"
VERSION = "fio version"
SAME_BEGIN_S = 2.5  # snapshots of one fio: its clock less its age, which is rounded up to seconds
DEEPEST = 3  # how deep other programs put fio's objects into theirs
_BEGIN = re.compile(r'^[ \t]*(?:\{(?=\s*")|\[(?=\s*[{\[]))', re.MULTILINE)
WASTED = 8  # times the text may be looked through for objects in vain


class KeptJob(Job):
    """One entry of ``jobs`` or ``client_stats``. `elapsed`: seconds since fio began."""

    hostname: str = ""
    port: int = 0
    elapsed: Count = 0


class Document(msgspec.Struct):
    """An object of fio whole, of one process or of a client over its servers, whose stamp is in seconds."""

    timestamp_ms: Stamp = 0
    timestamp: Stamp = 0
    version: str = field(name=VERSION, default="")
    shared: dict[str, Any] | list[dict[str, Any]] = field(name="global options", default_factory=dict)
    jobs: list[KeptJob] = field(default_factory=list)
    clients: list[KeptJob] = field(name="client_stats", default_factory=list)

    @property
    def stamp_ms(self) -> int:
        """When it was printed; of a client, when it began to print."""
        return self.timestamp_ms or self.timestamp * 1000

    def shared_by(self, host: str, port: int) -> dict[str, str]:
        """Return the global options of one host; newer clients tell those of each."""
        parts = self.shared if isinstance(self.shared, list) else [self.shared]
        own = [part for part in parts if part.get("hostname", host) == host and part.get("port", port) == port]
        told = own[0] if own else {}
        return {name: str(value) for name, value in told.items() if name not in ("hostname", "port")}

    def is_of_same(self, other: Document) -> bool:
        """Tell whether an earlier one is of the same fio, which printed its state again and again."""
        if not self.jobs or [(job.jobname, job.groupid) for job in self.jobs] != [
            (job.jobname, job.groupid) for job in other.jobs
        ]:
            return False
        idle = not any(part.total_ios for job in other.jobs for part in job.directions().values())
        return idle or abs(self._begun_s() - other._begun_s()) <= SAME_BEGIN_S

    def _begun_s(self) -> float:
        return self.stamp_ms / 1000 - max(job.elapsed for job in self.jobs)


_decoder = msgspec.json.Decoder(Document, strict=False)


def json_outputs(text: str, file: str) -> list[ImportedOutput]:
    """Return every output in a text; of a fio that printed its state again and again the last. Raises UsageError."""
    kept: list[Document] = []
    for line, data in _objects(text, file):
        document = _decoded(data, file, line)
        if kept and document.is_of_same(kept[-1]):
            kept.pop()
        kept.append(document)
    return [output for place, document in enumerate(kept) for output in _outputs(document, place)]


def _objects(text: str, file: str) -> Iterator[tuple[int, bytes]]:
    """Yield fio's objects, each with its line."""
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
    """Yield the objects that stand on lines of their own, as fio prints them."""
    framer, limits = Framer(), budget()
    for start in range(0, len(text), BLOCK):
        limits.check(file)
        yield from (piece for piece in framer.feed(text[start : start + BLOCK].encode()) if isinstance(piece, bytes))
    yield from (piece for piece in framer.close() if isinstance(piece, bytes))


def _inner(text: str, file: str) -> Iterator[tuple[int, bytes]]:
    """Yield fio's objects in what other programs wrote: in lists, on one line, indented in their own way."""
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
            wasted += 2 * getattr(error, "pos", len(text)) - at  # it also counts the lines before its place
            continue
        for each in _of_fio(value):
            none = False
            yield line, json.dumps(each).encode()
    if none:
        raise UsageError([Problem("the JSON ends in the middle of an object", file=file, line=text.count("\n") + 1)])


def _of_fio(value: object, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield fio's objects within another one."""
    if isinstance(value, dict) and VERSION in value:
        yield value
    elif depth < DEEPEST and isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _of_fio(each, depth + 1)


def _decoded(data: bytes, file: str, line: int) -> Document:
    budget().check_json(data, file)
    try:
        return _decoder.decode(NOT_A_NUMBER.sub(rb"\g<1>0", data))
    except NO_JSON as error:
        raise UsageError([Problem(f"is no output of fio: {error}", file=file, line=line)]) from None


def _outputs(found: Document, place: int) -> Iterator[ImportedOutput]:
    """Yield what each host did."""
    for (host, port), (name, jobs) in _hosts(found).items():
        shared = found.shared_by(host, port)
        snapshot = Snapshot(found.stamp_ms, found.version, list(jobs))
        options = {job.jobname: JobOptions(job.jobname, shared, job.options) for job in jobs}
        loads, runtime_s = planned(list(options.values()))
        result = kept_result(snapshot, place)
        if not found.stamp_ms:
            result.end_ms = None
        stamp_error_s = 0.001 if found.timestamp_ms or result.start_ms else 1.0
        yield ImportedOutput(place, ", ".join(options), result, name, loads, runtime_s, stamp_error_s=stamp_error_s)


def _hosts(found: Document) -> dict[tuple[str, int], tuple[str, list[KeptJob]]]:
    """Return the jobs of each host under its name: with the port where several are on one host."""
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
    """Return what jobs are in the field's words, and their runtime; nothing where their options cannot be read."""
    try:
        return job_loads(jobs), timing(jobs).runtime_s
    except UsageError:
        return [], None
