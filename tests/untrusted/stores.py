"""Runs whose every text is poisoned: our own, one without a record, a shared one, one that was
unpacked.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec

from tests.app.journal_maker import host_names
from tests.app.search_maker import SearchMaker
from tests.untrusted.poison import Poison
from tui.analysis.ab import _LooksFile as LooksFile
from tui.library.build import build_record
from tui.library.pack import pack
from tui.library.summary import RunMarks
from tui.library.verify import unpack
from tui.model.event import AnyEvent
from tui.model.plan import Plan
from tui.model.record import RunRecord

DATA = Path(__file__).parents[1] / "data"
OWN, JUDGED, CUT = (
    "20261119T080000Z-mix-0001",
    "20261119T090000Z-recovered-0002",
    "20261120T080000Z-lost-0003",
)
TWIN, SEARCHED = "20261119T100000Z-mix-0006", "20261116T080000Z-oltp-0007"
SHARED, UNPACKED = "20261118T080000Z-sweep-0004", "20261117T080000Z-mdtest-0005"


def poisoned_run(case: Path, run_dir: Path, *, record: bool = True) -> Poison:
    """Make a run whose plan, journal, marks and looks are poisoned, and its record."""
    poison = Poison()
    run_dir.mkdir(parents=True)
    _write(run_dir / "plan.json", poison.value(json.loads((case / "plan.json").read_bytes()), Plan))
    lines = [
        poison.value(json.loads(line), AnyEvent, "journal")
        for line in (case / "journal.jsonl").open("rb")
    ]
    (run_dir / "journal.jsonl").write_bytes(
        b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    )
    _write(run_dir / "marks.json", poison.value({"starred": True}, RunMarks))
    _write(run_dir / "looks.json", poison.value({}, LooksFile))
    if record:
        told = json.loads(build_record(case).to_json()) | {"run_id": run_dir.name}
        _write(run_dir / "run.json", poison.value(told, RunRecord))
    if (case / "raw").is_dir():
        shutil.copytree(case / "raw", run_dir / "raw")
    return poison


def searched(home: Path) -> Path:
    """Make a run that searched for a capacity, the newest of all; return its directory."""
    maker = SearchMaker(
        home / SEARCHED, host_names(4), tag="lab/oltp", utc="2026-11-23T08:00:00.000000Z"
    )
    maker.plan_search().measure_points().finish()
    return maker.run_dir


def _measured_again(case: Path, copy: Path) -> Path:
    """Copy a run with other output and slightly other latencies: another measurement."""
    shutil.copytree(case, copy)
    journal = copy / "journal.jsonl"
    deviates = re.sub(
        r'"stddev_ns":([0-9.]+)',
        lambda found: f'"stddev_ns":{1.0001 * float(found[1])}',
        journal.read_text(),
    )
    journal.write_text(re.sub(r'("sha256":")[0-9a-f]{2}', r"\g<1>00", deviates))
    return copy


def _write(path: Path, value: Any) -> None:
    """Write JSON in which nothing is escaped that need not be: C1 and what turns text around stand
    as they are.
    """
    path.write_bytes(msgspec.json.encode(value))


def poisoned_stores(home: Path, tmp_path: Path) -> Path:
    """Fill the store of a home; return the shared directory."""
    runs, shared = home / "runs", tmp_path / "shared"
    poisoned_run(DATA / "journals" / "mix", runs / OWN)
    poisoned_run(_measured_again(DATA / "journals" / "mix", tmp_path / "twin"), runs / TWIN)
    poisoned_run(DATA / "runs" / "recovered", runs / JUDGED)
    poisoned_run(DATA / "journals" / "lost", runs / CUT, record=False)
    poisoned_run(searched(tmp_path / "made"), runs / SEARCHED)
    poisoned_run(DATA / "runs" / "sweep", shared / SHARED)
    (shared / "20261118T090000Z-\x1b]0;N\x07-0006").mkdir()
    poisoned_run(DATA / "runs" / "mdtest", tmp_path / "elsewhere" / UNPACKED)
    pack(tmp_path / "elsewhere" / UNPACKED, tmp_path / "packed.benchtui")
    unpack(tmp_path / "packed.benchtui", runs)
    return shared
