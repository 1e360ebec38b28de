"""File names in a run directory, and the umask that keeps them private."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

PLAN_FILE = "plan.json"
JOURNAL_FILE = "journal.jsonl"
RECORD_FILE = "run.json"
SUMMARY_FILE = "summary.json"  # a cache for lists; it can be deleted
MARKS_FILE = "marks.json"  # star, title, tags
LOOKS_FILE = "looks.json"  # what `benchtui ab` knew of its experiment after this run
PID_FILE = "engine.pid"
LOG_FILE = "engine.log"
RESERVE_FILE = "reserve"  # room for the last words of an engine whose disk is full
SOCKET_FILE = "control.sock"
ORIGIN_FILE = "origin.json"  # of a run that was unpacked: which file it came from
COMMAND_FILE = "command.txt"  # how to repeat the run, for people
TEXT_FILE = "summary.txt"  # what `runs show` printed at its end
# where the settings ask for it; of a run that was unpacked: as its packer read it
REPORT_FILE = "report.html"
SEAL_FILE = "seal.json"  # sums of plan, journal and raw output at the end, signed
RAW_DIR = "raw"

OF_THIS_MACHINE = frozenset((SUMMARY_FILE, PID_FILE, RESERVE_FILE, SOCKET_FILE, ORIGIN_FILE))
"""Files that mean nothing anywhere else: they are not packed."""

SLUG_LENGTH = 60


def begun_utc(run_id: str) -> datetime | None:
    """Return when a run began, by its id, to the second; None when the id is none of ours."""
    match = re.match(r"(\d{8}T\d{6})Z-", run_id)
    try:
        return (
            datetime.strptime(match[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
            if match is not None
            else None
        )
    except ValueError:
        return None


def new_run_id(tag: str, now: datetime | None = None) -> str:
    """Return an id that sorts by time and names the profile:
    20261120T101530Z-weka-read-iops-7f3a.
    """
    import secrets  # a fifth of what a list needs to start

    slug = re.sub(r"[^a-z0-9]+", "-", tag.lower()).strip("-")[:SLUG_LENGTH].rstrip("-")
    stamp = f"{(now or datetime.now(UTC)).astimezone(UTC):%Y%m%dT%H%M%SZ}"
    return "-".join(part for part in (stamp, slug, secrets.token_hex(2)) if part)


PRIVATE = 0o077
_given: list[int] = []  # the umask that this process was started with


def keep_private() -> None:
    """Make every file of this process 0600 and every directory 0700 at most."""
    before = os.umask(PRIVATE)
    if not _given:
        _given.append(before)


def given() -> int:
    """Return the umask of whoever started this process, for what it starts in turn.

    -1: as it is.
    """
    return _given[0] if _given else -1
