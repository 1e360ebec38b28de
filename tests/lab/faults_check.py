"""What must hold of every run, whatever was done to it.

Each check returns violations in words; none is good.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import jsonschema

from tests.lab.faults_run import LiveRun
from tests.lab.faults_spool import Spooled, ios_of, last_object
from tui.model.event import TaskEnded
from tui.model.record import run_json_schema
from tui.remote.stream import FLOODED

Record = dict[str, Any]


def violations(run: LiveRun, record: Record) -> list[str]:
    """Return everything about a run that must not be."""
    found = [*schema_violations(record), *state_violations(record)]
    for spooled in run.spool.tasks():
        found += [
            f"{spooled}: {text}"
            for text in spool_violations(spooled, run.of_type(TaskEnded), record)
        ]
    return found


def schema_violations(record: Record) -> Iterator[str]:
    validator = jsonschema.Draft202012Validator(run_json_schema())
    for error in validator.iter_errors(record):
        yield f"run.json: {error.json_path}: {error.message[:120]}"


def state_violations(record: Record) -> Iterator[str]:
    """`complete` is only for runs of which nothing was lost; what is not complete says why."""
    results = [step["results"]["per_host"] for step in record["steps"]]
    hosts = [host["name"] for host in record["hosts"]]
    problems = [problem for host in record["hosts"] for problem in host["problems"]]
    if record["state"] == "complete":
        yield from (
            f"complete without a result of {name}"
            for step in results
            for name in hosts
            if name not in step
        )
        yield from (f"complete with the problem {problem['code']}" for problem in problems)
    elif not record["reason"]:
        yield f"{record['state']} without a reason"
    if record["state"] in ("complete", "partial") and not any(results):
        yield f"{record['state']} without any result"


def spool_violations(spooled: Spooled, ends: Iterable[TaskEnded], record: Record) -> Iterator[str]:
    """Bytes collected equal bytes spooled, or the record names the gap; results are fio's own."""
    key = (spooled.step, spooled.phase, spooled.host)
    end = next((each for each in ends if (each.step, each.phase, each.host) == key), None)
    if not spooled.honest and not (spooled.cut and end is not None and end.reason == FLOODED):
        yield "what was collected is not the beginning of what was spooled"
    if not spooled.whole and not names_a_gap(spooled.host, end, record):
        yield "bytes are missing, and the record does not say so"
    if end is not None and end.collected:
        if not spooled.whole:
            yield "said to be collected, and is not whole"
        if (end.stdout_bytes, end.stderr_bytes) != (len(spooled.out), len(spooled.err)):
            yield f"the journal counts {end.stdout_bytes} + {end.stderr_bytes} bytes"
    if spooled.phase == "measure":
        yield from result_violations(spooled, record)


def names_a_gap(host: str, end: TaskEnded | None, record: Record) -> bool:
    """Whether a record says of a host that not everything has arrived."""
    own = next(each for each in record["hosts"] if each["name"] == host)
    not_whole = end is None or not end.collected
    return (
        record["state"] != "complete"
        and not_whole
        and bool(own["problems"] or own["detail"] or end is None)
    )


def result_violations(spooled: Spooled, record: Record) -> Iterator[str]:
    """The result of a host is the last whole object that fio printed, as far as it has arrived."""
    results = record["steps"][spooled.step]["results"]["per_host"].get(spooled.host)
    printed = last_object(spooled.collected_out)
    if results is None or printed is None:
        if results is not None and not any(part["from_samples"] for part in results.values()):
            yield "a result out of nothing"
        return
    ours = sum(part["ios"] for name, part in results.items() if name in ("read", "write"))
    rebuilt = any(part["from_samples"] for part in results.values())
    if ours != ios_of(printed) and not rebuilt:
        yield f"the record counts {ours} I/Os, fio {ios_of(printed)}"


def problem_codes(record: Record, host: str) -> set[str]:
    """Return the codes of what went wrong on a host."""
    return {
        problem["code"]
        for each in record["hosts"]
        if each["name"] == host
        for problem in each["problems"]
    }
