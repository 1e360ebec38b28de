"""Reader of one elbencho process on one host: samples, log lines, result, problems.

Failed S3 requests, from LocalWorker.cpp: after "... failed." there is a line for each of Endpoint,
Bucket, Object, Exception, Message and the HTTP status; -1 means no status. The SDK retries requests
answered with 429 or 5xx, and unanswered ones, up to 10 times.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tui.model.event import DirectionSample, HostResult, PhaseName, Sample
from tui.model.operands import Clause, Told, clause
from tui.model.plan import Step
from tui.text.form import Text
from tui.workloads.base import Item, TargetCheck
from tui.workloads.elbencho.output import (
    HEADER,
    FinishedPhase,
    Row,
    RunningTotals,
    columns_of,
    counted,
    done,
    number,
    row_of,
    stamp_ms,
)
from tui.workloads.messages import (
    BUCKET,
    TO_CHECK,
    Explainer,
    http_error_text,
    rule,
    silent,
    texts_of,
    unknown,
)
from tui.workloads.reading import LineSplitter, LogLine

FAILED = re.compile(r"^\d\d:\d\d:\d\d\.\d+ ERROR: [^:]* failed\.$")
DETAIL = re.compile(r"^(Endpoint|Bucket|Object|Exception|Message|HTTP Error Code|Request ID|\w+): ")
LAST = "HTTP Error Code: "
MOST_DETAILS = 12
REQUESTS = (
    ("Object upload", "PUT"),
    ("part upload", "part PUT"),
    ("ultipart upload", "multipart upload POST"),
    ("Object download", "GET"),
    ("HeadObject", "HEAD"),
    ("Object deletion", "DELETE"),
    ("Bucket creation", "bucket PUT"),
    ("Bucket deletion", "bucket DELETE"),
    ("Head bucket", "bucket HEAD"),
)
REPEATED = "elbencho retried it up to 10 times"
MISSING_BUCKET = "NoSuchBucket"
STATUS, NO_ANSWER = "elbencho-http-status", "elbencho-no-answer"
KILLED_EXITS = (-9, 137)
SIGNAL_EXIT = 128
LONGEST_LINE = 1 << 22  # a phase is one line, with every bucket of its histograms


class FailedRequestJoiner:
    """Joins the lines about a failed request into one; passes other lines through."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def join(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield complete messages. An incomplete one is held back until `rest`."""
        for line in lines:
            if FAILED.match(line):
                yield from self.rest()
                self._held = [line]
            elif not self._held:
                yield line
            elif DETAIL.match(f"{line} ") and len(self._held) < MOST_DETAILS:
                self._held.append(line)
                if line.startswith(LAST):
                    yield from self.rest()
            else:
                yield from self.rest()
                yield line

    def rest(self) -> Iterator[str]:
        """Yield the message held back, even if incomplete."""
        held, self._held = self._held, []
        if held:
            yield "; ".join(line.strip() for line in held)


def bucket_problem(check: TargetCheck, said: str) -> tuple[str, Clause] | None:
    """Return why a bucket cannot be used, from the output of a HEAD request; None if it may be
    usable.

    403 is not conclusive: the keys may just lack permission to list the bucket.
    """
    found = re.search(LAST + r"(-?\d+)", said)
    status = int(found[1]) if found else 0
    if status < 0:
        why = re.search(r"Message: (?:curlCode: \d+, )?(.*?) *HTTP Error", said)
        quote = why[1] if why else said
        return NO_ANSWER, clause("bucket-silent", target=check.target, quote=quote)
    if status == 404:
        return STATUS, clause("bucket-missing", target=check.target)
    return None


def _request_text(match: re.Match[str]) -> str:
    status, detail = int(match["status"]), match["detail"]
    request = next((name for said, name in REQUESTS if said in match["what"]), match["what"])
    object_ = _of(detail, "Object")
    where = " ".join(filter(None, (_of(detail, "Bucket"), object_)))
    if status < 0:
        why = re.sub(r"^curlCode: \d+, ", "", _of(detail, "Message")) or "no answer"
        return f"a {request} to {_of(detail, 'Endpoint')} got no answer: {why}; {TO_CHECK}"
    gone = "" if MISSING_BUCKET in detail or not object_ else "the bucket or the object is missing"
    return f"{http_error_text(request, status, REPEATED, gone)} ({where})"


def _of(detail: str, name: str) -> str:
    """Return a field of a failed request's message; empty if it was not printed."""
    found = re.search(rf"(?:^|; ){name}:(.*?)(?=; [A-Z][\w ]*:|$)", detail)
    return found[1].strip() if found else ""


_REFUSED = r" ERROR: (?P<what>.*?) failed\.;? ?(?P<detail>.*?);? HTTP Error Code: "
REQUEST_RULES = (
    rule(_REFUSED + r"(?P<status>-\d+)", "error", _request_text, NO_ANSWER),
    rule(_REFUSED + r"(?P<status>\d+)", "error", _request_text, STATUS),
    rule(r"^Request ID:|^\s*$", "info", ""),
)


class ElbenchoReader:
    """Reads the output of one elbencho process. Implements `tui.workloads.base.Reader`."""

    def __init__(self, host: str, step: Step, phase: PhaseName) -> None:
        self._host, self._step, self._phase = host, step, phase
        self._block = step.jobs[0].block_bytes if step.jobs and phase == "measure" else None
        self._objects = any(task.objects for task in step.tasks)
        self._out, self._err = LineSplitter(LONGEST_LINE), LineSplitter()
        self._requests = FailedRequestJoiner()
        self._explainer = Explainer(RULES, unknown)
        self._columns: list[str] = []
        self._pending: Row | None = None  # writes of a mixed phase, whose reads are the next row
        self._so_far: dict[str, RunningTotals] = {}
        self._runtime_ms = 0  # of the phase, at the last row
        self._end_ms = 0  # of the last sample
        self._over: list[FinishedPhase] = []
        self._unreadable = 0
        self._finished: list[Item] | None = None

    def feed(self, data: bytes) -> list[Item]:
        """Return the samples and log lines completed by these bytes of stdout."""
        return [item for line in self._out.feed(data) for item in self._line(line)]

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return the explained lines completed by these bytes of stderr."""
        return self._explainer.explain_all([*self._requests.join(self._err.feed(data))])

    def flush(self) -> list[Item]:
        """Return the rest at the end of both streams."""
        self._finish()
        items, self._finished = self._finished or [], []
        return items

    def result(self, exit_code: int | None) -> HostResult | None:
        """Return the result of this host; None if no phase finished."""
        self._finish()
        measured = [each for each in self._over if each.dirs]
        if not measured:
            return None
        return HostResult(
            t=0.0,
            host=self._host,
            step=self._step.index,
            dirs={name: part for each in measured for name, part in each.dirs.items()},
            tool_version=f"elbencho-{measured[-1].version}" if measured[-1].version else "",
            final=exit_code == 0 and not self.problems(exit_code),
            start_ms=measured[0].start_ms,
            end_ms=measured[-1].end_ms,
        )

    def problems(self, exit_code: int | None) -> list[tuple[str, Told]]:
        """Return reasons to doubt the result, as (code, message); empty without any."""
        self._finish()
        found = {
            code: told
            for code, told in self._explainer.codes.items()
            if code != "elbencho-stopped-by-signal"
        }
        refused = {STATUS, NO_ANSWER} & set(found)  # they say why there is no result
        if not refused and not any(each.dirs for each in self._over):
            found["elbencho-no-output"] = self._why_no_output(exit_code)
        if self._unreadable:
            told = clause("unreadable-output", lines=self._unreadable)
            found["elbencho-unreadable-output"] = told
        return list({**found, **self._end(exit_code, explained=bool(found))}.items())

    def _finish(self) -> None:
        if self._finished is None:
            self._finished = [item for line in self._out.close() for item in self._line(line)]
            self._finished += self._pending_sample()
            rest = [*self._requests.join(self._err.close()), *self._requests.rest()]
            self._finished += self._explainer.explain_all(rest)

    def _why_no_output(self, exit_code: int | None) -> Clause:
        causes = (list(self._explainer.codes.values()) or self._explainer.errors)[:2]
        return clause("no-output", exit_code=exit_code, causes=causes)

    def _end(self, exit_code: int | None, *, explained: bool) -> dict[str, Told]:
        """Return problems that follow from the exit code; exit code 0 has none."""
        if exit_code is None:
            return {"elbencho-exit-unknown": clause("exit-unknown")}
        if exit_code in KILLED_EXITS:
            return {"elbencho-killed": clause("killed")}
        if (
            exit_code < 0
            or exit_code > SIGNAL_EXIT
            or "elbencho-stopped-by-signal" in self._explainer.codes
        ):
            return {"elbencho-stopped-by-signal": clause("stopped-by-signal")}
        if exit_code and not explained:
            return {"elbencho-exit-code": clause("exit-code", exit_code=exit_code)}
        return {}

    # -- lines

    def _line(self, line: str) -> list[Item]:
        if line.startswith(HEADER):
            self._columns = columns_of(line)
            return []
        try:
            if line.startswith("{"):
                return [*self._pending_sample(), *self._end_phase(line)]
            row = row_of(self._columns, line) if self._columns else None
            return self._add_row(row) if row is not None else self._explained(line)
        except (ValueError, RecursionError):
            self._unreadable += 1
            return []

    def _explained(self, line: str) -> list[Item]:
        if self._columns and line.count(",") == len(self._columns) - 1:
            return []  # of one thread
        explained = self._explainer.explain(line)
        return [explained] if explained is not None else []

    def _add_row(self, row: Row) -> list[Item]:
        if row.get("MixType") == "Write":
            before, self._pending = self._pending_sample(), row
            return before
        writes, self._pending = self._pending, None
        return self._sample([writes, row] if writes is not None else [row])

    def _pending_sample(self) -> list[Item]:
        row, self._pending = self._pending, None
        return [] if row is None else self._sample([row])

    def _sample(self, rows: list[Row]) -> list[Item]:
        runtime_ms = number(rows[0], "RuntimeMS")
        interval_s = (runtime_ms - self._runtime_ms) / 1000
        if interval_s <= 0:
            raise ValueError(f"row at {runtime_ms} ms; expected later than {self._runtime_ms} ms")
        now = {
            name: each
            for row in rows
            for name, each in counted(
                row, self._so_far, interval_s, self._block, objects=self._objects
            ).items()
        }
        dirs = {
            name: each.since(self._so_far.get(name, RunningTotals())) for name, each in now.items()
        }
        self._so_far.update(now)
        self._runtime_ms = runtime_ms
        return [self._made(stamp_ms(rows[0]["ISO Date"]), interval_s, dirs)]

    def _end_phase(self, line: str) -> list[Item]:
        """Handle the end of a phase; return a sample with the work missing from the rows."""
        over = done(json.loads(line), self._block)
        if over is None:
            return []
        self._over.append(over)
        dirs = {name: self._rest(name, over) for name in over.dirs}
        interval_s = (over.end_ms - over.start_ms - self._runtime_ms) / 1000
        self._so_far, self._runtime_ms = {}, 0
        if not any(part.ios for part in dirs.values()):
            return []
        return [self._made(over.end_ms, max(interval_s, 0.001), dirs)]

    def _rest(self, name: str, over: FinishedPhase) -> DirectionSample:
        result = over.dirs[name]
        waited = round(result.lat.mean_ns * result.ios) if result.lat is not None else 0
        whole = RunningTotals(result.ios, result.bytes, waited)
        return whole.since(
            self._so_far.get(name, RunningTotals()),
            result.lat.max_ns if result.lat is not None else 0,
        )

    def _made(self, end_ms: int, interval_s: float, dirs: dict[str, DirectionSample]) -> Sample:
        self._end_ms = max(end_ms, self._end_ms + 1)
        return Sample(
            t=0.0,
            host=self._host,
            step=self._step.index,
            phase=self._phase,
            host_time_ms=self._end_ms,
            interval_s=interval_s,
            dirs=dirs,
        )


# -- what it prints besides figures, in plain words


AT = r"^\d\d:\d\d:\d\d\.\d+ "
_TABLE = silent(
    r"^(OPERATION |=+ |[A-Z0-9]* +[A-Za-z][\w/% ]*: )", r"^(---|COMMAND LINE:|ISO DATE)"
)
RULES = (
    _TABLE,
    *REQUEST_RULES,
    rule(
        r"Terminating due to interrupt signal",
        "warning",
        "a signal ended elbencho",
        "elbencho-stopped-by-signal",
    ),
    silent(r"Terminating due to phase time limit"),
    rule(
        r"No space left on device|errno: 28\b", "error", "no space left on the target", "no-space"
    ),
    rule(r"Disk quota exceeded|errno: 122\b", "error", "disk quota exceeded", "no-space"),
    rule(
        r"Unable to open (?P<what>[\w ]+?)(?: path)?: (?P<path>.*); SysErr: (?P<why>.*)",
        "error",
        "cannot open {path}: {why}",
        "elbencho-no-target",
    ),
    rule(
        AT + r"ERROR: (?P<what>.*?)\. Path: (?P<path>.*?); SysErr: (?P<why>.*)",
        "error",
        "{what}: {path}: {why}",
        "elbencho-io-error",
    ),
    rule(
        r"Error for option name: (?P<what>.*)|(?P<other>unrecognised option .*)",
        "error",
        lambda match: f"elbencho rejects an option: {match['what'] or match['other']}",
        "elbencho-bad-option",
    ),
    rule(
        r"IO failed: .*errno: (?P<number>\d+)",
        "error",
        "an I/O failed with error number {number}",
        "elbencho-io-error",
    ),
    rule(AT + r"ERROR: (?P<what>.*)", "error", "{what}", "elbencho-error"),
    rule(AT + r"(NOTE|WARNING|Warning): (?P<what>.*)", "warning", "{what}"),
)


def _no_output(exit_code: int | None, causes: Sequence[str]) -> str:
    ended = "exit status unknown" if exit_code is None else f"exit code {exit_code}"
    return f"elbencho completed no phase ({ended})" + (f": {'; '.join(causes)}" if causes else "")


PROBLEMS: Mapping[str, Text] = {
    "no-output": _no_output,
    "unreadable-output": "unreadable lines in elbencho's live statistics: {lines}",
    "exit-unknown": "the exit status of elbencho is unknown",
    "killed": "elbencho was killed (SIGKILL): no result for the phase",
    "stopped-by-signal": "a signal ended elbencho early",
    "exit-code": "elbencho exited with code {exit_code} without an error message",
    **BUCKET,
    **texts_of(RULES),
}
