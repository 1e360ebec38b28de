"""Checks of benchtui's own folders: where they are, who may read them, how much room is left, unfinished runs."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from tui.cli.checks import Check, Status, Surroundings
from tui.metrics import units
from tui.metrics.units import plural
from tui.model.problem import UsageError

LOW_SPACE = 2**30
NO_SPACE = 64 * 2**20


def config(surroundings: Surroundings) -> Check:
    """The folder of inventory, profiles and pinned host keys: nobody else may write there."""
    advice = "needed for: hosts add, hosts trust, profiles edit"
    path = surroundings.paths.config
    return usable("config", surroundings, path, "warn", advice) or private("config", surroundings, path, 0o022)


def data(surroundings: Surroundings) -> Check:
    """The folder of the runs: without it no run can be kept, and what is in it concerns nobody else."""
    advice = "choose another with BENCHTUI_HOME=DIR or XDG_DATA_HOME=DIR"
    path = surroundings.paths.runs
    return usable("data", surroundings, path, "fail", advice) or private("data", surroundings, path, 0o077)


def settings(surroundings: Surroundings) -> Check:
    """The user's settings: where they are broken, only verbs that need none of them work."""
    from tui.cli.shared.settings import read_settings

    path = surroundings.paths.settings
    try:
        read_settings(path)
    except UsageError as error:
        return Check("settings", "fail", str(error.problems[0]), "benchtui config edit")
    there = surroundings.short(path) if path.exists() else f"{surroundings.short(path)} is not there: all defaults"
    return Check("settings", "ok", there)


def inventory(surroundings: Surroundings) -> Check:
    """The inventory: verbs that name hosts stop where the one of the settings is missing."""
    path, kept = surroundings.paths.inventory, surroundings.settings.inventory
    shown = surroundings.short(kept or path)
    if kept and not kept.is_file():
        return Check("inventory", "fail", f"{shown} of the settings is no file", "benchtui config unset inventory")
    return Check("inventory", "ok", shown if kept or path.exists() else f"{shown} (made by hosts add)")


def shared(surroundings: Surroundings) -> Check:
    """Directories with runs of others, by the environment, the settings and the user's list."""
    from tui.results.store.shared import shared_directories

    try:
        found = shared_directories(surroundings.paths, surroundings.environ, (), surroundings.settings.shared)
    except UsageError as error:
        return Check("shared", "warn", str(error.problems[0]), f"look at {surroundings.paths.shared_runs}")
    missing = [surroundings.short(path) for path in found if not (path.is_dir() and os.access(path, os.R_OK | os.X_OK))]
    if missing:
        advice = "mount it, or take it out of benchtui config shared, BENCHTUI_SHARED_RUNS, shared-runs"
        return Check("shared", "warn", f"cannot be read: {', '.join(missing)}", advice)
    return Check("shared", "ok", ", ".join(map(surroundings.short, found)) or "no directories with runs of others")


def usable(name: str, surroundings: Surroundings, path: Path, status: Status, advice: str) -> Check | None:
    """Return a check of `status` for a folder that cannot be used, None for one that can."""
    shown = surroundings.short(path)
    parent = nearest_existing(path)
    if path.exists() and not path.is_dir():
        return Check(name, status, f"{shown} is not a directory", advice)
    if not parent.is_dir() or not os.access(parent, os.R_OK | os.W_OK | os.X_OK):
        what = "is not writable" if parent == path else f"cannot be made: {parent} is not a writable directory"
        return Check(name, status, f"{shown} {what}", advice)
    return None


def private(name: str, surroundings: Surroundings, path: Path, forbidden: int) -> Check:
    """Judge the mode of a folder; `forbidden` are the bits that other users must not have."""
    shown = surroundings.short(path)
    if not path.exists():
        return Check(name, "ok", f"{shown} (made when first needed)")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & forbidden:
        return Check(name, "warn", f"{shown} is open to other users (mode {mode:04o})", f"chmod 700 {path}")
    return Check(name, "ok", shown)


def nearest_existing(path: Path) -> Path:
    """Return the path itself or the nearest folder above it that exists."""
    return next(candidate for candidate in (path, *path.parents) if candidate.exists())


def space(surroundings: Surroundings) -> Check:
    """Room for runs. A host's run takes about 40 KB for each second it measures, before it is compressed."""
    where = nearest_existing(surroundings.paths.runs)
    found = os.statvfs(where)
    free = found.f_bavail * found.f_frsize
    message = f"{units.size(free)} for runs, on {surroundings.short(where)}"
    if free < NO_SPACE:
        return Check("free space", "fail", message, "make room, or BENCHTUI_HOME=DIR elsewhere")
    if free < LOW_SPACE:
        return Check("free space", "warn", f"only {message}", "make room, or BENCHTUI_HOME=DIR elsewhere")
    return Check("free space", "ok", message)


def runs(surroundings: Surroundings) -> Check:
    """How many runs are kept, what they take, and which of them never came to an end."""
    from tui.results.store.runs import RunStore

    summaries = RunStore(surroundings.paths.runs).list()
    if not summaries:
        return Check("runs", "ok", "none yet")
    size = units.size(sum(size_of(surroundings.paths.runs / summary.run_id) for summary in summaries))
    running = sum(summary.state == "running" for summary in summaries)
    message = f"{plural(len(summaries), 'run')}, {size}, {running} running"
    broken = [summary.run_id for summary in summaries if summary.state in ("interrupted", "unreadable")]
    if not broken:
        return Check("runs", "ok", message)
    return Check(
        "runs",
        "warn",
        f"{message}; {len(broken)} did not end properly, the newest: {broken[0]}",
        f"benchtui runs show {broken[0]} (what was measured is kept), or runs rm",
    )


def size_of(run_dir: Path) -> int:
    """Return the bytes of all files of a run; files that go away meanwhile count nothing."""
    total = 0
    for folder_path, _, names in os.walk(run_dir):
        for name in names:
            with suppress(OSError):
                total += (Path(folder_path) / name).lstat().st_size
    return total
