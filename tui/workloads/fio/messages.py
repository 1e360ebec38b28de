"""What fio's messages mean: lines of stdout and stderr, explained in plain words."""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from dataclasses import dataclass

from tui.model.event import Severity
from tui.workloads.base import LogLine

STATUS_COLLECTOR = 35

_ERRNO_HINTS = {
    errno.EIO: "the storage returned an I/O error; the host's kernel log says more",
    errno.ENOSPC: "no space left on the file system under test",
    errno.EACCES: "permission denied",
    errno.EPERM: "not permitted",
    errno.EROFS: "the file system is read-only",
    errno.ENOENT: "a file or directory does not exist",
    errno.EINVAL: "the file system or device refused the request; often it does not take direct=1 or this block size",
    errno.EDQUOT: "the disk quota is used up",
    errno.ESTALE: "stale file handle: the file system was remounted, or the server lost the file",
    errno.ETIMEDOUT: "the storage did not answer in time",
    errno.ENOMEM: "the host is out of memory",
    errno.EMFILE: "too many open files: raise the open file limit (ulimit -n), or set openfiles",
    errno.EAGAIN: "a limit of the host is reached; for libaio see fs.aio-max-nr",
    errno.EILSEQ: "verification failed: data read back differ from data written",
    STATUS_COLLECTOR: "fio's status collector gave up, not the storage: a job was stuck in one I/O while others ended",
}


def errno_text(number: int) -> str:
    """Return what an error number of fio means: "EIO (Input/output error): the storage returned ..."."""
    hint = _ERRNO_HINTS.get(number)
    if number == STATUS_COLLECTOR:
        return str(hint)
    name = errno.errorcode.get(number)
    known = f"{name} ({os.strerror(number)})" if name else f"error {number}"
    return f"{known}: {hint}" if hint else known


@dataclass(frozen=True, slots=True)
class Rule:
    """A message that is understood. `text` may use the pattern's named groups; `code` names it in verdicts."""

    pattern: re.Pattern[str]
    severity: Severity
    text: str
    code: str | None = None


def _rule(pattern: str, severity: Severity, text: str, code: str | None = None) -> Rule:
    return Rule(re.compile(pattern), severity, text, code)


RULES = (
    _rule(
        r"io_u error on file (?P<file>.+): (?P<why>[^:]+): (?P<op>\w+) offset=(?P<offset>\d+), buflen=(?P<length>\d+)",
        "error",
        "{op} of {length} bytes at offset {offset} of {file} failed: {why}",
    ),
    _rule(
        r"pid=(?P<pid>\d+), got signal=(?P<signal>\d+)",
        "error",
        "a fio worker was killed by signal {signal}; its load is missing",
        "fio-worker-killed",
    ),
    _rule(
        r"terminating on signal (?P<signal>\d+)",
        "info",
        "fio ends early: it got signal {signal}",
        "fio-stopped-by-signal",
    ),
    _rule(
        r"stuck grabbing stat_sem",
        "warning",
        "a fio worker gave up waiting for fio's status collector; this is not a storage error",
        "fio-status-collector",
    ),
    _rule(r"ENOSPC on laying out file", "error", "no space left while laying out the test files", "fio-no-space"),
    _rule(
        r"file:ioengines\.c.*func=dlopen, error=(?P<why>.*)",
        "error",
        "the I/O engine could not be loaded: {why}",
        "fio-engine-missing",
    ),
    _rule(
        r"engine (?P<engine>\S+) not loadable",
        "error",
        "this fio has no I/O engine {engine}",
        "fio-engine-missing",
    ),
    _rule(r"failed to load engine", "error", "the I/O engine could not be loaded", "fio-engine-missing"),
    _rule(
        r"fio: (?P<path>.+) is not a directory",
        "error",
        "{path} does not exist or is not a directory",
        "fio-missing-directory",
    ),
    _rule(
        r"failed parsing directory=(?P<path>.*)",
        "error",
        "the directory {path} cannot be used",
        "fio-missing-directory",
    ),
    _rule(
        r"failed parsing (?P<option>[^=]+)=(?P<value>.*)",
        "error",
        "this fio does not take {option}={value}",
        "fio-bad-value",
    ),
    _rule(
        r"Bad option <(?P<option>[^>]*)>",
        "error",
        "this fio does not know the option {option}",
        "fio-bad-option",
    ),
    _rule(r"job (?P<job>.+) dropped", "error", "fio dropped the job {job}"),
    _rule(
        r"unable to open '(?P<file>[^']*)' job file",
        "error",
        "fio could not open its job file {file}",
        "fio-no-job-file",
    ),
    _rule(
        r"file creation disallowed by allow_file_create=0",
        "error",
        "a test file is missing and allow_file_create=0 forbids making it",
        "fio-file-missing",
    ),
    _rule(
        r"refusing extend of file due to read-only",
        "error",
        "a test file is missing or too short, and fio may only read",
        "fio-file-missing",
    ),
    _rule(
        r"cache invalidation of (?P<file>.+) failed: (?P<why>.*)",
        "warning",
        "the host's page cache of {file} was not dropped: {why}",
    ),
    _rule(
        r"first direct IO errored",
        "error",
        "the first direct I/O failed: the file system does not take direct=1 or this block size",
        "fio-no-direct-io",
    ),
    _rule(
        r"destination does not support O_DIRECT",
        "error",
        "the file system does not take direct=1",
        "fio-no-direct-io",
    ),
    _rule(
        r"check /proc/sys/fs/aio-max-nr|io_queue_init failed",
        "error",
        "the kernel's limit of asynchronous I/Os is reached: raise fs.aio-max-nr",
        "fio-aio-limit",
    ),
    _rule(r"^verify: |verify failed", "error", "verification failed: {line}", "fio-verify-failed"),
    _rule(
        r"hasn't exited in \d+ seconds",
        "error",
        "a fio worker did not end: it is stuck in the kernel, most likely in an I/O",
        "fio-worker-stuck",
    ),
    _rule(
        r"maximum number of jobs \((?P<count>\d+)\) reached",
        "error",
        "fio takes at most {count} jobs here (--max-jobs)",
        "fio-too-many-jobs",
    ),
    _rule(
        r"(?P<job>.+): you need to specify size=",
        "error",
        "the job {job} has no size= and its file does not exist",
        "fio-no-size",
    ),
    _rule(r"you need to specify valid offset=", "error", "offset= lies beyond the end of a file", "fio-bad-value"),
    _rule(r"blocksize is larger than data set range", "error", "bs= is larger than the file", "fio-bad-value"),
    _rule(r"Too many open files", "error", errno_text(errno.EMFILE), "fio-open-files"),
    _rule(r"^(?:valid values)?: *(?P<value>\S+) *(?P<meaning>.*)", "info", "allowed: {value} {meaning}"),
    _rule(r"file hash not empty on exit", "info", "{line}"),
    _rule(
        r"file:options\.c.*func=lstat, error=(?P<why>.*)",
        "error",
        "a path in the job file cannot be used: {why}",
    ),
)

_ERR = re.compile(r"pid=\d+, err=(?P<number>\d+)/(?:file:(?P<source>[^:]+):\d+, func=(?P<func>[^,]+), error=.*)?")
_WORRYING = re.compile(r"\b(error|fail(?:s|ed|ure)?|cannot|can't|unable|refus\w+|invalid)\b", re.IGNORECASE)
_VARYING = re.compile(r"\d+")
_REPEAT_AT = {10, 100, 1_000, 10_000, 100_000}


class Explainer:
    """Explains lines, and tells the same thing only once: again when it has been seen 10, 100, ... times.

    Lines that differ only in numbers (process ids, offsets) count as the same. `codes` are the causes seen so far,
    with their text; `errors` the texts of severity error, both in the order they came.
    """

    def __init__(self) -> None:
        self.codes: dict[str, str] = {}
        self.errors: list[str] = []
        self._seen: Counter[str] = Counter()

    def explain(self, line: str) -> LogLine | None:
        """Return what to tell of a line, None when it has just been told."""
        key = _VARYING.sub("0", line)
        self._seen[key] += 1
        times = self._seen[key]
        if times > 1 and times not in _REPEAT_AT:
            return None
        severity, text, code = _explained(line)
        if times > 1:
            return severity, f"{text} (seen {times} times)"
        if code:
            self.codes.setdefault(code, text)
        if severity == "error":
            self.errors.append(text)
        return severity, text


def _explained(line: str) -> tuple[Severity, str, str | None]:
    """Return severity, plain text and the code of one line."""
    if match := _ERR.search(line):
        return _explained_errno(int(match["number"]), match["source"] or "")
    for rule in RULES:
        if match := rule.pattern.search(line):
            return rule.severity, rule.text.format(line=line, **match.groupdict()), rule.code
    text = line.removeprefix("fio: ")
    return ("warning" if _WORRYING.search(text) else "info"), f"fio: {text}", None


def _explained_errno(number: int, source: str) -> tuple[Severity, str, str | None]:
    """Explain ``pid=N, err=E/...``; errors in filesetup.c come from laying out or opening files."""
    if number == STATUS_COLLECTOR:
        return "warning", errno_text(number), "fio-status-collector"
    where = "while preparing its files" if source == "filesetup.c" else "and stopped"
    return "error", f"a fio job failed {where}: {errno_text(number)}", None
