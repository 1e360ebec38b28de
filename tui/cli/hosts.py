"""`benchtui hosts`: list, check, trust, add and sweep hosts."""

from __future__ import annotations

import argparse
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from tui.cli.shared.common import (
    add_flag,
    add_host_files,
    add_json,
    ask,
    load_fleet,
    paths,
    report,
    say,
    user_settings,
)
from tui.metrics import units
from tui.metrics.units import plural
from tui.model.address import HostAddress
from tui.model.plain import some
from tui.model.problem import UsageError

if TYPE_CHECKING:
    from tui.engine.inputs.hosts import Fleet, Origin
    from tui.engine.preflight.host_check import HostCheck
    from tui.model.plan import CarriedProgram
    from tui.remote.connections import Connections
    from tui.remote.hostkeys import Presented
    from tui.remote.transport import HostError

T = TypeVar("T")
ALL_GOOD, UNFIT = 0, 3
SWEEP_CODES = (
    "exit codes: 0 no leftovers, 2 usage error, 3 leftovers remain, or a host did not answer"
)
WITH_HELP = (
    "copy load generators from this folder to the hosts, check the copies, then remove"
    " them (default:"
    " `programs` of benchtui config)"
)
CHECK_CODES = "exit codes: 0 all hosts are ready, 2 usage error, 3 at least one is not"
SPEC_HELP = (
    "names, ranges, @groups, !NAME to exclude, sources such as ansible:FILE, or local"
    " (default: all)"
)
TRUST_CODES = "exit codes: 0 all keys are pinned, 2 usage error, 3 at least one is not"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs below `hosts`."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    listed = verbs.add_parser("list", help="list all hosts known by name")
    add_flag(listed, "--json", "print JSON on stdout")
    check = verbs.add_parser(
        "check",
        help="check reachability, load generators, cores, kernel and free space",
        epilog=CHECK_CODES,
    )
    check.add_argument("--dir", metavar="PATH", help="directory on the file system under test")
    add_flag(check, "--facts", "print all facts, and list those that could not be read")
    check.add_argument("--with", dest="programs", metavar="DIR", help=WITH_HELP)
    add_flag(check, "--json", "print JSON on stdout")
    trust = verbs.add_parser("trust", help="show host keys, ask, and pin them", epilog=TRUST_CODES)
    add_flag(trust, "--yes", "do not ask: fingerprints are already verified")
    sweep = verbs.add_parser(
        "sweep", help="find and remove leftovers of earlier runs", epilog=SWEEP_CODES
    )
    add_flag(sweep, "--yes", "do not ask")
    sweep.add_argument(
        "--run",
        metavar="RUN",
        help="remove only this run (full ID), even if its load is still running",
    )
    for verb in (listed, check, trust, sweep):
        verb.add_argument("hosts", nargs="*", metavar="SPEC", help=SPEC_HELP)
    add = verbs.add_parser("add", help="add a host to the inventory")
    add.add_argument("name", metavar="NAME", help="name, or a range like weka-[01-08]")
    add.add_argument("--address", help="host name or IP address to connect to (default: NAME)")
    add.add_argument("--port", type=int, help="SSH port")
    add.add_argument("--user", help="user to log in as")
    add.add_argument("--identity", help="private key file on this machine")
    add.add_argument(
        "--group",
        action="append",
        default=[],
        dest="groups",
        help="group to add the host to; may be repeated",
    )
    for verb in (trust, add, sweep):
        add_json(verb)
    for verb in (listed, check, trust, sweep, add):
        add_host_files(verb)


def main(args: argparse.Namespace) -> int:
    """Run the chosen verb."""
    verbs = {
        "list": list_all,
        "check": check_all,
        "trust": trust_all,
        "add": add_one,
        "sweep": sweep_all,
    }
    return verbs[args.verb](args)


def chosen(args: argparse.Namespace) -> list[HostAddress]:
    """Return the hosts named by the arguments; by default all known hosts."""
    fleet = load_fleet(args)
    fleet.context = fleet.context._replace(tell=say, may_allocate=args.verb == "check")
    return fleet.resolve(args.hosts) if args.hosts else [address for address, _ in all_known(fleet)]


def all_known(fleet: Fleet) -> list[tuple[HostAddress, Origin]]:
    """Return every host known by name, and where it is defined.

    Groups with a source are included, except those that would allocate nodes. Groups left out and
    sources that fail are printed.
    """
    for group in fleet.sources:
        try:
            if fleet.allocates([f"@{group}"]):
                say(f"benchtui: @{group} left out: it allocates nodes{how_to_check(fleet, group)}")
                continue
            fleet.resolve([f"@{group}"])
        except UsageError as error:
            for problem in error.problems:
                say(f"benchtui: @{group}: {problem}")
    return fleet.all()


def how_to_check(fleet: Fleet, group: str) -> str:
    """Return a clause with the command that checks a group whose nodes must be allocated; empty
    if the running verb may not allocate.
    """
    return f"; to check it: benchtui hosts check @{group}" if fleet.context.may_allocate else ""


def connected(args: argparse.Namespace, work: Callable[[Connections], Awaitable[T]]) -> T:
    """Run `work` with connections to hosts, and close them afterwards."""
    import asyncio

    from tui.cli.shared.launching import terminal_asker
    from tui.remote.connections import Connections

    async def run() -> T:
        pins, asker = [paths().known_hosts], terminal_asker()
        async with Connections(
            ssh_config=args.ssh_config, known_hosts=pins, asker=asker
        ) as connections:
            return await work(connections)

    return asyncio.run(run())


def list_all(args: argparse.Namespace) -> int:
    """Print hosts and where each is defined; by default all known hosts."""
    found = listed_hosts(args)
    if args.json:
        rows = [
            {"name": host.name, "origin": origin, "groups": host.groups} for host, origin in found
        ]
        print(json.dumps(rows, indent=2))
        return ALL_GOOD
    width = max(len(host.name) for host, _ in found)
    for host, origin in found:
        print(
            f"{host.name:<{width}}  {origin:<12}  "
            f"{' '.join(f'@{group}' for group in host.groups)}".rstrip()
        )
    return ALL_GOOD


def listed_hosts(args: argparse.Namespace) -> list[tuple[HostAddress, Origin]]:
    """Return hosts in order, and where each is defined; by default all known hosts."""
    fleet = load_fleet(args)
    if not args.hosts:
        return all_known(fleet)
    addresses = fleet.resolve(args.hosts)
    origins = {
        address.name: origin
        for address, origin in fleet.all([address.name for address in addresses])
    }
    return [(address, origins.get(address.name, "command line")) for address in addresses]


def check_all(args: argparse.Namespace) -> int:
    """Check hosts and print the result; return 3 unless all are ready."""
    from tui.engine.preflight.host_check import check_hosts
    from tui.engine.preflight.programs import caveats_of
    from tui.workloads import caveat_text

    if args.dir is not None and not args.dir.startswith("/"):
        raise UsageError(f"--dir {args.dir}: expected an absolute path on the hosts")
    addresses = chosen(args)
    programs = programs_of(args.programs)
    for caveat in caveats_of(programs):
        say(f"benchtui: {caveat_text(caveat)}")
    checks = connected(
        args, lambda connections: check_hosts(addresses, args.dir, connections, programs)
    )
    if args.json:
        keys = ("name", "ok", "code", "message", "facts", "extras", "notes", "copied")
        print(
            json.dumps([{key: getattr(check, key) for key in keys} for check in checks], indent=2)
        )
    else:
        print(check_table(checks, args.dir))
        for note, hosts in hosts_by_note(checks).items():
            print(f"{some(hosts)}: {note}")
        for line in facts_of(checks, args.facts):
            print(line)
    return ALL_GOOD if all(check.ok for check in checks) else UNFIT


def hosts_by_note(checks: Sequence[HostCheck]) -> dict[str, list[str]]:
    """Return the hosts that each note is about."""
    found: dict[str, list[str]] = {}
    for check in checks:
        for note in check.notes:
            found.setdefault(note, []).append(check.name)
    return found


def programs_of(given: str | None) -> list[CarriedProgram]:
    """Return the load generators to copy to hosts, from --with or the settings.

    Raises UsageError.
    """
    usual = user_settings().programs
    if not given and usual is None:
        return []
    from pathlib import Path

    from tui.engine.preflight.programs import programs_for_check

    return programs_for_check(Path(given or usual or ".").expanduser(), required=bool(given))


def facts_of(checks: Sequence[HostCheck], everything: bool) -> Iterator[str]:
    """Yield lines on how hosts differ; `local` is left out if there are other hosts.

    `everything`: also facts that the hosts share.
    """
    from tui.metrics.facts import compare, leaf_text, leaf_title
    from tui.model.hostspec import LOCAL
    from tui.text.facts import (
        differing_lines,
        every_difference,
        machine_lines,
        own_lines,
        unknown_lines,
    )

    known = {check.name: check.facts for check in checks if check.facts}
    if alike := [
        f"{label}: {''.join(text for text, _ in runs)}" for label, runs in machine_lines(known)
    ]:
        yield from ("", *alike)
    known = {name: facts for name, facts in known.items() if name != LOCAL} or known
    found = compare(known)
    if everything:
        yield f"\n{', '.join(found.hosts)}:"
        yield from (
            f"  {leaf_title(name)}: {leaf_text(name, value)}"
            for name, value in found.common.items()
        )
    if found.differing:
        short = (
            f"{label}: {''.join(text for text, _ in runs)}"
            for label, runs in differing_lines(found)
        )
        yield "\nhosts differ:" if everything else ""
        yield from (f"  {text}" for text in every_difference(found)) if everything else short
    if everything:
        yield "\ndifferent on each host:"
        yield from (f"  {text}" for text in own_lines(known))
        yield "\nunknown:"
        yield from (f"  {text}" for text in unknown_lines(known))


def check_table(checks: list[HostCheck], directory: str | None) -> str:
    """Return the checks as a table, with a host's problem at the end of its row."""
    rows = [
        ("host", "state", "tools", "CPUs", "kernel", f"free at {directory or '/tmp'}", "MPI", "")
    ]
    rows += [check_row(check) for check in checks]
    widths = [max(len(row[column]) for row in rows) for column in range(7)]
    return "\n".join("  ".join([*map(str.ljust, row[:7], widths), row[7]]).rstrip() for row in rows)


def tools_text(check: HostCheck) -> str:
    """Return the load generators on a host: versions as printed, and optional features."""
    from tui import workloads
    from tui.engine.preflight import mpi_hosts

    needs = [need for workload in workloads.every() for need in workload.requirements(())]
    facts = check.facts
    found = {
        need.command: facts.get(f"{need.command}_version")
        for need in needs
        if f"{need.command}_path" in facts
    }
    for program in mpi_hosts.programs().values():
        if f"{(name := program.launch.program)}_path" in facts:
            found[name] = name
    extras = {name: f" with {' and '.join(can)}" for name, can in check.extras.items()}
    for name in check.copied:
        extras[name] = f"{extras.get(name, '')} (copied)"
    return ", ".join(
        f"{version or command}{extras.get(command, '')}" for command, version in found.items()
    )


def check_row(check: HostCheck) -> tuple[str, str, str, str, str, str, str, str]:
    """Return the cells of one host."""
    facts = check.facts
    free = facts.get("target_free_bytes")
    return (
        check.name,
        "ok" if check.ok else "FAIL",
        tools_text(check) or "-",
        str(facts.get("cpus") or "-"),
        str(facts.get("kernel") or "-").removeprefix("Linux "),
        units.size(int(free)) if isinstance(free, int) else "-",
        str(facts.get("mpi") or "-"),
        check.message,
    )


def trust_all(args: argparse.Namespace) -> int:
    """Show the keys of hosts and pin new keys. A changed key is refused."""
    from tui.engine.inputs.user_files import add_lines
    from tui.remote.fan_out import fan_out
    from tui.remote.way_base import PRINTS_KEYS, is_over_ssh

    addresses = [address for address in chosen(args) if is_over_ssh(address)]
    keys, errors = connected(
        args,
        lambda connections: fan_out({host.name: connections.presented(host) for host in addresses}),
    )
    width = max((len(address.name) for address in addresses), default=0)
    report(
        args,
        [key_row(key) for key in keys.values()] + [error_row(*each) for each in errors.items()],
    )
    for key in () if args.json else keys.values():
        print(
            f"{key.name:<{width}}  {key.fingerprint}  {'already trusted' if key.known else 'new'}"
        )
    for error in errors.values():
        say(f"benchtui: {error}")
    new = [key for key in keys.values() if not key.known]
    if new and not (args.yes or ask(f"trust {plural(len(new), 'new key')}?")):
        say(
            f"nothing pinned; to verify, run this on the host: {PRINTS_KEYS}; if the fingerprints"
            " match, use --yes or answer y"
        )
        return UNFIT
    if new:
        add_lines(paths().known_hosts, dict.fromkeys(key.line for key in new))
        say(f"pinned {plural(len(new), 'key')} in {paths().known_hosts}")
    return UNFIT if errors else ALL_GOOD


def key_row(key: Presented) -> dict[str, object]:
    """Return a host's key as plain data."""
    return {"host": key.name, "fingerprint": key.fingerprint, "known": key.known, "error": None}


def error_row(host: str, error: HostError) -> dict[str, object]:
    """Return why a host's key could not be read, as plain data."""
    return {"host": host, "fingerprint": None, "known": None, "error": error.message}


def add_one(args: argparse.Namespace) -> int:
    """Add a host to the inventory."""
    from tui.engine.inputs.hosts import add_hosts
    from tui.model import hostspec

    names = hostspec.expand(args.name)
    path = args.inventory or user_settings().inventory or paths().inventory
    add_hosts(
        path,
        [args.name],
        {name: getattr(args, name) for name in ("address", "port", "user", "identity", "groups")},
    )
    say(f"added {args.name} to {path}")
    report(args, {"hosts": names, "inventory": str(path)})
    return ALL_GOOD


def sweep_all(args: argparse.Namespace) -> int:
    """List leftovers of earlier runs.

    After confirmation, end their processes and remove their directories.
    """
    addresses = chosen(args)
    return connected(args, lambda connections: _sweep(args, addresses, connections))


async def _sweep(
    args: argparse.Namespace, addresses: list[HostAddress], connections: Connections
) -> int:
    from tui.engine.preflight.clean import find_leftovers, remove_leftovers

    found, errors = await find_leftovers(addresses, connections)
    found = [leftover for leftover in found if args.run in (None, leftover.run)]
    rows = [
        {"host": each.host, "run": each.run, "live": each.live, "text": each.line()}
        for each in found
    ]
    report(args, rows, "\n".join(each.line() for each in found))
    for error in errors:
        say(f"benchtui: {error}")
    ours = [leftover for leftover in found if args.run or not leftover.live]
    if len(ours) < len(found):
        say(
            "a load that is still running was left alone; to stop it: benchtui stop RUN, or hosts"
            " sweep --run RUN"
        )
    if not ours:
        say("nothing to sweep")
        return UNFIT if errors else ALL_GOOD
    if not (args.yes or ask(f"stop and remove {plural(len(ours), 'leftover')}?")):
        hosts = some(list(dict.fromkeys(leftover.host for leftover in ours)))
        remains = "1 leftover remains" if len(ours) == 1 else f"{len(ours)} leftovers remain"
        say(f"nothing changed, {remains} on {hosts}; use --yes or answer y to stop and remove them")
        return UNFIT
    failed = await remove_leftovers(addresses, ours, connections)
    for error in failed:
        say(f"benchtui: {error}")
    say(
        f"stopped and removed {plural(len(ours), 'leftover')}"
        if not failed
        else "some leftovers could not be removed"
    )
    return UNFIT if errors or failed else ALL_GOOD
