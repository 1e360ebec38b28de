"""`benchtui run`: plan, launch, watch, print the result."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from tui.cli.shared.arguments import EXAMPLE
from tui.cli.shared.common import (
    add_flag,
    add_host_files,
    load_fleet,
    pairs,
    paths,
    say,
    user_settings,
)
from tui.cli.shared.experiments import add_bounds, search_choice
from tui.model.problem import Problem, UsageError, did_you_mean
from tui.model.quantities import parse_duration
from tui.model.tool import installed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tui.engine.inputs.hosts import Fleet
    from tui.engine.inputs.profiles import LoadedProfile
    from tui.engine.plan.search import Kind, SearchChoice
    from tui.model.plan import Plan
    from tui.model.profile import Profile

STREAM_HELP = "stream the run in a format of `benchtui export` to stdout, a file, or an HTTP URL"
HOSTS_HELP = (
    "names, ranges like h[1-4], user@host:port, @groups, !NAME to exclude, local, or a source:"
    " file:PATH, -, ansible:FILE[:GROUP], slurm:JOBID, slurm:@PARTITION,nodes=N,"
    " k8s:NAMESPACE/SELECTOR, command:... (default: `hosts` of benchtui config)"
)
PROFILE_HELP = (
    "a profile's name, the path of its YAML file, or, for a job without a profile, a load"
    " generator or the job in words"
)
TERMS_HELP = (
    "job options after a load generator's name, or the job in words (4k random read /mnt/x);"
    " comma-separated values are measured in turn: bs=4k,64k"
)
EXIT_CODES = (
    "exit codes: 0 complete, 1 a finding makes the run invalid, 2 usage error, 3 refused before"
    " any load, 4 partial or failed, 5 no load met the limits, 6 a search without a"
    " final answer, 130 interrupted and saved"
)
EXAMPLES = (
    f"examples: {EXAMPLE}; "
    "benchtui run demo/quick --hosts 'h[1-8],!h3' --hosts ansible:inventory.ini:clients; "
    "benchtui run demo/quick --hosts slurm:@io,nodes=4,time=20m; "
    "nodeset -e @io | benchtui run demo/quick --hosts - --yes"
)
LEASE_HELP = (
    "stop the load on hosts after this long without contact (default: `lease` of benchtui config,"
    " 60s)"
)
WITH_HELP = (
    "copy load generators to the hosts for this run, from this folder or its subfolder for the"
    " CPU, such as DIR/aarch64"
)
ROLE_HELP = (
    "assign hosts to a suite role: a number, a share such as 50%%, rest, or names, ranges and"
    " @groups"
)
YES_HELP = (
    "do not ask; needed without a terminal if a job without a profile writes more than 1 GiB on a"
    " host"
)
NEVER_S = 10 * 365 * 86400.0
STARTING_S = 30.0  # to connect, check and lay out files: before the load, in the same allocation


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_all(parser)
    add_kinds(parser)
    add_bounds(parser)


def add_all(parser: argparse.ArgumentParser) -> None:
    """Add the arguments common to all verbs that launch a run."""
    parser.epilog = f"{EXAMPLES}; {EXIT_CODES}"
    add = parser.add_argument
    add("profile", metavar="PROFILE", help=PROFILE_HELP)
    add("terms", metavar="KEY=VALUE", nargs="*", help=TERMS_HELP)
    add(
        "--save",
        metavar="NAME",
        help="with KEY=VALUE: also save the job as profile family/name",
    )
    add("--hosts", action="append", default=[], metavar="SPEC", help=HOSTS_HELP)
    add(
        "--servers",
        action="append",
        default=[],
        metavar="SPEC",
        help="storage nodes to monitor, in the syntax of --hosts",
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="overrides",
        help="change a parameter",
    )
    add(
        "--sweep",
        action="append",
        default=[],
        metavar="NAME=V1,V2",
        help="measure with each of these values in turn",
    )
    add(
        "--repeat",
        type=int,
        metavar="N",
        help="measure each point N times (default: as in the profile)",
    )
    add("--note", metavar="TEXT", help="a note to save with the result")
    add(
        "--tag",
        action="append",
        default=[],
        metavar="K=V",
        dest="tags",
        help="a tag to save with the result",
    )
    add("--lease", metavar="DURATION", help=LEASE_HELP)
    add(
        "--on-host-loss",
        choices=["continue", "stop"],
        help="what to do if a host is lost (default: as in the profile)",
    )
    add(
        "--wait",
        nargs="?",
        const="0",
        metavar="DURATION",
        help="wait for hosts in use by another run, for up to DURATION if given",
    )
    add("--take-locks", action="store_true", help="run on hosts that another run is using")
    add(
        "--cleanup",
        action=argparse.BooleanOptionalAction,
        help="remove the test files that the run created",
    )
    add(
        "--skip-missing",
        action="store_true",
        help="skip the steps of a suite whose load generator is not installed on the hosts",
    )
    add(
        "--destroy",
        action="append",
        default=[],
        metavar="PATH",
        help="allow this device or file to be overwritten",
    )
    add(
        "--prove-bottleneck",
        action="store_true",
        help="after the run, test the bottleneck with a counter-experiment",
    )
    add("--prove-limiter", action="store_true", dest="prove_bottleneck", help=argparse.SUPPRESS)
    add(
        "--no-telemetry",
        action="store_true",
        help="do not sample host CPU, network and disks",
    )
    add(
        "--no-precondition",
        action="store_true",
        help="skip the profile's preconditioning",
    )
    add(
        "--attest",
        action="append",
        default=[],
        metavar="ID=yes|no",
        help="answer a question that the profile asks",
    )
    add("--role", action="append", default=[], metavar="NAME=HOSTS", dest="roles", help=ROLE_HELP)
    add("--with", dest="programs", metavar="DIR", help=WITH_HELP)
    add("--stream", action="append", default=[], metavar="FORMAT[=TARGET]", help=STREAM_HELP)
    add("--dry-run", action="store_true", help="print the plan and run nothing")
    add("--detach", action="store_true", help="start the run and return")
    add(
        "--print-id",
        action="store_true",
        help="once the run has started, print only its ID to stdout",
    )
    add("--yes", action="store_true", help=YES_HELP)
    add(
        "--json",
        action="store_true",
        help="print the run record (with --dry-run: the plan) as JSON on stdout",
    )
    add_host_files(parser)


def add_kinds(parser: argparse.ArgumentParser) -> None:
    """Add the options for searches: --curve, --scaling, --no-search."""
    which = parser.add_mutually_exclusive_group()
    add_flag(
        which,
        "--curve",
        "measure latency vs. load: find the maximum rate, then offer fractions of it",
    )
    add_flag(which, "--scaling", "measure at full load with 1, 2, 4 ... all hosts")
    add_flag(which, "--no-search", "measure once, without the profile's search")


def main(args: argparse.Namespace) -> int:
    """Run a profile and return the run's exit code."""
    return run_profile(args, own_search_choice(args))


def own_search_choice(args: argparse.Namespace) -> SearchChoice:
    """Return the search that the options ask for, otherwise the profile's. Raises UsageError."""
    kinds: dict[str, Kind] = {"curve": "curve", "scaling": "scaling", "no_search": "none"}
    return search_choice(
        args, next((kind for name, kind in kinds.items() if getattr(args, name)), None)
    )


def run_profile(args: argparse.Namespace, choice: SearchChoice) -> int:
    """Run a profile, with a search if `choice` names one; return the run's exit code."""
    check_proof(args)
    check_streams(args)
    check_print_id(args)
    plan = plan_from(args, choice)
    if args.skip_missing:
        from tui.cli.shared.launching import leave_out_missing

        plan = leave_out_missing(plan)
    if args.dry_run:
        import msgspec

        from tui.cli.shared.review import layout_ahead, review_text

        print(
            msgspec.json.format(msgspec.json.encode(plan)).decode()
            if args.json
            else review_text(plan, layout_ahead(plan))
        )
        return 0
    from tui.cli.shared.launching import agreed, check_size, start
    from tui.view.plan import caveats_of, plan_line

    say(f"benchtui: {plan_line(plan)}")
    for caveat in caveats_of(plan):
        say(f"benchtui: {caveat}")
    for left in plan.left_out:
        say(f"benchtui: left out: {left.text()}")
    if job_from(args) is not None:
        check_size(plan, sure=args.yes)
    run_dir = start(agreed(plan, args.destroy, sure=args.yes))
    if args.detach:
        say(f"run {run_dir.name} is running; to watch it: benchtui attach {run_dir.name}")
        print(
            json.dumps({"run_id": run_dir.name, "path": str(run_dir)})
            if args.json
            else run_dir.name
        )
        return 0
    say(f"run {run_dir.name}")
    if not args.print_id:
        return watched(args, run_dir)
    print(run_dir.name, flush=True)
    with redirect_stdout(sys.stderr):
        return watched(args, run_dir)


def watched(args: argparse.Namespace, run_dir: Path) -> int:
    """Follow a run to its end and print its result; return its exit code.

    If asked, also run the counter-experiment that tests the bottleneck.
    """
    from tui.cli.shared.progress import INTERRUPTED, followed, print_result, watch, watch_streamed

    if args.stream:
        return watch_streamed(run_dir, args.stream, as_json=args.json)
    if not args.prove_bottleneck:
        return watch(run_dir, as_json=args.json)
    from tui.cli.shared.experiments import prove_after

    code = followed(run_dir)
    if code == INTERRUPTED:
        say("benchtui: the run was stopped; its bottleneck was not tested")
    else:
        code = max(code, prove_after(run_dir))
    print_result(run_dir, as_json=args.json)
    return code


def check_proof(args: argparse.Namespace) -> None:
    """Raise UsageError for options that rule out a counter-experiment after the run."""
    for name in ("detach", "no_telemetry"):
        if args.prove_bottleneck and getattr(args, name):
            why = {
                "detach": "it waits for the run to end",
                "no_telemetry": "it needs host telemetry",
            }[name]
            raise UsageError(
                f"--prove-bottleneck cannot be used with --{name.replace('_', '-')}: {why}"
            )


def check_print_id(args: argparse.Namespace) -> None:
    """Raise UsageError for --print-id with another option that prints to stdout."""
    to_stdout = [spec for spec in args.stream if spec.partition("=")[2] in ("", "-")]
    other = (
        "--json"
        if args.json
        else "--dry-run"
        if args.dry_run
        else f"--stream {to_stdout[0]}"
        if to_stdout
        else ""
    )
    if args.print_id and other:
        raise UsageError(f"--print-id and {other} both write to standard output")


def check_streams(args: argparse.Namespace) -> None:
    """Raise UsageError for invalid --stream options, before anything is started."""
    if not args.stream:
        return
    from tui.export.stream import check_target, parse_spec, streamed

    targets = [parse_spec(spec)[1] for spec in args.stream if streamed(parse_spec(spec)[0])]
    if args.detach or args.prove_bottleneck:
        raise UsageError(
            "--stream follows the run and cannot be used with --detach or --prove-bottleneck"
        )
    if targets.count("-") > 1:
        raise UsageError(
            "only one stream can go to standard output: use --stream FORMAT=FILE for the others"
        )
    if "-" in targets and args.json:
        raise UsageError(
            "--json and --stream both write to standard output: use --stream FORMAT=FILE"
        )
    for target in targets:
        check_target(target)


def plan_from(args: argparse.Namespace, choice: SearchChoice | None = None) -> Plan:
    """Return the plan that the arguments describe; with a search only if `choice` is given.

    Unless --dry-run is given, sources of hosts may allocate nodes. Raises UsageError.
    """
    from tui.engine.plan.plan import Choices, build_plan
    from tui.engine.plan.search import SearchChoice
    from tui.model.roles import is_named

    loaded = profile_from(args)
    fleet, wanted = load_fleet(args), user_settings()
    lease_s = wanted.lease_s if args.lease is None else lease_of(args.lease, sure=args.yes)
    fleet.context = fleet.context._replace(tell=say, may_allocate=not args.dry_run)
    roles = roles_of(loaded.profile, args.roles)
    in_roles = [text for text in roles.values() if is_named(text)]
    wanted_hosts = args.hosts or in_roles or wanted.hosts

    def plan_on(fleet: Fleet) -> Plan:
        hosts, servers = fleet.resolve(wanted_hosts), fleet.resolve(args.servers)
        choices = Choices(
            hosts=hosts,
            servers=servers,
            sources=fleet.uses,
            overrides=pairs(args.overrides, "--set"),
            repeat=args.repeat,
            sweep=sweep_of(args.sweep),
            note=args.note,
            tags={**wanted.tags, **pairs(args.tags, "--tag")},
            lease_s=lease_s,
            cleanup=args.cleanup,
            on_host_loss=args.on_host_loss,
            take_locks=args.take_locks,
            wait_s=wait_of(args.wait, sure=args.take_locks),
            telemetry=not args.no_telemetry,
            precondition=not args.no_precondition,
            roles=roles,
            attest=pairs(args.attest, "--attest"),
            search=choice or SearchChoice("none"),
        )
        return build_plan(loaded, choices)

    if not args.dry_run and fleet.allocates([*wanted_hosts, *args.servers]):
        check_before_allocating(fleet, plan_on)
    plan = with_own_programs(plan_on(fleet), args.programs, wanted.programs)
    check_time_left(plan)
    plan.caveats = [*fleet.notes, *plan.caveats]
    return plan


def check_before_allocating(fleet: Fleet, plan_on: Callable[[Fleet], Plan]) -> None:
    """Raise UsageError if the plan takes longer than the allocation that it would request."""
    try:
        plan = plan_on(fleet.pretending())
    except UsageError:
        return  # names of the nodes matter: the plan is checked once they are known
    check_time_left(plan)


def roles_of(profile: Profile, words: list[str]) -> dict[str, str]:
    """Return the hosts of --role, by role.

    Raises UsageError before any host is resolved.
    """
    from tui.model.roles import chosen_roles

    given = pairs(words, "--role")
    try:
        chosen_roles(profile.roles, given)
    except UsageError as error:
        raise UsageError([Problem(f"--role: {each.message}") for each in error.problems]) from None
    return given


def with_own_programs(plan: Plan, given: str | None, usual: Path | None) -> Plan:
    """Return the plan with the load generators to copy to hosts, from --with or the settings.

    Raises UsageError.
    """
    if not given and usual is None:
        return plan
    from pathlib import Path

    from tui.engine.preflight.programs import with_programs

    return with_programs(plan, Path(given or usual or ".").expanduser(), required=bool(given))


def profile_from(args: argparse.Namespace) -> LoadedProfile:
    """Return the named profile, or one made from a load generator's name and KEY=VALUE words.

    With --save, the latter is also saved. Raises UsageError.
    """
    from tui.engine.inputs.profiles import Catalogue
    from tui.engine.inputs.terms import make_profile

    catalogue = Catalogue(paths().profiles)
    if (job := job_from(args)) is None:
        check_no_terms(args, list(installed()))
        return catalogue.load(args.profile)
    loaded = make_profile(catalogue, *job, args.save)
    if args.save:
        from tui.engine.inputs.profile_files import create

        say(f"benchtui: saved {create(catalogue, args.save, loaded.text)}")
        return catalogue.load(args.save)
    return loaded


def job_from(args: argparse.Namespace) -> tuple[str, list[str]] | None:
    """Return load generator and terms of a job without a profile; None if a profile is named."""
    from tui.engine.inputs.profiles import is_path

    if args.profile in installed():
        return args.profile, args.terms
    if is_path(args.profile) or ("/" in args.profile and not args.terms):  # not 70/30 8k
        return None
    from tui.engine.inputs.terms import tool_of_words

    return tool_of_words([args.profile, *args.terms])


def check_no_terms(args: argparse.Namespace, tools: list[str]) -> None:
    """Raise UsageError for KEY=VALUE words or --save without a load generator's name."""
    from tui.engine.inputs.profiles import is_path
    from tui.engine.inputs.terms import EXAMPLE

    if not (args.terms or args.save):
        return
    if "/" not in args.profile and not is_path(args.profile):
        raise UsageError(
            f"'{args.profile}' is neither a load generator{did_you_mean(args.profile, tools)} nor"
            f" part of a job in words, such as {EXAMPLE}; load generators: {', '.join(tools)}"
        )
    if args.save:
        raise UsageError(
            f"--save {args.save}: {args.profile} is already a profile; see benchtui profiles new"
            " --from"
        )
    raise UsageError(
        f"{args.profile} {args.terms[0]}: to change a parameter of a profile use --set"
        f" {args.terms[0]}"
    )


def check_time_left(plan: Plan) -> None:
    """Raise UsageError if the plan takes longer than its hosts are allocated for."""
    from tui.metrics import units

    if plan.expected_s is None:
        return
    needed_s = plan.expected_s + STARTING_S
    for use in plan.sources:
        if use.left_s is not None and needed_s > use.left_s:
            takes, left = units.span(plan.expected_s), units.span(use.left_s)
            raise UsageError(
                f"{use.how} ends in {left}, but the load takes {takes} plus"
                f" {STARTING_S:g} s to start: shorten the load or request more time"
            )


def sweep_of(words: list[str]) -> dict[str, list[str]]:
    """Return the values of --sweep, by parameter. Raises UsageError."""
    found = {
        name: [value.strip() for value in text.split(",") if value.strip()]
        for name, text in pairs(words, "--sweep").items()
    }
    if empty := next((name for name, values in found.items() if not values), None):
        raise UsageError(f"--sweep {empty}=: expected NAME=V1,V2")
    return found


def wait_of(text: str | None, *, sure: bool) -> float:
    """Return how many seconds to wait for hosts in use.

    0 without --wait, NEVER_S for ``--wait`` alone. `sure`: --take-locks is given, which excludes
    --wait. Raises UsageError.
    """
    if text is None:
        return 0.0
    if sure:
        raise UsageError(
            "--wait cannot be used with --take-locks: either wait for the hosts or share them"
        )
    try:
        return parse_duration(text) or NEVER_S
    except ValueError as error:
        raise UsageError(
            f"--wait: {error}; if '{text}' is the PROFILE, put it before --wait"
        ) from error


def lease_of(text: str, *, sure: bool) -> float:
    """Return the lease in seconds.

    0 means no lease and requires --yes. Raises UsageError.
    """
    try:
        lease_s = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--lease: {error}") from error
    if lease_s == 0 and not sure:
        raise UsageError(
            "--lease 0: hosts would keep running the load if this machine dies; to confirm, add"
            " --yes"
        )
    return lease_s or NEVER_S
