"""`benchtui` without a verb: open the screens."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from tui.cli.shared.common import add_flag, add_host_files, pairs, paths, user_settings
from tui.model.problem import UsageError
from tui.model.settings import SYMBOLS, THEMES, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tui.app.frame.shell import Options
    from tui.engine.inputs.hosts import Fleet

# collections of the youngest generation before one of the next: with Python's 10, that one took
# 60 ms
PASSES = 4


class Appearance(TypedDict):
    """The app's colours and characters, and the function that saves a choice of them."""

    theme: str | None
    symbols: str | None
    remember: Callable[[str, str], None] | None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the screens."""
    add_host_files(parser)
    parser.add_argument(
        "--hosts",
        nargs="+",
        action="extend",
        default=[],
        metavar="SPEC",
        help="select these hosts, @groups, ranges or local",
    )
    parser.add_argument(
        "--servers",
        nargs="+",
        action="extend",
        default=[],
        metavar="SPEC",
        help="select storage nodes to monitor",
    )
    parser.add_argument("--profile", metavar="NAME", help="select this profile")
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a parameter",
    )
    add_flag(parser, "--review", "open on Review, where Enter starts the run")
    parser.add_argument(
        "--theme",
        choices=THEMES,
        help="colour theme (default: dark; ansi if TERM has only 16 colours)",
    )
    parser.add_argument(
        "--symbols",
        choices=SYMBOLS,
        help="characters for graphs (default: the best the terminal can show)",
    )
    add_flag(parser, "--no-mouse", "leave the mouse to the terminal, for selecting text")


def main(args: argparse.Namespace) -> int:
    """Open the screens and return the exit code."""
    check_terminal()
    if args.review and not (args.hosts and args.profile):
        raise UsageError("--review needs --hosts and --profile")
    if args.overrides and not args.profile:
        raise UsageError("--set needs --profile")
    from tui.app.frame.shell import Options

    settings = user_settings()
    fleet = fleet_of(args, args.hosts or settings.hosts)
    hosts = chosen_hosts(fleet, args.hosts or settings.hosts)
    servers = chosen_hosts(fleet, args.servers)
    options = Options(
        paths=paths(),
        inventory=args.inventory,
        ssh_config=args.ssh_config,
        hosts=hosts,
        servers=tuple(name for name in servers if name not in hosts),
        profile=chosen_profile(args),
        overrides=pairs(args.overrides, "--set"),
        review=args.review,
        settings=settings,
        fleet=fleet,
        **appearance(args.theme, args.symbols, settings),
    )
    return open_screens(options, mouse=settings.mouse and not args.no_mouse)


def open_run(run_dir: Path, *, replay_speed: float | None = None) -> int:
    """Open the screens on a run: live, or as a replay at `replay_speed`.

    Raises UsageError without a terminal.
    """
    check_terminal()
    from tui.app.frame.shell import Options

    settings = user_settings()
    options = Options(
        paths=paths(),
        watch=run_dir,
        replay_speed=replay_speed,
        settings=settings,
        **appearance(None, None, settings),
    )
    return open_screens(options, mouse=settings.mouse)


def appearance(theme: str | None, symbols: str | None, settings: Settings) -> Appearance:
    """Return theme and symbols.

    Options override the environment, which overrides the settings.
    """
    fixed = theme or os.environ.get("BENCHTUI_THEME")
    return {
        "theme": fixed or settings.theme,
        "symbols": symbols or os.environ.get("BENCHTUI_SYMBOLS") or settings.symbols,
        "remember": None if fixed else remember,
    }


def remember(name: str, value: str) -> None:
    """Save a choice made on the screens in the user's settings. Raises UsageError."""
    from tui.cli.shared.settings import change

    change(paths().settings, name, value)


def check_terminal() -> None:
    """Raise UsageError, with an alternative, if this terminal cannot show the screens."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "the screens need a terminal on stdin and stdout; without one use: benchtui run PROFILE"
        )
    if not sys.stderr.isatty():
        raise UsageError(
            "the screens are drawn on stderr, which is not a terminal; do not redirect it"
        )
    if os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError(
            "the screens cannot be shown: TERM is dumb or not set; use: benchtui run PROFILE"
        )


def fleet_of(args: argparse.Namespace, specs: Sequence[str]) -> Fleet | None:
    """Return the hosts that the options describe; None if neither options nor settings name any.

    Sets inventory and SSH configuration in `args` from the settings. Raises UsageError for invalid
    files.
    """
    from tui.cli.shared.common import load_fleet, take_host_files

    take_host_files(args)
    return load_fleet(args) if specs or args.servers or args.inventory or args.ssh_config else None


def chosen_hosts(fleet: Fleet | None, specs: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the chosen hosts. Raises UsageError."""
    return tuple(host.name for host in fleet.resolve(specs)) if fleet is not None and specs else ()


def chosen_profile(args: argparse.Namespace) -> str | None:
    """Return the chosen profile, by tag or path; None without --profile.

    Raises UsageError, also for invalid parameters.
    """
    if not args.profile:
        return None
    from tui.engine.inputs.profiles import Catalogue
    from tui.model.profile import resolve_params

    catalogue = Catalogue(paths().profiles)
    loaded = catalogue.load(args.profile)
    resolve_params(loaded.profile, pairs(args.overrides, "--set"))
    listed = any(entry.path == loaded.path for entry in catalogue.list())
    return loaded.profile.profile if listed else str(loaded.path.absolute())


def collect_in_short_passes() -> None:
    """Shorten garbage collections, so that they do not delay keys.

    Excludes objects loaded so far.
    """
    gc.freeze()
    gc.set_threshold(gc.get_threshold()[0], PASSES)


def open_screens(options: Options, *, mouse: bool = True) -> int:
    """Run the app until it has restored the terminal.

    Then print errors, or the runs that are still running.
    """
    from tui.app.app import BenchtuiApp

    for value, allowed, name in (
        (options.theme, THEMES, "BENCHTUI_THEME"),
        (options.symbols, SYMBOLS, "BENCHTUI_SYMBOLS"),
    ):
        if value is not None and value not in allowed:
            raise UsageError(f"{name}={value}: expected {', '.join(allowed)}")
    app = BenchtuiApp(options)
    collect_in_short_passes()
    app.run(mouse=mouse)
    with contextlib.suppress(OSError):  # the terminal may be gone
        if app.crash_log is not None:
            print(
                f"benchtui: internal error, sorry; details are in {app.crash_log}",
                file=sys.stderr,
                flush=True,
            )
        if app.farewell:
            print(app.farewell, flush=True)
    discard_unwritable()
    return app.return_code or 0


def discard_unwritable() -> None:
    """Discard output that a closed terminal cannot accept; otherwise Python would exit with 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
