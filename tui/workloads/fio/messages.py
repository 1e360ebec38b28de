"""What fio's messages mean: lines of stdout and stderr, explained in plain words."""

from __future__ import annotations

import errno
import os
import re

from tui.workloads.base import LogLine
from tui.workloads.messages import Explainer, rule

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


def _job_failed(match: re.Match[str]) -> str:
    """Explain ``pid=N, err=E/...``; errors in filesetup.c come from laying out or opening files."""
    where = "while preparing its files" if match["source"] == "filesetup.c" else "and stopped"
    return f"a fio job failed {where}: {errno_text(int(match['number']))}"


RULES = (
    rule(rf"pid=\d+, err={STATUS_COLLECTOR}/", "warning", _ERRNO_HINTS[STATUS_COLLECTOR], "fio-status-collector"),
    rule(
        r"pid=\d+, err=(?P<number>\d+)/(?:file:(?P<source>[^:]+):\d+, func=[^,]+, error=.*)?",
        "error",
        _job_failed,
    ),
    rule(
        r"io_u error on file (?P<file>.+): (?P<why>[^:]+): (?P<op>\w+) offset=(?P<offset>\d+), buflen=(?P<length>\d+)",
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
        "fio ends early: it got signal {signal}",
        "fio-stopped-by-signal",
    ),
    rule(
        r"stuck grabbing stat_sem",
        "warning",
        "a fio worker gave up waiting for fio's status collector; this is not a storage error",
        "fio-status-collector",
    ),
    rule(r"ENOSPC on laying out file", "error", "no space left while laying out the test files", "fio-no-space"),
    rule(
        r"file:ioengines\.c.*func=dlopen, error=(?P<why>.*)",
        "error",
        "the I/O engine could not be loaded: {why}",
        "fio-engine-missing",
    ),
    rule(
        r"engine (?P<engine>\S+) not loadable",
        "error",
        "this fio has no I/O engine {engine}",
        "fio-engine-missing",
    ),
    rule(r"failed to load engine", "error", "the I/O engine could not be loaded", "fio-engine-missing"),
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
        "this fio does not take {option}={value}",
        "fio-bad-value",
    ),
    rule(
        r"Bad option <(?P<option>[^>]*)>",
        "error",
        "this fio does not know the option {option}",
        "fio-bad-option",
    ),
    rule(r"job (?P<job>.+) dropped", "error", "fio dropped the job {job}"),
    rule(
        r"unable to open '(?P<file>[^']*)' job file",
        "error",
        "fio could not open its job file {file}",
        "fio-no-job-file",
    ),
    rule(
        r"file creation disallowed by allow_file_create=0",
        "error",
        "a test file is missing and allow_file_create=0 forbids making it",
        "fio-file-missing",
    ),
    rule(
        r"refusing extend of file due to read-only",
        "error",
        "a test file is missing or too short, and fio may only read",
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
        "the first direct I/O failed: the file system does not take direct=1 or this block size",
        "fio-no-direct-io",
    ),
    rule(
        r"destination does not support O_DIRECT",
        "error",
        "the file system does not take direct=1",
        "fio-no-direct-io",
    ),
    rule(
        r"check /proc/sys/fs/aio-max-nr|io_queue_init failed",
        "error",
        "the kernel's limit of asynchronous I/Os is reached: raise fs.aio-max-nr",
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
        "fio takes at most {count} jobs here (--max-jobs)",
        "fio-too-many-jobs",
    ),
    rule(
        r"(?P<job>.+): you need to specify size=",
        "error",
        "the job {job} has no size= and its file does not exist",
        "fio-no-size",
    ),
    rule(r"you need to specify valid offset=", "error", "offset= lies beyond the end of a file", "fio-bad-value"),
    rule(r"blocksize is larger than data set range", "error", "bs= is larger than the file", "fio-bad-value"),
    rule(r"Too many open files", "error", errno_text(errno.EMFILE), "fio-open-files"),
    rule(r"^(?:valid values)?: *(?P<value>\S+) *(?P<meaning>.*)", "info", "allowed: {value} {meaning}"),
    rule(r"file hash not empty on exit", "info", "{line}"),
    rule(
        r"file:options\.c.*func=lstat, error=(?P<why>.*)",
        "error",
        "a path in the job file cannot be used: {why}",
    ),
)

_WORRYING = re.compile(r"\b(error|fail(?:s|ed|ure)?|cannot|can't|unable|refus\w+|invalid)\b", re.IGNORECASE)


def explainer() -> Explainer:
    """Return a fresh explainer of fio's messages."""
    return Explainer(RULES, _unknown)


def _unknown(line: str) -> LogLine:
    text = line.strip().removeprefix("fio: ")
    return ("warning" if _WORRYING.search(text) else "info"), f"fio: {text}"
