"""Checks of this machine: Python, benchtui itself, load generators, limits, what happens to processes at logout."""

from __future__ import annotations

import importlib.util
import platform
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import tui
from tui.cli.checks import Check, Surroundings
from tui.engine.safety.logout import KILLS, KILLS_ADVICE, ends_at_logout

if TYPE_CHECKING:
    from tui.workloads.base import Requirement

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


def load_generator(surroundings: Surroundings) -> Check:
    """What hosts are expected to have, on this machine; only runs on the host `local` use it."""
    from tui import workloads

    checks = [command(surroundings, need) for each in workloads.expected() for need in each.requirements(())]
    return next((check for check in checks if check.status != "ok"), checks[0])


def command(surroundings: Surroundings, need: Requirement) -> Check:
    """A command of this machine, and whether it is new enough."""
    from tui.remote.probe import version_of

    name, path = f"{need.command} here", surroundings.which(need.command)
    if path is None:
        missing = f"install {need.command}, or run on others"
        return Check(name, "warn", "not installed: the host 'local' cannot run", missing)
    printed = surroundings.output_of(need.command, *need.version_args) or ""
    version, least = version_of(printed), need.minimum or (0, 0)
    if version is None:
        return Check(name, "warn", f"{path} does not say its version", f"{need.command} {' '.join(need.version_args)}")
    if version < least:
        advice = f"{need.command} {least[0]}.{least[1]} or newer"
        return Check(name, "warn", f"{printed}, {path}: too old for the host 'local'", advice)
    return Check(name, "ok", f"{printed}, {path}")


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
