"""The reader of one fio command: its output becomes samples, log lines, a result and its problems."""

from __future__ import annotations

from tui.model.event import HostResult, PhaseName, Sample
from tui.model.plan import Step
from tui.workloads.base import LatencyKind, LogLine
from tui.workloads.fio.framing import Framer
from tui.workloads.fio.messages import STATUS_COLLECTOR, errno_text, explainer
from tui.workloads.fio.meter import Meter
from tui.workloads.fio.results import host_result
from tui.workloads.fio.snapshot import Snapshot, SnapshotError, decode
from tui.workloads.lines import Lines

SIGNAL_EXIT = 128
LAST_WORDS = 2
KILLED_EXITS = (-9, 137)


class FioReader:
    """Reads one fio process on one host. Implements `tui.workloads.base.Reader`."""

    def __init__(self, host: str, step: Step, phase: PhaseName, latency_kind: LatencyKind = "clat") -> None:
        self._host, self._step = host, step
        self._kind = latency_kind
        ramp = phase == "measure" and step.ramp_s > 0
        self._meter = Meter(host, step.index, phase, latency_kind, ramp=ramp)
        self._framer = Framer()
        self._stderr = Lines()
        self._said: list[str] = []  # the last of stderr: of a fio that only says why, and prints nothing
        self._explainer = explainer()
        self._last: Snapshot | None = None
        self._last_text = b""
        self._unreadable = 0
        self._finished: list[Sample | LogLine] = []

    def feed(self, data: bytes) -> list[Sample | LogLine]:
        """Return the samples and log lines that these bytes of stdout complete."""
        return self._take(self._framer.feed(data))

    def feed_stderr(self, data: bytes) -> list[LogLine]:
        """Return the explained lines that these bytes of stderr complete."""
        told = self._explainer.explain_all(self._stderr.feed(data))
        self._said += [text for _, text in told]
        del self._said[:-LAST_WORDS]
        return told

    def flush(self) -> list[Sample | LogLine]:
        """Return what the end of both streams completes: lines without a newline and a sample that was held back."""
        self._finish()
        items, self._finished = self._finished, []
        return items

    def result(self, exit_code: int | None) -> HostResult | None:
        """Return the result of the last complete object, None when there is none."""
        self._finish()
        if self._last is None:
            return None
        own_end = exit_code is not None and not self._ended_by_signal(exit_code) and not self._framer.cut
        return host_result(decode(self._last_text), self._host, self._step.index, final=own_end)

    def problems(self, exit_code: int | None) -> list[tuple[str, str]]:
        """Return (code, message) of what makes the result doubtful; empty is clean."""
        self._finish()
        if self._last is None:
            return [("fio-no-output", self._why_no_output(exit_code))]
        found = self._error_verdicts(exit_code)
        found.update(self._message_verdicts())
        found.update(self._stream_verdicts())
        found.update(self._end_verdicts(exit_code, explained=bool(found)))
        if not self._did_io() and not any(job.error for job in self._last.jobs):
            found["fio-no-io"] = "fio reports no error, but no I/O was done"
        return list(found.items())

    def _finish(self) -> None:
        """Close the streams; what that completes waits for `flush`."""
        self._finished += self._take(self._framer.close())
        self._finished += self._explainer.explain_all(self._stderr.close())
        if sample := self._meter.flush():
            self._finished.append(sample)

    def _take(self, pieces: list[bytes | str]) -> list[Sample | LogLine]:
        items: list[Sample | LogLine] = []
        for piece in pieces:
            item = self._explainer.explain(piece) if isinstance(piece, str) else self._take_object(piece)
            if item is not None:
                items.append(item)
        return items

    def _take_object(self, text: bytes) -> Sample | LogLine | None:
        try:
            snapshot = decode(text, self._kind)
        except SnapshotError as error:
            self._unreadable += 1
            return self._explainer.explain(f"a status object of fio is unreadable and was left out: {error}")
        self._last, self._last_text = snapshot, text
        return self._meter.feed(snapshot)

    def _ended_by_signal(self, exit_code: int | None) -> bool:
        if exit_code is not None and (exit_code < 0 or exit_code in (SIGNAL_EXIT, *KILLED_EXITS)):
            return True
        return "fio-stopped-by-signal" in self._explainer.codes

    def _did_io(self) -> bool:
        return self._last is not None and any(
            part.total_ios for job in self._last.jobs for part in job.directions().values()
        )

    def _why_no_output(self, exit_code: int | None) -> str:
        ended = "how it ended is unknown" if exit_code is None else f"exit code {exit_code}"
        causes = (list(self._explainer.codes.values()) or self._explainer.errors or self._said)[:2]
        return f"fio printed no result ({ended})" + (f": {'; '.join(causes)}" if causes else "")

    def _error_verdicts(self, exit_code: int | None) -> dict[str, str]:
        errors = sorted({job.error for job in self._last.jobs if job.error}) if self._last else []
        failed = f"; {exit_code} jobs failed" if exit_code is not None and 1 < exit_code < SIGNAL_EXIT else ""
        return {_error_code(number): errno_text(number) + failed for number in errors}

    def _message_verdicts(self) -> dict[str, str]:
        """Return what only messages tell; a stop by signal is judged by `_end_verdicts`."""
        return {code: text for code, text in self._explainer.codes.items() if code != "fio-stopped-by-signal"}

    def _stream_verdicts(self) -> dict[str, str]:
        found = {}
        if broken := self._unreadable + self._framer.broken:
            found["fio-unreadable-output"] = f"{broken} status objects of fio were unreadable and left out"
        if self._framer.cut:
            found["fio-output-cut"] = "fio's output ends in the middle of a status object; an earlier one is used"
        return found

    def _end_verdicts(self, exit_code: int | None, *, explained: bool) -> dict[str, str]:
        if exit_code is None:
            return {"fio-exit-unknown": "how fio ended is unknown"}
        if exit_code in KILLED_EXITS:
            return {"fio-killed": "fio was killed (SIGKILL); the result is the last status it printed"}
        if self._ended_by_signal(exit_code):
            return {"fio-stopped-by-signal": "fio was ended by a signal before its own end"}
        if exit_code and not explained:
            return {"fio-exit-code": f"fio ended with exit code {exit_code} and said nothing about why"}
        return {}


def _error_code(number: int) -> str:
    return "fio-status-collector" if number == STATUS_COLLECTOR else f"fio-error-{number}"
