"""The journal's writer."""

from __future__ import annotations

from pathlib import Path

from tui.journal.writer import Journal
from tui.model.event import HostProblem, Message, decode
from tui.model.rundir import JOURNAL_FILE


def test_event_is_on_disk_when_append_returns(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(Message(t=0.0, severity="info", text="hello"))
    line = (tmp_path / JOURNAL_FILE).read_bytes()
    assert line.endswith(b"\n")
    assert decode(line) == Message(t=decode(line).t, severity="info", text="hello")


def test_events_are_stamped_in_order(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    stamps = [journal.append(Message(t=99.0, severity="info", text=str(n))).t for n in range(50)]
    assert stamps == sorted(stamps)
    assert stamps[-1] < 99.0


def test_journal_is_private(tmp_path: Path) -> None:
    Journal(tmp_path).close()
    assert (tmp_path / JOURNAL_FILE).stat().st_mode & 0o777 == 0o600


def test_problems_are_counted(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(Message(t=0.0, severity="error", text="not a host's problem"))
    journal.append(HostProblem(t=0.0, host="h1", phase="measure", code="x", message="y", fatal=False))
    assert journal.problems == 1
