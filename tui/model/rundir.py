"""File names in a run directory, and the umask that keeps them private."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

PLAN_FILE = "plan.json"
JOURNAL_FILE = "journal.jsonl"
RECORD_FILE = "run.json"
SUMMARY_FILE = "summary.json"  # a cache for lists; may be deleted
MARKS_FILE = "marks.json"  # star, title, tags
LOOKS_FILE = "looks.json"  # state of a `benchtui ab` experiment after this run
PID_FILE = "engine.pid"
LOG_FILE = "engine.log"
RESERVE_FILE = "reserve"  # room for the last events of an engine with a full disk
SOCKET_FILE = "control.sock"
ORIGIN_FILE = "origin.json"  # of an unpacked run: the file it came from
COMMAND_FILE = "command.txt"  # how to repeat the run, for users
TEXT_FILE = "summary.txt"  # output of `runs show` at its end
# if the settings ask for it; for an unpacked run, as packed
REPORT_FILE = "report.html"
SEAL_FILE = "seal.json"  # checksums of plan, journal and raw output at the end, signed
RAW_DIR = "raw"

OF_THIS_MACHINE = frozenset((SUMMARY_FILE, PID_FILE, RESERVE_FILE, SOCKET_FILE, ORIGIN_FILE))
"""Files that are only valid on this machine, and therefore not packed."""

SLUG_LENGTH = 60


def begun_utc(run_id: str) -> datetime | None:
    """Return the start of a run from its id, to the second; None if the id is not benchtui's."""
    match = re.match(r"(\d{8}T\d{6})Z-", run_id)
    try:
        return (
            datetime.strptime(match[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
            if match is not None
            else None
        )
    except ValueError:
        return None


def own_begun_utc(run_id: str) -> datetime | None:
    """Return the start of a run from an id in the form of `new_run_id`; None for other names."""
    own = re.fullmatch(r"\d{8}T\d{6}Z(-[a-z0-9]+)*-[0-9a-f]{4}", run_id)
    return begun_utc(run_id) if own is not None else None


def new_run_id(tag: str, now: datetime | None = None) -> str:
    """Return a new run id that sorts by time and contains the profile:
    20261120T101530Z-weka-read-iops-7f3a.
    """
    import secrets  # a fifth of the start-up time of a list

    slug = re.sub(r"[^a-z0-9]+", "-", tag.lower()).strip("-")[:SLUG_LENGTH].rstrip("-")
    stamp = f"{(now or datetime.now(UTC)).astimezone(UTC):%Y%m%dT%H%M%SZ}"
    return "-".join(part for part in (stamp, slug, secrets.token_hex(2)) if part)


PRIVATE = 0o077
_given: list[int] = []  # the original umask of this process


def keep_private() -> None:
    """Set the umask so that files of this process get at most mode 0600, directories 0700."""
    before = os.umask(PRIVATE)
    if not _given:
        _given.append(before)


def original_umask() -> int:
    """Return the umask that this process was started with, for child processes; -1 if it was not
    changed.
    """
    return _given[0] if _given else -1
