"""Verifying a run: its kept files, its journal against the raw output, its record against the journal."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tui.journal.plan_file import load_plan
from tui.journal.reader import read_events
from tui.journal.search import plan_as_run
from tui.journal.state import RunState
from tui.model.bounded import read_file
from tui.model.plain import printable
from tui.model.plan import Plan
from tui.model.problem import BenchtuiError, UsageError
from tui.model.record import RunRecord
from tui.model.rundir import JOURNAL_FILE, RECORD_FILE
from tui.results.store.build import build_record
from tui.results.store.load import load_record
from tui.results.store.sums import damaged
from tui.results.verify.documents import differences, leaves
from tui.results.verify.raw import raw_differences

RANK = {None: 0, "valid": 1, "valid-with-warnings": 2, "invalid": 3}
JUDGEMENTS = ("findings", "checks", "checks_not_made", "verdict")


@dataclass
class Verified:
    """What was looked at and what differs. `underived`: why nothing could be derived again, empty when it was."""

    run_id: str
    differs: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    underived: str = ""
    files: int = 0
    results: int = 0  # results and samples that were read again from the raw output
    values: int = 0  # values of run.json that were derived again

    @property
    def exit_code(self) -> int:
        """0: all is as it says; 1: something differs; 3: there is nothing that it could be derived from."""
        return 1 if self.differs else 3 if self.underived else 0


def verify_run(run_dir: Path) -> Verified:
    """Hold the record of a run that is over against everything that it was made of. Raises BenchtuiError."""
    record = load_record(run_dir)
    found = Verified(printable(run_dir.name), files=len(record.provenance.artefacts))
    found.differs += damaged(run_dir, record.provenance.artefacts)
    if not (run_dir / RECORD_FILE).exists():
        found.underived = f"it has no {RECORD_FILE} that could be held against its journal"
    elif (run_dir / JOURNAL_FILE).exists():
        _derive_again(run_dir, found)
    elif record.state == "imported" and record.provenance.imported is not None:
        _import_again(run_dir, record, found)
    elif record.state == "imported":
        found.underived = "it was imported by a version that did not keep how its files were read; they are as kept"
    else:
        found.underived = "it has no journal"
    return found


def _as_run(run_dir: Path, plan: Plan) -> Plan:
    """Return a plan as it was run: what a search offered stands in the journal."""
    if plan.search is None:
        return plan
    return plan_as_run(plan, RunState().apply_all(read_events(run_dir / JOURNAL_FILE, stamps=True)).search)


def _derive_again(run_dir: Path, found: Verified) -> None:
    try:
        plan = load_plan(run_dir)
        found.results, differs = raw_differences(run_dir, _as_run(run_dir, plan))
        derived = build_record(run_dir)
        kept = _decoded(read_file(run_dir / RECORD_FILE))
    except OSError as error:
        raise BenchtuiError(f"{run_dir.name}: {error.filename}: cannot be read: {error.strerror}") from error
    found.differs += differs
    _hold(kept, derived, found)


def _import_again(run_dir: Path, record: RunRecord, found: Verified) -> None:
    """Read the kept files of an imported run as they were read then; of files that were changed nothing is derived."""
    from tui.results.imports.keep import read_again

    if found.differs:
        return
    try:
        found.results, derived = read_again(run_dir, record)
        kept = _decoded(read_file(run_dir / RECORD_FILE))
    except UsageError as error:
        found.differs += [f"cannot be imported again: {problem}" for problem in error.problems]
        return
    except OSError as error:
        raise BenchtuiError(f"{run_dir.name}: {error.filename}: cannot be read: {error.strerror}") from error
    derived.run_id = str(kept.get("run_id"))
    derived.notes = record.notes
    derived.provenance.benchtui_version = record.provenance.benchtui_version
    _hold(kept, derived, found)


def _decoded(text: bytes | str) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(text)
    return found


def _hold(kept: dict[str, Any], derived: RunRecord, found: Verified) -> None:
    """Hold every value that was kept against the derived one."""
    again = _decoded(derived.to_json())
    if kept.get("checks") != again["checks"]:
        _other_checks(kept, derived, found)
        kept = {name: value for name, value in kept.items() if name not in JUDGEMENTS}
    found.values = leaves(kept)
    found.differs += differences(kept, again)


def _other_checks(kept: dict[str, Any], derived: RunRecord, found: Verified) -> None:
    """Another version judged it, or somebody took checks away: what counts is whether the verdict was too good."""
    said = kept.get("verdict")
    found.remarks.append(
        "it was judged by other checks than this version makes: findings are not compared, figures are"
    )
    if said is not None and RANK.get(said, 0) < RANK[derived.verdict]:
        weakened = sorted({each.id for each in derived.findings if each.severity != "info"})
        found.differs.append(
            f"verdict: {said} in run.json, {derived.verdict} by the checks of this version ({', '.join(weakened)})"
        )
