"""Remedies for a failed run: wait for hosts, trust keys, change the plan; clean up its hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tui.app.dialogs.confirm import Confirm, DialogChoice
from tui.app.services.launching import start_engine
from tui.app.services.resuming import run_again
from tui.metrics.units import plural
from tui.model.plain import some
from tui.model.problem import BenchtuiError
from tui.remote.way_base import PRINTS_KEYS
from tui.text.run_texts import run_text

if TYPE_CHECKING:
    from tui.app.frame.step_screen import StepScreen
    from tui.engine.preflight.clean import Cleaning, Created
    from tui.journal.state import RunState
    from tui.model.address import HostAddress
    from tui.model.paths import Paths
    from tui.model.plan import Plan
    from tui.model.record import RunRecord
    from tui.remote.connections import Connections
    from tui.remote.hostkeys import Presented
    from tui.remote.transport import HostError
    from tui.remote.vault import Asker

LOCKED = "host-locked"
WAIT_S = 3600.0
MOST = 6  # holders that are named
TAKE_OVER_CHOICES = (
    DialogChoice("no", "n", "Not now"),
    DialogChoice("wait", "w", "Wait for it, up to 1 hour"),
    DialogChoice("take", "t", "Run at the same time", harmful=True),
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One problem of one host."""

    host: str
    code: str
    message: str


def take_over_question(held: Sequence[Trouble]) -> Confirm:
    """Return the dialog that offers to wait for the run that uses the hosts, or to run now."""
    hosts: dict[str, list[str]] = {}
    for trouble in held:
        hosts.setdefault(trouble.message.partition(";")[0], []).append(trouble.host)
    lines = [f"{some(names)}: {message}" for message, names in [*hosts.items()][:MOST]]
    more = [f"and {len(hosts) - MOST} more"] if len(hosts) > MOST else []
    warning = "Two loads on one host distort each other's results."
    return Confirm(
        "Run the same plan again?",
        "\n".join([*lines, *more, "", warning]),
        TAKE_OVER_CHOICES,
        warns=True,
    )


def again(plan: Plan, answer: str) -> Plan | None:
    """Return the plan to run for an answer; None if the answer is not to run."""
    from msgspec.structs import replace

    if answer == "take":
        return replace(plan, take_locks=True)
    return replace(plan, wait_s=WAIT_S) if answer == "wait" else None


FRAME = 8  # cells of a dialog beside its text


async def presented_keys(
    addresses: Sequence[HostAddress], paths: Paths, ssh_config: Path | None, asker: Asker
) -> tuple[list[Presented], list[HostError]]:
    """Return the keys that hosts present, and the errors of other hosts.

    `asker` provides the passwords of bastions.
    """
    from tui.remote.connections import Connections
    from tui.remote.fan_out import fan_out

    async with Connections(
        ssh_config=ssh_config, known_hosts=[paths.known_hosts], asker=asker
    ) as connections:
        keys, errors = await fan_out({each.name: connections.presented(each) for each in addresses})
    return list(keys.values()), list(errors.values())


async def ask_to_trust(screen: StepScreen, hosts: Sequence[HostAddress]) -> list[str]:
    """Show the fingerprints of hosts' keys, and pin them if the user agrees.

    Returns the names of the hosts whose keys were pinned.
    """
    from tui.app.dialogs import text_entry
    from tui.engine.inputs.user_files import add_lines

    shell, asker = screen.shell, partial(text_entry.ask, screen.app)
    keys, errors = await presented_keys(hosts, shell.paths, shell.options.ssh_config, asker)
    for error in errors:
        screen.notify(str(error), severity="error")
    new = [key for key in keys if not key.known]
    if keys and not new:
        screen.notify(f"{', '.join(key.name for key in keys)}: already trusted")
    if not new or await screen.app.push_screen_wait(trust_question(new)) != "yes":
        return []
    try:
        add_lines(shell.paths.known_hosts, dict.fromkeys(key.line for key in new))
    except BenchtuiError as error:
        screen.notify(str(error), severity="error")
        return []
    return [key.name for key in new]


TRUSTED = f"what this prints on the host's console:\n{PRINTS_KEYS}"


def trust_question(keys: Sequence[Presented]) -> Confirm:
    """Return the dialog that asks whether to pin keys, with the fingerprint of each."""
    if len(keys) == 1:
        body = f"{keys[0].fingerprint}\n\nCompare it with {TRUSTED}"
        return Confirm(f"Trust the key of {keys[0].name}?", body)
    width = max(len(key.name) for key in keys)
    lines = "\n".join(f"{key.name:<{width}}  {key.fingerprint}" for key in keys)
    body = f"Compare each with {TRUSTED}\n\n{lines}"
    return Confirm(
        f"Trust these {len(keys)} keys?", body, width=max(map(len, lines.splitlines())) + FRAME
    )


UNKNOWN_KEY = "host-key-unknown"
NOT_REACHED = ("unreachable", "refused", "timeout")  # codes of HostError
# codes of the preflight about a target, as opposed to the space in it
OF_TARGET = (
    "dir-missing",
    "dir-not-a-directory",
    "dir-not-writable",
    "device-missing",
    "target-is-device",
    "target-not-a-file",
)
WORDS = {
    "take": "wait for the hosts, or run anyway (asks first)",
    "trust": "check the hosts' keys",
    "change": "change the plan and run again",
}


@dataclass(frozen=True, slots=True)
class Remedy:
    """The remedy for a failed run, and the problems that it solves."""

    kind: Literal["take", "trust", "change"]
    troubles: tuple[Trouble, ...] = ()
    of_target: bool = False  # the target is to be changed

    @property
    def words(self) -> str:
        """The remedy in a few words, as the label of its key."""
        if self.kind == "change" and self.hosts:
            one_or_many = self.hosts[0] if len(self.hosts) == 1 else f"{len(self.hosts)} hosts"
            return f"run again without {one_or_many}"
        return WORDS[self.kind]

    @property
    def hosts(self) -> list[str]:
        """The hosts with these problems, each once."""
        return [*dict.fromkeys(each.host for each in self.troubles)]


def remedy_of(
    state: str, troubles: Iterable[Trouble], hosts: Collection[str] = ()
) -> Remedy | None:
    """Return the remedy for a run's state and problems; None if the run needs none.

    Leaves unreached hosts out of the repeated run, unless that leaves none of `hosts`.
    """
    found = list(troubles)
    if locked := tuple(each for each in found if each.code == LOCKED):
        return Remedy("take", locked)
    if unknown := tuple(each for each in found if each.code == UNKNOWN_KEY):
        return Remedy("trust", unknown)
    away = tuple(each for each in found if each.code in NOT_REACHED)
    some_left = set(hosts) - {each.host for each in away}
    of_target = any(each.code in OF_TARGET for each in found)
    return Remedy("change", away if some_left else (), of_target) if state == "failed" else None


def of_state(state: RunState) -> Remedy | None:
    """Return the remedy for a run on Live; None while it is running, or if it needs none."""
    if not state.ended:
        return None
    return remedy_of(
        state.state,
        (Trouble(each.host, each.code, run_text(each.message)) for each in state.problems),
        state.hosts,
    )


def of_record(record: RunRecord) -> Remedy | None:
    """Return the remedy for a run on Result; None if it needs none."""
    problems = (
        Trouble(host.name, each.code, run_text(each.message))
        for host in record.hosts
        for each in host.problems
    )
    return remedy_of(record.state, problems, [host.name for host in record.hosts])


def mend(screen: StepScreen, remedy: Remedy | None, run_dir: Path, plan: Plan | None) -> None:
    """Apply a remedy; ask before it starts a run or trusts a key. Say so if there is none.

    The remedy "change" shows the run on Review, without the hosts that were not reached.
    """
    if remedy is None:
        screen.notify("nothing to fix in this run; press r on Runs to run it again")
    elif remedy.kind == "take" and plan is not None:
        screen.app.push_screen(
            take_over_question(remedy.troubles), partial(_answered, screen, plan)
        )
    elif remedy.kind == "trust" and plan is not None:
        hosts = [host for host in plan.hosts if host.name in remedy.hosts]
        screen.run_worker(_trust(screen, hosts, run_dir), group="trust", exclusive=True)
    else:
        again_without = run_again(screen.shell, run_dir, remedy.hosts, to_target=remedy.of_target)
        screen.shell.run_worker(again_without, group="again", exclusive=True)


def _answered(screen: StepScreen, plan: Plan, answer: str | None) -> None:
    if (chosen := again(plan, answer or "")) is not None:
        screen.run_worker(_launch(screen, chosen), group="launch", exclusive=True)


async def _trust(screen: StepScreen, hosts: list[HostAddress], run_dir: Path) -> None:
    """Show the keys of hosts; once they are pinned, show the run on Review."""
    if await ask_to_trust(screen, hosts):
        await run_again(screen.shell, run_dir)


async def _launch(screen: StepScreen, plan: Plan) -> None:
    """Start an engine on a plan and show the run."""
    try:
        await start_engine(screen.shell, plan)
    except BenchtuiError as error:
        screen.notify(str(error), severity="error")


LINES_SHOWN = 10
# what was removed stays on the screen until confirmed
SEEN = (DialogChoice("seen", "o", "OK"),)


async def clean_hosts(screen: StepScreen, run_dir: Path) -> bool:
    """Show what a run left on its hosts, ask, remove it, show the outcome.

    Returns whether anything may have been removed. Waits for the answer, so call it from a worker.
    """
    from tui.engine.preflight.clean import clean, plan_cleaning
    from tui.library.additions import keep_removed
    from tui.library.unfinished import check_over

    def keep(cleaned: list[Cleaning]) -> None:
        keep_removed(run_dir, {each.host: (each.settled, each.bytes) for each in cleaned})

    paths = screen.shell.paths
    try:
        await asyncio.to_thread(check_over, run_dir)
        plan, created = await asyncio.to_thread(left_by, run_dir)
        if not created:
            screen.notify("this run left nothing on its hosts")
            return False
        screen.notify("checking the run's hosts for leftovers")
        found = await over_hosts(
            plan, paths, lambda connections: plan_cleaning(run_dir, created, connections)
        )
        text = text_of(found, done=False)
        if not any(each.goes for each in found):
            screen.notify(f"cannot remove anything\n{text}", severity="warning")
            return False
        if (
            await screen.app.push_screen_wait(
                Confirm("Remove these from the hosts?", text, warns=True)
            )
            != "yes"
        ):
            return False
        # another clean may have run meanwhile
        plan, created = await asyncio.to_thread(left_by, run_dir)
        found = await over_hosts(
            plan, paths, lambda connections: clean(run_dir, created, connections, keep)
        )
    except BenchtuiError as error:
        screen.notify(str(error), severity="error")
        return True
    whole = not any(each.error or each.stays for each in found)
    title = "Removed from the hosts" if whole else "Not everything could be removed"
    screen.app.push_screen(Confirm(title, text_of(found, done=True), SEEN))
    return True


def left_by(run_dir: Path) -> tuple[Plan, list[Created]]:
    """Return a run's plan, and what it created according to its record.

    Raises BenchtuiError.
    """
    from tui.engine.preflight.clean import created_of
    from tui.journal.rundir import load_plan
    from tui.library.load import load_record

    plan = load_plan(run_dir)
    return plan, created_of(plan, load_record(run_dir))


async def over_hosts(
    plan: Plan, paths: Paths, work: Callable[[Connections], Awaitable[list[Cleaning]]]
) -> list[Cleaning]:
    """Run `work` with connections to the hosts of a plan."""
    from tui.remote.fan_out import connections_of

    async with connections_of(plan, paths.known_hosts) as connections:
        return await work(connections)


def text_of(found: list[Cleaning], *, done: bool) -> str:
    """Return what will be removed or, if `done`, was removed; shortened to fit in a dialog."""
    lines = [line for each in found for line in each.lines(done=done)]
    rest = len(lines) - LINES_SHOWN
    more = [f"and {plural(rest, 'more line')}: benchtui clean shows all"] if rest > 0 else []
    return "\n".join(lines[:LINES_SHOWN] + more)
