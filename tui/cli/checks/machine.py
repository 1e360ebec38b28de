"""Checks of this machine: Python, benchtui itself, fio, limits, what happens to processes at logout."""

from __future__ import annotations

import importlib.util
import platform
import re
import resource
import sys
from pathlib import Path

import tui
from tui.cli.checks import Check, Surroundings
from tui.engine.safety.logout import KILLS, KILLS_ADVICE, ends_at_logout

FILES_MINIMUM = 1024  # a connection takes a few; 256 hosts fit


def python(_: Surroundings) -> Check:
    """The interpreter, and whether the screens' library is compiled."""
    version = f"{platform.python_version()}, {sys.executable}"
    spec = importlib.util.find_spec("textual")  # finds, does not import
    if spec is None or spec.origin is None:
        return Check("python", "fail", f"{version}: the package textual is missing", "install benchtui again")
    if not Path(importlib.util.cache_from_source(spec.origin)).exists():
        advice = f"{sys.executable} -m compileall -q {Path(spec.origin).parent}"
        return Check("python", "warn", f"{version}: no saved bytecode, the screens open half as fast", advice)
    return Check("python", "ok", version)


def version(_: Surroundings) -> Check:
    """Which benchtui this is, and from where."""
    return Check("benchtui", "ok", f"{tui.__version__}, {Path(tui.__file__).parent}")


def fio(surroundings: Surroundings) -> Check:
    """The fio of this machine; only runs on the host `local` use it."""
    from tui import workloads

    least = workloads.get("fio").minimum_version
    path = surroundings.which("fio")
    if path is None:
        return Check("fio here", "warn", "not installed: the host 'local' cannot run", "install fio, or run on others")
    printed = surroundings.output_of("fio", "--version") or ""
    found = re.match(r"fio-(\d+)\.(\d+)", printed)
    if found is None:
        return Check("fio here", "warn", f"{path} does not say its version", "fio --version")
    if tuple(map(int, found.groups())) < least:
        advice = f"fio {least[0]}.{least[1]} or newer"
        return Check("fio here", "warn", f"{printed}, {path}: too old for the host 'local'", advice)
    return Check("fio here", "ok", f"{printed}, {path}")


def open_files(_: Surroundings) -> Check:
    """How many files and sockets this user's processes may have open."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < FILES_MINIMUM:
        return Check("open files", "warn", f"limit {soft}: too low for some 100 hosts", f"ulimit -n {FILES_MINIMUM}")
    return Check("open files", "ok", "no limit" if soft == resource.RLIM_INFINITY else f"limit {soft}")


def logout(surroundings: Surroundings) -> Check:
    """Whether systemd ends a user's processes, a detached run among them, when the user logs out."""
    ends = ends_at_logout(surroundings.environ)
    if ends is None:
        unread = "systemd's KillUserProcesses is not readable here; its usual value lets runs go on"
        return Check("logout", "ok", unread)
    if ends:
        return Check("logout", "warn", KILLS, KILLS_ADVICE)
    systemd = "" if Path("/run/systemd/system").is_dir() else " (no systemd here)"
    return Check("logout", "ok", f"runs go on after logout{systemd}")
