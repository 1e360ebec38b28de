"""Following a run to its end from the command line: progress, Ctrl+C, the exit code, the result."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import msgspec

from tui.cli.shared.common import say
from tui.cli.shared.progress import ProgressDisplay, follow, plan_of
from tui.engine.process.control import NotRunning, request
from tui.journal.alive import is_running
from tui.journal.state import RunState
from tui.model.bounded import read_file
from tui.model.no_json import NO_JSON
from tui.model.rundir import RECORD_FILE

INTERRUPTED = 130
RECORD_PATIENCE_S = 30.0


def watch(run_dir: Path, *, as_json: bool) -> int:
    """Follow a run to its end, print its result, return its exit code."""
    code = followed(run_dir)
    print_result(run_dir, as_json=as_json)
    return code


def watch_streamed(run_dir: Path, specs: Sequence[str], *, as_json: bool) -> int:
    """Follow a run as `watch` does, and stream it; with a stream on standard output the summary goes to stderr."""
    from tui.results.export.stream import parse_spec, streaming

    taken = any(parse_spec(spec)[1] == "-" for spec in specs)
    with streaming(run_dir, specs, say):
        code = followed(run_dir)
    with redirect_stdout(sys.stderr if taken else sys.stdout):
        print_result(run_dir, as_json=as_json)
    return code


def followed(run_dir: Path) -> int:
    """Follow a run to its end and return its exit code. Ctrl+C stops the run, twice aborts it."""
    with interrupts_stop(run_dir) as interrupts:
        state = follow(run_dir, ProgressDisplay(plan=plan_of(run_dir)))
    if state.exit_code is None:
        say(f"the engine of {run_dir.name} is gone; what hosts still hold is collected by: benchtui runs recover")
    await_record(run_dir)
    return INTERRUPTED if interrupts else exit_code_of(state, run_dir)


class _Finding(msgspec.Struct):
    severity: str = ""


class _RecordHead(msgspec.Struct):
    findings: list[_Finding] = []


_heads = msgspec.json.Decoder(_RecordHead)


def exit_code_of(state: RunState, run_dir: Path) -> int:
    """Return the exit code of `run`: the engine's, 4 when it died, 1 when a finding invalidates a complete run."""
    if state.exit_code != 0:
        return 4 if state.exit_code is None else state.exit_code
    try:
        head = _heads.decode(read_file(run_dir / RECORD_FILE))
    except (OSError, *NO_JSON):
        return 0
    return int(any(finding.severity == "error" for finding in head.findings))


@contextmanager
def interrupts_stop(run_dir: Path) -> Iterator[list[int]]:
    """Turn SIGINT into stop, then abort, of the run; the list yielded counts them. SIGTERM leaves the run going."""
    seen: list[int] = []

    def on_interrupt(number: int, _frame: object) -> None:
        seen.append(number)
        verb = "stop" if len(seen) == 1 else "abort"
        try:
            request(run_dir, {"verb": verb, "by": "Ctrl+C"})
            say(f"\n{verb} requested; " + ("once more aborts" if verb == "stop" else "ending at once"))
        except NotRunning:
            say(f"\nrun {run_dir.name} is not there to {verb}")

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


def await_record(run_dir: Path) -> None:
    """Wait until the engine has written the record; one that died leaves that to `runs recover`."""
    deadline = time.monotonic() + RECORD_PATIENCE_S
    while is_running(run_dir) and time.monotonic() < deadline:
        time.sleep(0.05)


def print_result(run_dir: Path, *, as_json: bool) -> None:
    """Print the record as one JSON document, or its summary."""
    from tui.results.report.summary import summary_text
    from tui.results.store.load import load_record, record_json

    path = run_dir / RECORD_FILE
    if as_json:
        sys.stdout.write(record_json(run_dir))
    else:
        print(summary_text(load_record(run_dir), path if path.exists() else None), end="")
