"""Read the output of one fio command: samples, log lines, result, explained messages."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec
from msgspec import Struct, field

from tui.model.event import Contradiction, HostResult, PhaseName, Sample, Severity
from tui.model.operands import Clause, Told, clause, unique
from tui.model.plain import some
from tui.model.plan import Step
from tui.model.quantities import parse_duration, parse_size
from tui.text.form import Text
from tui.workloads.base import LatencyKind, LogLine
from tui.workloads.fio.option_table import by_name
from tui.workloads.fio.options import sections
from tui.workloads.fio.results import Meter, host_result
from tui.workloads.fio.snapshot import JsonSplitter, SnapshotError, StatusJob, decode
from tui.workloads.messages import BUCKET, Explainer, http_error_text, rule, silent, texts_of
from tui.workloads.reading import OTHER_JOB, LineSplitter

STATUS_COLLECTOR = 35
HTTP_STATUS = "fio-http-status"

_ERRNO_HINTS = {
    errno.EIO: "the storage returned an I/O error; see the host's kernel log",
    errno.ENOSPC: "no space left on the file system under test",
    errno.EACCES: "permission denied",
    errno.EPERM: "not permitted",
    errno.EROFS: "the file system is read-only",
    errno.ENOENT: "a file or directory does not exist",
    errno.EINVAL: (
        "the file system or device rejected the request; often it does not support direct=1"
        " or this block size"
    ),
    errno.EDQUOT: "disk quota exceeded",
    errno.ESTALE: "stale file handle: the file system was remounted, or the server lost the file",
    errno.ETIMEDOUT: "the storage did not answer in time",
    errno.ENOMEM: "the host is out of memory",
    errno.EMFILE: "too many open files: raise the limit (ulimit -n), or set openfiles",
    errno.EAGAIN: "the host reached a resource limit; for libaio see fs.aio-max-nr",
    errno.EILSEQ: "verification failed: the data read differ from the data written",
    STATUS_COLLECTOR: (
        "fio's status collector gave up (not a storage error): a job was stuck in an I/O"
        " while others ended"
    ),
}


def errno_text(number: int) -> str:
    """Return the meaning of an error number in fio's output: "EIO (Input/output error): the storage
    returned ...".
    """
    hint = _ERRNO_HINTS.get(number)
    if number == STATUS_COLLECTOR:
        return str(hint)
    name = errno.errorcode.get(number)
    known = f"{name} ({os.strerror(number)})" if name else f"error {number}"
    return f"{known}: {hint}" if hint else known


def _job_failed(match: re.Match[str]) -> str:
    """Return the meaning of ``pid=N, err=E/...``; errors in filesetup.c come from laying out or
    opening files.
    """
    where = "while preparing its files" if match["source"] == "filesetup.c" else "and stopped"
    return f"a fio job failed {where}: {errno_text(int(match['number']))}"


_REQUESTS = {"WRITE": "PUT", "READ": "GET", "TRIM": "DELETE"}


def _http_failed(match: re.Match[str]) -> str:
    """Return the meaning of an HTTP status that fio's http engine does not accept."""
    request, status = _REQUESTS[match["op"]], int(match["status"])
    return http_error_text(request, status, "fio does not retry requests")


RULES = (
    rule(
        r"DDIR_(?P<op>WRITE|READ|TRIM) failed with HTTP status code (?P<status>\d+)",
        "error",
        _http_failed,
        HTTP_STATUS,
    ),
    rule(
        r"err=5/file:engines/http\.c",
        "error",
        (
            "a fio job stopped: a request failed; without an HTTP status, the cause is the"
            " connection, host name or certificate"
        ),
    ),
    silent(r"first I/O failed\. If .* is a zoned block device"),
    rule(
        rf"pid=\d+, err={STATUS_COLLECTOR}/",
        "warning",
        _ERRNO_HINTS[STATUS_COLLECTOR],
        "fio-status-collector",
    ),
    rule(
        r"pid=\d+, err=(?P<number>\d+)/(?:file:(?P<source>[^:]+):\d+, func=[^,]+, error=.*)?",
        "error",
        _job_failed,
    ),
    rule(
        r"io_u error on file (?P<file>.+): (?P<why>[^:]+): (?P<op>\w+) offset=(?P<offset>\d+),"
        r" buflen=(?P<length>\d+)",
        "error",
        "{op} of {length} bytes at offset {offset} of {file} failed: {why}",
    ),
    rule(
        r"pid=(?P<pid>\d+), got signal=(?P<signal>\d+)",
        "error",
        "a fio worker was killed by signal {signal}; its load is missing",
        "fio-worker-killed",
    ),
    rule(
        r"terminating on signal (?P<signal>\d+)",
        "info",
        "fio ended early on signal {signal}",
        "fio-stopped-by-signal",
    ),
    rule(
        r"stuck grabbing stat_sem",
        "warning",
        "a fio worker gave up waiting for fio's status collector; this is not a storage error",
        "fio-status-collector",
    ),
    rule(
        r"ENOSPC on laying out file",
        "error",
        "no space left while laying out the test files",
        "fio-no-space",
    ),
    rule(
        r"file:ioengines\.c.*func=dlopen, error=(?P<why>.*)",
        "error",
        "cannot load the I/O engine: {why}",
        "fio-engine-missing",
    ),
    rule(
        r"engine (?P<engine>\S+) not loadable",
        "error",
        "this build of fio has no I/O engine {engine}",
        "fio-engine-missing",
    ),
    rule(
        r"failed to load engine",
        "error",
        "cannot load the I/O engine",
        "fio-engine-missing",
    ),
    rule(
        r"fio: (?P<path>.+) is not a directory",
        "error",
        "{path} does not exist or is not a directory",
        "fio-missing-directory",
    ),
    rule(
        r"failed parsing directory=(?P<path>.*)",
        "error",
        "the directory {path} cannot be used",
        "fio-missing-directory",
    ),
    rule(
        r"failed parsing (?P<option>[^=]+)=(?P<value>.*)",
        "error",
        "this version of fio rejects {option}={value}",
        "fio-bad-value",
    ),
    rule(
        r"Bad option <(?P<option>[^>]*)>",
        "error",
        "this version of fio does not have the option {option}",
        "fio-bad-option",
    ),
    rule(r"job (?P<job>.+) dropped", "error", "fio dropped the job {job}"),
    rule(
        r"unable to open '(?P<file>[^']*)' job file",
        "error",
        "fio cannot open its job file {file}",
        "fio-no-job-file",
    ),
    rule(
        r"file creation disallowed by allow_file_create=0",
        "error",
        "a test file is missing, and allow_file_create=0 forbids creating it",
        "fio-file-missing",
    ),
    rule(
        r"refusing extend of file due to read-only",
        "error",
        "a test file is missing or too short, and the job only reads",
        "fio-file-missing",
    ),
    rule(
        r"cache invalidation of (?P<file>.+) failed: (?P<why>.*)",
        "warning",
        "the host's page cache of {file} was not dropped: {why}",
    ),
    rule(
        r"first direct IO errored",
        "error",
        "the first direct I/O failed: the file system does not support direct=1 or this block size",
        "fio-no-direct-io",
    ),
    rule(
        r"destination does not support O_DIRECT",
        "error",
        "the file system does not support direct=1",
        "fio-no-direct-io",
    ),
    rule(
        r"check /proc/sys/fs/aio-max-nr|io_queue_init failed",
        "error",
        "the kernel's limit on asynchronous I/Os was reached: raise fs.aio-max-nr",
        "fio-aio-limit",
    ),
    rule(r"^verify: |verify failed", "error", "verification failed: {line}", "fio-verify-failed"),
    rule(
        r"hasn't exited in \d+ seconds",
        "error",
        "a fio worker did not end: it is stuck in the kernel, most likely in an I/O",
        "fio-worker-stuck",
    ),
    rule(
        r"maximum number of jobs \((?P<count>\d+)\) reached",
        "error",
        "fio allows at most {count} jobs on this host (--max-jobs)",
        "fio-too-many-jobs",
    ),
    rule(
        r"(?P<job>.+): you need to specify size=",
        "error",
        "the job {job} has no size= and its file does not exist",
        "fio-no-size",
    ),
    rule(
        r"you need to specify valid offset=",
        "error",
        "offset= lies beyond the end of a file",
        "fio-bad-value",
    ),
    rule(
        r"blocksize is larger than data set range",
        "error",
        "bs= is larger than the file",
        "fio-bad-value",
    ),
    rule(r"Too many open files", "error", errno_text(errno.EMFILE), "fio-open-files"),
    rule(
        r"^(?:valid values)?: *(?P<value>\S+) *(?P<meaning>.*)",
        "info",
        "allowed: {value} {meaning}",
    ),
    rule(r"file hash not empty on exit", "info", "{line}"),
    rule(
        r"file:options\.c.*func=lstat, error=(?P<why>.*)",
        "error",
        "cannot use a path in the job file: {why}",
    ),
)


def _no_output(exit_code: int | None, causes: Sequence[str]) -> str:
    ended = "exit status unknown" if exit_code is None else f"exit code {exit_code}"
    return f"fio printed no result ({ended})" + (f": {'; '.join(causes)}" if causes else "")


def _jobs_failed(text: str, failed: int) -> str:
    return f"{text}; {failed} jobs failed" if failed else text


PROBLEMS: Mapping[str, Text] = {
    "no-output": _no_output,
    "errno": lambda number, failed: _jobs_failed(errno_text(number), failed),
    "no-http-status": partial(
        _jobs_failed,
        "a request got no HTTP status: connection refused or lost, unknown host name, bad"
        " certificate, or object too large",
    ),
    "unreadable-output": "unreadable fio status objects, which were skipped: {objects}",
    "output-cut": "fio's output ends in the middle of a status object; the previous one is used",
    "other-job": lambda differing: f"fio did not run the planned job: {some(differing, 3)}",
    "option-differs": "{name}={value} (planned: {planned})",
    "job-not-planned": "job [{job}] is not in the job file",
    "no-io": "fio reports no error, but no I/O was done",
    "exit-unknown": "the exit status of fio is unknown",
    "killed": "fio was killed (SIGKILL); the result is the last status it printed",
    "stopped-by-signal": "a signal ended fio early",
    "exit-code": "fio exited with code {exit_code} without an error message",
    **BUCKET,
    **texts_of(RULES),
}

_WORRYING = re.compile(
    r"\b(error|fail(?:s|ed|ure)?|cannot|can't|unable|refus\w+|invalid)\b", re.IGNORECASE
)


def explainer() -> Explainer:
    """Return an explainer of fio's messages."""
    return Explainer(RULES, _unknown)


def _unknown(line: str) -> tuple[Severity, str]:
    text = line.strip().removeprefix("fio: ")
    return ("warning" if _WORRYING.search(text) else "info"), f"fio: {text}"


SIGNAL_EXIT = 128
LAST_LINES = 2
KILLED_EXITS = (-9, 137)


class FioReader:
    """Reads the output of one fio process on one host. Implements `tui.workloads.base.Reader`."""

    def __init__(
        self, host: str, step: Step, phase: PhaseName, latency_kind: LatencyKind = "clat"
    ) -> None:
        self._host, self._step = host, step
        self._measures = phase == "measure"
        self._kind = latency_kind
        ramp = phase == "measure" and step.ramp_s > 0
        self._meter = Meter(host, step.index, phase, latency_kind, ramp=ramp)
        self._framer = JsonSplitter()
        self._stderr = LineSplitter()
        # the end of stderr, for a fio that prints nothing else
        self._last_lines: list[Told] = []
        self._explainer = explainer()
        self._last_text = b""  # decoded again at the end: decoded it takes five times the memory
        self._unreadable = 0
        self._finished: list[Sample | LogLine] = []

    def feed(self, data: bytes) -> list[Sample | LogLine]:
        """Return the samples and log lines completed by these bytes of stdout."""
        return self._parse(self._framer.feed(data))

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return the explained lines completed by these bytes of stderr."""
        lines = self._explainer.explain_all(self._stderr.feed(data))
        self._last_lines += [told for _, told in lines]
        del self._last_lines[:-LAST_LINES]
        return lines

    def flush(self) -> list[Sample | LogLine]:
        """Return the rest at the end of both streams: lines without a newline, and a held-back
        sample.
        """
        self._finish()
        items, self._finished = self._finished, []
        return items

    def result(self, exit_code: int | None) -> HostResult | None:
        """Return the result in the last complete JSON object; None if there is none."""
        self._finish()
        if not self._last_text:
            return None
        own_end = (
            exit_code is not None and not self._ended_by_signal(exit_code) and not self._framer.cut
        )
        result = host_result(decode(self._last_text), self._host, self._step.index, final=own_end)
        if own_end and self._measures:
            result.contradictions = contradictions_in(self._last_text)
        return result

    def problems(self, exit_code: int | None) -> list[tuple[str, Told]]:
        """Return reasons to doubt the result, as (code, message); empty without any."""
        self._finish()
        if not self._last_text:
            return [("fio-no-output", self._why_no_output(exit_code))]
        jobs = decode(self._last_text, self._kind).jobs
        failed = sorted({job.error for job in jobs if job.error})
        found = self._error_verdicts([*failed], exit_code)
        found.update(self._message_verdicts())
        found.update(self._stream_verdicts())
        found.update(self._job_verdicts())
        found.update(self._end_verdicts(exit_code, explained=bool(found), failed=bool(failed)))
        if not failed and not _did_io(jobs):
            found["fio-no-io"] = clause("no-io")
        return list(found.items())

    def _finish(self) -> None:
        """Close both streams and keep their rest for `flush`."""
        self._finished += self._parse(self._framer.close())
        self._finished += self._explainer.explain_all(self._stderr.close())
        if sample := self._meter.flush():
            self._finished.append(sample)

    def _parse(self, pieces: list[bytes | str]) -> list[Sample | LogLine]:
        items: list[Sample | LogLine] = []
        for piece in pieces:
            item = (
                self._explainer.explain(piece)
                if isinstance(piece, str)
                else self._parse_object(piece)
            )
            if item is not None:
                items.append(item)
        return items

    def _parse_object(self, text: bytes) -> Sample | LogLine | None:
        try:
            snapshot = decode(text, self._kind)
        except SnapshotError as error:
            self._unreadable += 1
            return self._explainer.explain(
                f"a fio status object is unreadable and was skipped: {error}"
            )
        self._last_text = text
        return self._meter.feed(snapshot)

    def _ended_by_signal(self, exit_code: int | None) -> bool:
        if exit_code is not None and (exit_code < 0 or exit_code in (SIGNAL_EXIT, *KILLED_EXITS)):
            return True
        return "fio-stopped-by-signal" in self._explainer.codes

    def _why_no_output(self, exit_code: int | None) -> Clause:
        codes, errors = list(self._explainer.codes.values()), self._explainer.errors
        causes = (codes or errors or self._last_lines)[:2]
        return clause("no-output", exit_code=exit_code, causes=causes)

    def _error_verdicts(self, errors: list[int], exit_code: int | None) -> dict[str, Told]:
        failed = exit_code if exit_code is not None and 1 < exit_code < SIGNAL_EXIT else 0
        found: dict[str, Told] = {}
        if any(task.objects for task in self._step.tasks) and errno.EIO in errors:
            errors.remove(errno.EIO)  # a failed request: its HTTP status says more
            if HTTP_STATUS not in self._explainer.codes:
                found["fio-no-http-status"] = clause("no-http-status", failed=failed)
        for number in errors:
            found[_error_code(number)] = clause("errno", number=number, failed=failed)
        return found

    def _message_verdicts(self) -> dict[str, Told]:
        """Return problems known only from messages, except stops by signal, which `_end_verdicts`
        judges.
        """
        return {
            code: told
            for code, told in self._explainer.codes.items()
            if code != "fio-stopped-by-signal"
        }

    def _stream_verdicts(self) -> dict[str, Told]:
        found: dict[str, Told] = {}
        if broken := self._unreadable + self._framer.broken:
            found["fio-unreadable-output"] = clause("unreadable-output", objects=broken)
        if self._framer.cut:
            found["fio-output-cut"] = clause("output-cut")
        return found

    def _job_verdicts(self) -> dict[str, Told]:
        task = next((task for task in self._step.tasks if task.host == self._host), None)
        if task is None or not self._measures:
            return {}
        other = other_options(task.job_file, self._last_text)
        return {OTHER_JOB: clause("other-job", differing=other)} if other else {}

    def _end_verdicts(
        self, exit_code: int | None, *, explained: bool, failed: bool
    ) -> dict[str, Told]:
        if exit_code is None:
            return {"fio-exit-unknown": clause("exit-unknown")}
        if exit_code in KILLED_EXITS:
            return {"fio-killed": clause("killed")}
        if failed and 0 < exit_code < SIGNAL_EXIT:
            return {}  # a job failed, and exitall_on_error ended the others by signal
        if self._ended_by_signal(exit_code):
            return {"fio-stopped-by-signal": clause("stopped-by-signal")}
        if exit_code and not explained:
            return {"fio-exit-code": clause("exit-code", exit_code=exit_code)}
        return {}


def _did_io(jobs: Iterable[StatusJob]) -> bool:
    return any(part.total_ios for job in jobs for part in job.directions().values())


def _error_code(number: int) -> str:
    return "fio-status-collector" if number == STATUS_COLLECTOR else f"fio-error-{number}"


class _JobOptionsOnly(Struct):
    name: str = field(name="jobname", default="")
    options: dict[str, str] = field(name="job options", default_factory=dict)


class _Output(Struct):
    shared: dict[str, str] = field(name="global options", default_factory=dict)
    jobs: list[_JobOptionsOnly] = field(default_factory=list)


_DECODER = msgspec.json.Decoder(_Output)


def contradictions_in(printed: bytes) -> list[Contradiction] | None:
    """Return the contradictions in a status object; None if it cannot be checked."""
    from tui.workloads.fio.contradictions import contradictions  # needed only at the end

    try:
        shared = _DECODER.decode(printed).shared
        found = contradictions(printed, lambda *_: shared)
    except Exception:  # unforeseen; the result counts all the same
        return None
    return [each for of_host in found.values() for each in of_host]


def other_options(job_file: str, printed: bytes) -> list[Clause]:
    """Return each option whose printed value differs from the job file, and each job that is not in
    it.

    Skips options missing on one side and those that fio expands (``$jobname``). Empty if `printed`,
    a status object, cannot be decoded.
    """
    try:
        output = _DECODER.decode(printed)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    given = sections(job_file)
    names = [name for name, _ in given]
    found: list[Clause] = []
    for job in output.jobs:
        if names and job.name not in names and not any("$" in name for name in names):
            found.append(clause("job-not-planned", job=job.name))
        # a group is reported by the name of its first job and the options of its last one
        as_given = sorted(
            ([*_differing(options, output.shared | job.options)] for _, options in given), key=len
        )
        found += as_given[0] if as_given else []
    return unique(found)


def _differing(given: Mapping[str, str], printed: Mapping[str, str]) -> Iterator[Clause]:
    for name, value in given.items():
        used = printed.get(name)
        if used is not None and "$" not in value and _meaning(name, used) != _meaning(name, value):
            yield clause("option-differs", name=name, value=used.strip(), planned=value)


def _meaning(name: str, value: str) -> object:
    """Return a value as fio interprets it, so that 64M, 64m and 67108864 are equal, as are 4s and
    4.
    """
    option = by_name().get(name, {})
    kind = option.get("type", "text")
    value = value.strip()
    if name == "directory":
        return value.rstrip("/")
    try:
        if kind == "time":
            return _seconds(value, per_unit=1.0 if option.get("seconds") else 1e-6)
        if kind in ("int", "size", "zone", "range"):
            return [[parse_size(part) for part in each.split("-")] for each in value.split(",")]
    except ValueError:  # a share of the file, a calculation, a list of zones
        pass
    if kind in ("bool", "set"):
        return value or "1"
    return value


def _seconds(value: str, per_unit: float) -> float:
    """Return a time in seconds; a number without a unit is in the option's unit (options.c,
    .is_seconds).
    """
    return round(int(value) * per_unit if value.isdecimal() else parse_duration(value), 6)
