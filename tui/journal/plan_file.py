"""The plan of a run as it lies beside its journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tui.model.bounded import read_file
from tui.model.no_json import NO_JSON
from tui.model.problem import BenchtuiError, Problem
from tui.model.rundir import JOURNAL_FILE, PLAN_FILE

if TYPE_CHECKING:
    from tui.model.plan import Plan


def load_plan(run_dir: Path) -> Plan:
    """Return the plan of a run directory. Raises BenchtuiError when there is none that can be read."""
    from tui.model.plan import parse_plan  # lists of runs need none of its structs

    path = run_dir / PLAN_FILE
    try:
        return parse_plan(read_file(path))
    except FileNotFoundError:
        raise BenchtuiError(Problem(f"is gone{_advice_without_plan(run_dir)}", file=str(path))) from None
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be read: {error.strerror}", file=str(path))) from error
    except NO_JSON as error:
        raise BenchtuiError(Problem(f"is no plan: {error}{_advice_without_plan(run_dir)}", file=str(path))) from error


def plan_bytes(plan: Plan) -> bytes:
    """Return a plan as its file has it."""
    from msgspec import json  # lists of runs need none of it

    return json.format(json.encode(plan))


def _advice_without_plan(run_dir: Path) -> str:
    """Return what can be done about hosts whose plan is lost."""
    from tui.journal.reader import read_events
    from tui.model.event import RunStarted

    journal = run_dir / JOURNAL_FILE
    events = read_events(journal, stamps=True) if journal.is_file() else ()
    hosts = next((event.hosts for event in events if isinstance(event, RunStarted)), None)
    spec = ",".join(hosts) if hosts else "SPEC"
    return (
        "; without it the run can be neither recovered nor shown. What its hosts"
        f"{f' ({spec})' if hosts else ''} still hold of it is ended and removed by: "
        f"benchtui hosts sweep {spec} --run {run_dir.name}"
    )
