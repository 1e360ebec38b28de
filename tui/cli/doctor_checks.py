"""The checks of `benchtui doctor`: Python, limits, folders, settings, terminal."""

from __future__ import annotations

import importlib.util
import os
import platform
import resource
import shlex
import shutil
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tui
from tui.cli.shared.common import paths, paths_without_settings, user_settings
from tui.engine.preflight.logout import KILLS, KILLS_ADVICE, ends_at_logout, output_of
from tui.metrics import units
from tui.metrics.units import plural
from tui.model.paths import Paths, user_home
from tui.model.problem import UsageError
from tui.model.settings import Settings
from tui.model.tool import is_foreign
from tui.sources.base import SourceContext, installed_sources, load_source

if TYPE_CHECKING:
    from tui.workloads.base import Requirement

Status = Literal["ok", "warn", "fail"]
DEFAULTS = Settings()
GROUP_LIMIT_S = 10.0  # per source of an inventory group


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """The result of one check; `advice` says what to do, if anything.

    ``fail``: no run is possible on this machine. ``warn``: some uses are limited or impossible.
    """

    name: str
    status: Status
    message: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the checks read: environment, benchtui's folders, home directory, settings."""

    environ: Mapping[str, str]
    paths: Paths
    home: Path
    settings: Settings = DEFAULTS

    @classmethod
    def here(cls) -> Surroundings:
        """Return the surroundings of this process."""
        try:
            found, settings = paths(), user_settings()
        except UsageError:  # reported by the check of the settings
            found, settings = paths_without_settings(), DEFAULTS
        return cls(os.environ, found, user_home(os.environ), settings)

    @property
    def ssh_config(self) -> Path:
        """The user's SSH configuration: from the settings, otherwise ~/.ssh/config."""
        return self.settings.ssh_config or self.home / ".ssh" / "config"

    def which(self, command: str) -> str | None:
        """Return the path of a command; None if not found."""
        return shutil.which(command, path=self.environ.get("PATH", os.defpath))

    def output_of(self, *command: str) -> str | None:
        """Return the stripped output of a command.

        None if the command is missing, fails or times out.
        """
        return output_of(command, self.environ)

    def short(self, path: Path) -> str:
        """Return a path as text, with ~ for the user's home."""
        if path == self.home:
            return "~"
        return f"~/{path.relative_to(self.home)}" if path.is_relative_to(self.home) else str(path)


FILES_MINIMUM = 1024  # a connection takes a few; enough for 256 hosts


def python(_: Surroundings) -> DoctorCheck:
    """Check the interpreter, and whether the library of the screens has saved bytecode."""
    version = f"{platform.python_version()}, {sys.executable}"
    spec = importlib.util.find_spec("textual")  # finds, does not import
    if spec is None or spec.origin is None:
        return DoctorCheck(
            "python", "fail", f"{version}: package textual is missing", "reinstall benchtui"
        )
    if not Path(importlib.util.cache_from_source(spec.origin)).exists():
        advice = f"{sys.executable} -m compileall -q {Path(spec.origin).parent}"
        return DoctorCheck(
            "python",
            "warn",
            f"{version}: no saved bytecode: the app takes twice as long to start",
            advice,
        )
    return DoctorCheck("python", "ok", version)


def version(_: Surroundings) -> DoctorCheck:
    """Report the version of benchtui and where it is installed."""
    return DoctorCheck("benchtui", "ok", f"{tui.__version__}, {Path(tui.__file__).parent}")


def load_generator(surroundings: Surroundings) -> DoctorCheck:
    """Check the load generators on this machine, which only the host `local` uses."""
    from tui import workloads

    checks = [
        command(surroundings, need)
        for each in workloads.expected()
        for need in each.requirements(())
    ]
    return next((check for check in checks if check.status != "ok"), checks[0])


def command(surroundings: Surroundings, need: Requirement) -> DoctorCheck:
    """Check that a command is installed on this machine, and its version."""
    from tui.model.distributions import install_command, this_os
    from tui.remote.answers import version_of

    name, path = f"{need.command} here", surroundings.which(need.command)
    if path is None:
        how = install_command(this_os(), need.package) or f"install {need.command}"
        missing = f"{how}, or run on other hosts"
        return DoctorCheck(name, "warn", "not installed; needed for the host 'local'", missing)
    printed = surroundings.output_of(need.command, *need.version_args) or ""
    version, least = version_of(printed), need.minimum or (0, 0)
    if version is None:
        return DoctorCheck(
            name,
            "warn",
            f"{path} prints no version",
            f"{need.command} {' '.join(need.version_args)}",
        )
    if version < least:
        advice = f"{need.command} {least[0]}.{least[1]} or newer"
        return DoctorCheck(name, "warn", f"{printed}, {path}: too old for the host 'local'", advice)
    return DoctorCheck(name, "ok", f"{printed}, {path}")


def open_files(_: Surroundings) -> DoctorCheck:
    """Check the limit on open files, which includes sockets."""
    _soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)  # a run raises its own soft limit
    if most != resource.RLIM_INFINITY and most < FILES_MINIMUM:
        return DoctorCheck(
            "open files",
            "warn",
            f"limit {most}: {FILES_MINIMUM} or more recommended (enough for 256 hosts)",
            f"ulimit -Hn {FILES_MINIMUM}",
        )
    return DoctorCheck(
        "open files", "ok", "no limit" if most == resource.RLIM_INFINITY else f"limit {most}"
    )


def logout(surroundings: Surroundings) -> DoctorCheck:
    """Check whether systemd ends the user's processes at logout, including detached runs."""
    ends = ends_at_logout(surroundings.environ)
    if ends is None:
        unread = "cannot read systemd's KillUserProcesses; by default runs survive logout"
        return DoctorCheck("logout", "ok", unread)
    if ends:
        return DoctorCheck("logout", "warn", KILLS, KILLS_ADVICE)
    systemd = "" if Path("/run/systemd/system").is_dir() else " (no systemd here)"
    return DoctorCheck("logout", "ok", f"runs survive logout{systemd}")


COLUMNS, LINES = 80, 24
SLOW_ESCAPE_MS = 100


def terminal(surroundings: Surroundings) -> DoctorCheck:
    """Check whether this terminal can show the screens."""
    term = surroundings.environ.get("TERM", "")
    if not sys.stdout.isatty():
        return DoctorCheck("terminal", "ok", "no terminal: verbs work, the screens need one")
    if term in ("", "dumb", "unknown"):
        advice = "export TERM=xterm-256color, or the type of your terminal"
        return DoctorCheck(
            "terminal", "warn", f"TERM={term or '(not set)'} cannot position the cursor", advice
        )
    columns, lines = os.get_terminal_size(sys.stdout.fileno())
    message = f"{term}, {colours(surroundings)}, {columns}x{lines}"
    if (columns, lines) == (0, 0):
        return DoctorCheck("terminal", "ok", f"{term}, {colours(surroundings)}, unknown size")
    if columns < COLUMNS or lines < LINES:
        return DoctorCheck(
            "terminal", "warn", f"{message}: cramped", f"make it {COLUMNS}x{LINES} or larger"
        )
    return DoctorCheck("terminal", "ok", message)


def colours(surroundings: Surroundings) -> str:
    """Return the number of colours that the environment announces, as text."""
    environ = surroundings.environ
    if environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16 million colours"
    return (
        "256 colours" if environ.get("TERM", "").endswith(("256color", "kitty")) else "16 colours"
    )


def characters(surroundings: Surroundings) -> DoctorCheck:
    """Check that the locale is UTF-8, which curves and frames need."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    locale = next((value for name in names if (value := surroundings.environ.get(name))), "")
    if locale.lower().replace("-", "").endswith("utf8"):
        return DoctorCheck("characters", "ok", f"UTF-8 ({locale})")
    return DoctorCheck(
        "characters",
        "warn",
        f"locale is {locale}, not UTF-8" if locale else "locale is not set; UTF-8 is required",
        "export LC_ALL=C.UTF-8",
    )


def tmux(surroundings: Surroundings) -> DoctorCheck:
    """Check whether the screens run in tmux, and how long tmux delays the Escape key.

    In tmux the screens survive a lost connection.
    """
    if surroundings.environ.get("TMUX"):
        delay = surroundings.output_of("tmux", "show-options", "-sv", "escape-time") or ""
        if delay.isdigit() and int(delay) > SLOW_ESCAPE_MS:
            return DoctorCheck(
                "tmux",
                "warn",
                f"inside tmux, which delays Escape by {delay} ms",
                "tmux set -sg escape-time 20",
            )
        return DoctorCheck("tmux", "ok", "inside tmux: the screens survive a lost connection")
    if surroundings.environ.get("STY"):
        return DoctorCheck("tmux", "ok", "inside GNU screen: the screens survive a lost connection")
    found = "not in use" if surroundings.which("tmux") else "not installed"
    return DoctorCheck(
        "tmux",
        "ok",
        f"{found}: runs survive a lost connection; reopen them with benchtui attach",
    )


def editor(surroundings: Surroundings) -> DoctorCheck:
    """Check for an editor to edit profiles with."""
    chosen = surroundings.environ.get("VISUAL") or surroundings.environ.get("EDITOR") or ""
    if not chosen:
        if surroundings.which("vi"):
            return DoctorCheck("editor", "ok", "vi (EDITOR is not set)")
        return DoctorCheck(
            "editor",
            "warn",
            "EDITOR is not set, and vi is not installed",
            "export EDITOR=/path/to/editor",
        )
    try:
        command = shlex.split(chosen)[0]
    except (ValueError, IndexError):
        return DoctorCheck(
            "editor",
            "warn",
            f"EDITOR={chosen} is not a valid command",
            "export EDITOR=/path/to/editor",
        )
    if surroundings.which(command) is None:
        return DoctorCheck(
            "editor", "warn", f"EDITOR={chosen}: no such command", "export EDITOR=/path/to/editor"
        )
    return DoctorCheck("editor", "ok", chosen)


LOW_SPACE = 2**30
NO_SPACE = 64 * 2**20


def config(surroundings: Surroundings) -> DoctorCheck:
    """Check the directory for the inventory, profiles and pinned host keys.

    Only its owner may write to it.
    """
    advice = "needed for: hosts add, hosts trust, profiles edit"
    path = surroundings.paths.config
    return usable("config", surroundings, path, "warn", advice) or private(
        "config", surroundings, path, 0o022
    )


def data(surroundings: Surroundings) -> DoctorCheck:
    """Check whether the directory of runs is writable, and closed to other users."""
    advice = "choose another directory with BENCHTUI_HOME=DIR or XDG_DATA_HOME=DIR"
    path = surroundings.paths.runs
    return usable("data", surroundings, path, "fail", advice) or private(
        "data", surroundings, path, 0o077
    )


def settings(surroundings: Surroundings) -> DoctorCheck:
    """Check the user's settings. A broken file stops every verb that needs settings."""
    from tui.cli.shared.settings import read_settings

    path = surroundings.paths.settings
    try:
        read_settings(path)
    except UsageError as error:
        return DoctorCheck("settings", "fail", str(error.problems[0]), "benchtui config edit")
    there = (
        surroundings.short(path)
        if path.exists()
        else f"{surroundings.short(path)} does not exist: all defaults"
    )
    return DoctorCheck("settings", "ok", there)


def inventory(surroundings: Surroundings) -> DoctorCheck:
    """Check the inventory. Verbs that name hosts fail if a configured file is missing."""
    path, kept = surroundings.paths.inventory, surroundings.settings.inventory
    shown = surroundings.short(kept or path)
    if kept and not kept.is_file():
        return DoctorCheck(
            "inventory",
            "fail",
            f"{shown} (set in benchtui config) is not a file",
            "benchtui config unset inventory",
        )
    if not (kept or path.exists()):
        return DoctorCheck("inventory", "ok", f"{shown} does not exist; hosts add creates it")
    try:
        broken = broken_groups(kept or path, surroundings)
    except UsageError as error:
        return DoctorCheck("inventory", "fail", str(error.problems[0]), f"edit {shown}")
    if broken:
        group, why = next(iter(broken.items()))
        more = f", and {plural(len(broken) - 1, 'more group')}" if len(broken) > 1 else ""
        what = f"{shown}: @{group}: {why}{more}"
        return DoctorCheck("inventory", "warn", what, f"benchtui hosts list @{group}")
    return DoctorCheck("inventory", "ok", shown)


def broken_groups(path: Path, surroundings: Surroundings) -> dict[str, str]:
    """Return why groups of an inventory cannot be resolved, by group; allocates nothing.

    Raises UsageError for an invalid inventory.
    """
    from tui.engine.inputs.hosts import Fleet, read_inventory

    context = SourceContext.here()._replace(
        environ=surroundings.environ, time_limit_s=GROUP_LIMIT_S, pretends=True
    )
    fleet = Fleet(read_inventory(path), surroundings.ssh_config, context)
    broken: dict[str, str] = {}
    for group in fleet.sources:
        try:
            fleet.resolve([f"@{group}"])
        except UsageError as error:
            broken[group] = str(error.problems[0])
    return broken


def shared(surroundings: Surroundings) -> DoctorCheck:
    """Check directories with runs of other users.

    They are named in the environment, the settings, and the user's list.
    """
    from tui.library.runs import shared_directories

    try:
        found = shared_directories(
            surroundings.paths, surroundings.environ, (), surroundings.settings.shared
        )
    except UsageError as error:
        return DoctorCheck(
            "shared", "warn", str(error.problems[0]), f"check {surroundings.paths.shared_runs}"
        )
    missing = [
        surroundings.short(path)
        for path in found
        if not (path.is_dir() and os.access(path, os.R_OK | os.X_OK))
    ]
    if missing:
        advice = (
            "mount it, or remove it from benchtui config shared, BENCHTUI_SHARED_RUNS or"
            " the shared-runs file"
        )
        return DoctorCheck("shared", "warn", f"cannot be read: {', '.join(missing)}", advice)
    return DoctorCheck(
        "shared",
        "ok",
        ", ".join(map(surroundings.short, found)) or "no directories with other people's runs",
    )


def usable(
    name: str, surroundings: Surroundings, path: Path, status: Status, advice: str
) -> DoctorCheck | None:
    """Return a failed check for an unusable directory; None if it is usable.

    `status` and `advice` are those of the failed check.
    """
    shown = surroundings.short(path)
    parent = nearest_existing(path)
    if path.exists() and not path.is_dir():
        return DoctorCheck(name, status, f"{shown} is not a directory", advice)
    if not parent.is_dir() or not os.access(parent, os.R_OK | os.W_OK | os.X_OK):
        what = (
            "is not writable"
            if parent == path
            else f"cannot be created: {parent} is not a writable directory"
        )
        return DoctorCheck(name, status, f"{shown} {what}", advice)
    return None


def private(name: str, surroundings: Surroundings, path: Path, forbidden: int) -> DoctorCheck:
    """Check the mode of a directory; `forbidden`: permission bits other users must not have."""
    shown = surroundings.short(path)
    if not path.exists():
        return DoctorCheck(name, "ok", f"{shown} (created when needed)")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & forbidden:
        return DoctorCheck(
            name, "warn", f"{shown} is open to other users (mode {mode:04o})", f"chmod 700 {path}"
        )
    return DoctorCheck(name, "ok", shown)


def nearest_existing(path: Path) -> Path:
    """Return a path, or its nearest parent that exists."""
    return next(candidate for candidate in (path, *path.parents) if candidate.exists())


def space(surroundings: Surroundings) -> DoctorCheck:
    """Check the free space for runs: each host needs about 40 kB/s before compression."""
    where = nearest_existing(surroundings.paths.runs)
    found = os.statvfs(where)
    free = found.f_bavail * found.f_frsize
    message = f"{units.size(free)} free for runs in {surroundings.short(where)}"
    if free < NO_SPACE:
        return DoctorCheck(
            "free space", "fail", message, "free some space, or set BENCHTUI_HOME=DIR"
        )
    if free < LOW_SPACE:
        return DoctorCheck(
            "free space", "warn", f"only {message}", "free some space, or set BENCHTUI_HOME=DIR"
        )
    return DoctorCheck("free space", "ok", message)


def runs(surroundings: Surroundings) -> DoctorCheck:
    """Report the number of saved runs, their size, and which ended abnormally."""
    from tui.library.runs import RunStore

    summaries = RunStore(surroundings.paths.runs).list()
    if not summaries:
        return DoctorCheck("runs", "ok", "none yet")
    size = units.size(
        sum(size_of(surroundings.paths.runs / summary.run_id) for summary in summaries)
    )
    running = sum(summary.state == "running" for summary in summaries)
    message = f"{plural(len(summaries), 'run')}, {size}, {running} running"
    broken = [
        summary.run_id for summary in summaries if summary.state in ("interrupted", "unreadable")
    ]
    if not broken:
        return DoctorCheck("runs", "ok", message)
    return DoctorCheck(
        "runs",
        "warn",
        f"{message}; {len(broken)} did not end properly, newest: {broken[0]}",
        f"benchtui runs show {broken[0]} (measurements are kept), or runs rm",
    )


def size_of(run_dir: Path) -> int:
    """Return the size of a run directory in bytes; files that vanish meanwhile count as 0."""
    total = 0
    for folder_path, _, names in os.walk(run_dir):
        for name in names:
            with suppress(OSError):
                total += (Path(folder_path) / name).lstat().st_size
    return total


def sources(surroundings: Surroundings) -> DoctorCheck:
    """Check the sources of hosts, for --hosts and for inventory groups."""
    context = SourceContext.here()._replace(environ=surroundings.environ)
    states, broken = [], []
    for name, point in installed_sources().items():
        try:
            state = load_source(name).state(context)
        except UsageError as error:
            broken.append(str(error))
            continue
        whose = f" from {point.value}" if is_foreign(point) else ""
        states.append(f"{name}{whose}{f' ({state})' if state else ''}")
    if broken:
        return DoctorCheck("sources", "warn", "; ".join(broken), "uninstall or repair the package")
    return DoctorCheck("sources", "ok", ", ".join(states))
