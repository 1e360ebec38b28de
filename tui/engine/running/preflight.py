"""Preflight: what must hold on every host before any load starts. Rules are pure; all hosts' problems come at once."""

from __future__ import annotations

import asyncio
import posixpath
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

from msgspec.structs import replace

from tui import workloads
from tui.engine.running.locks import take_locks
from tui.engine.running.sharing import tell_sharing
from tui.engine.safety.destroy import device_line, devices_of, judge_again, judge_targets, ours, to_identify
from tui.engine.safety.host_look import HostFindings, Problem, sizes_of, tasks_of
from tui.engine.safety.made_files import Files
from tui.engine.safety.space import directories_to_look_at, judge_space
from tui.engine.session.context import RunContext, RunRefused
from tui.engine.session.course import courses_of
from tui.engine.session.on_hosts import DEVICES, JUDGE, LOOK, on_hosts, refuse_failed
from tui.engine.session.session import HostSession
from tui.engine.session.unchanged import files_of, seen_on
from tui.journal.loss import names_of
from tui.model.event import HostClock, HostFacts
from tui.model.hostfacts import Fact
from tui.model.made import Identities
from tui.model.plan import HARMLESS, HostTask, Plan, Step, is_device
from tui.remote.agent import Agent, ClockOffset, FileInfo, TaskDir
from tui.remote.made import identify
from tui.remote.probe import HostProbe
from tui.workloads.base import Requirement

T = TypeVar("T")
TARGETS = 8  # of files that lie all over the place
SLOW_S = 15.0  # a host that is looked at for longer is shown to be


async def preflight(ctx: RunContext) -> None:
    """Look at every host, then judge. Raises RunRefused (exit 3) when any host cannot run the plan."""
    with ctx.phase("preflight"):
        try:
            await look_and_judge(ctx)
            if await take_locks(ctx):
                await look_and_judge(ctx)  # another run has used the hosts since
            for course in courses_of(ctx.plan):
                await course.try_ahead(ctx)
        except RunRefused:
            tell_ready(ctx)  # nothing is wrong with the others
            raise
        tell_ready(ctx)


def tell_ready(ctx: RunContext) -> None:
    """Say which hosts could run the plan."""
    for session in ctx.alive:
        session.enter("ready")


async def look_and_judge(ctx: RunContext) -> None:
    """Look at every host and tell all problems of all hosts. Raises RunRefused when there is one."""
    found = await on_hosts(ctx, LOOK, ctx.alive, partial(_look, ctx))
    for session in ctx.alive:
        findings = found[session.name]
        session.missing = {path for path, info in findings.files.items() if info is None}
        session.short = smaller_than_planned(sizes_of(ctx.plan, session.name), findings)
        for code, message in judge_host(ctx.plan, session.name, findings):
            session.problem("preflight", code, message)
    tell_sharing(ctx, found)
    for name, (code, message) in judge_space(ctx.plan, found).items():
        next(session for session in ctx.sessions if session.name == name).problem("preflight", code, message)
    for course in courses_of(ctx.plan):
        await course.look(ctx)
    refuse_failed(JUDGE, ctx.sessions)


def smaller_than_planned(sizes: Mapping[str, int], findings: HostFindings) -> set[str]:
    """Return files that runs of ours had made smaller than this one needs them: it makes them anew."""
    there = ((path, info) for path, info in findings.files.items() if info is not None and path in findings.ours)
    return {path for path, info in there if info.size < sizes.get(path, 0)}


def tell_leftovers(session: HostSession, tasks: Sequence[TaskDir]) -> None:
    """Say what runs that are over have left on a host: its data may be wanted yet, so nothing is removed."""
    going_on = {session.run_id, *(task.run for task in tasks if task.alive)}  # steps that are over lie beside them
    if runs := sorted({task.run for task in tasks} - going_on):
        text = f"something is left under /tmp of {names_of(runs)}: benchtui runs recover, or hosts sweep"
        session.say("info", text)


async def still_free(ctx: RunContext, step: Step) -> None:
    """Refuse a step when a device of it is gone, another one, or in use since the preflight: hours may have passed."""
    await on_hosts(ctx, DEVICES, ctx.taking_part(step), partial(_still_free, ctx, step))


async def _still_free(ctx: RunContext, step: Step, session: HostSession) -> None:
    task = ctx.task_of(step, session)
    written = {spec.path for spec in task.written if spec.path in ctx.plan.destroy}
    paths = [spec.path for spec in task.files if spec.path in session.devices or is_device(spec.path)]
    paths = [path for path in dict.fromkeys(paths) if path not in HARMLESS]
    devices = await session.ask(lambda agent: agent.devices(paths)) if paths else {}
    for path, facts in devices.items():
        for code, message in judge_again(session.devices.get(path), facts, written=path in written):
            session.problem("preflight", code, message)


async def _look(ctx: RunContext, session: HostSession) -> HostFindings:
    session.enter("checking")
    slow = asyncio.create_task(_say_slow(session))
    try:
        return await _findings(ctx, session)
    finally:
        slow.cancel()


async def _say_slow(session: HostSession) -> None:
    """Show that a host takes its time: it may be busy, and is waited for."""
    begun = time.monotonic()
    while True:
        await asyncio.sleep(SLOW_S)
        waited = time.monotonic() - begun
        session.enter("checking", f"looked at for {waited:.0f}s already: busy, or a file system hangs; still waiting")


class Ask(Protocol):
    """Makes a call of a host's agent that may be repeated."""

    async def __call__(self, call: Callable[[Agent], Awaitable[T]]) -> T:
        """Return the agent's answer. Raises HostError."""


async def look_at(plan: Plan, host: str, ask: Ask, made: Files) -> HostFindings:
    """Look at one host for the rules that judge it; `made` are the files that runs of ours made there."""
    tasks = tasks_of(plan, host)
    directories = required_directories(tasks)
    paths = sorted({spec.path for task in tasks for spec in task.files})
    probe = await ask(lambda agent: agent.probe(directories, commands_of(requirements_of(plan))))
    files = await ask(lambda agent: agent.files(paths)) if paths else {}
    room_at = directories_to_look_at(tasks)
    room = await ask(lambda agent: agent.room(room_at)) if room_at else {}
    disks = devices_of(tasks, files)
    devices = await ask(lambda agent: agent.devices(disks)) if disks else {}
    if not directories:  # the profile names its files one by one: what it says of a target holds for where they lie
        probe = replace(probe, dirs=room)
    trials = await try_commands(ask, plan, probe)
    counts = {spec.path: spec.count for task in tasks for spec in task.files}
    known = to_identify(files, made)
    now = await ask(lambda agent: identify(agent, known, counts)) if known else Identities()
    return HostFindings(probe, files, devices, room, ours(files, made, now.files), trials)


async def facts_of(plan: Plan, host: str, ask: Ask, found: HostFindings) -> dict[str, Fact]:
    """Return all facts of a host that was looked at, with what lies below its targets."""
    tasks = tasks_of(plan, host)
    targets = [*(required_directories(tasks) or directories_to_look_at(tasks)[:TARGETS]), *found.devices]
    commands = list(commands_of(requirements_of(plan)))
    return await ask(lambda agent: agent.facts(found.probe, targets, commands))


def required_directories(tasks: Sequence[HostTask]) -> list[str]:
    """Return the directories that must be there."""
    return sorted({task.required_dir for task in tasks if task.required_dir})


async def _findings(ctx: RunContext, session: HostSession) -> HostFindings:
    found = await look_at(ctx.plan, session.name, session.ask, ctx.made_files.on(session.name))
    known = await facts_of(ctx.plan, session.name, session.ask, found)
    clock = await session.ask(lambda agent: agent.clock())
    tell_leftovers(session, await session.ask(lambda agent: agent.tasks()))
    session.facts, session.ours, session.devices = known, found.ours, found.devices
    paths = [path for task in tasks_of(ctx.plan, session.name) for path in files_of(task)]
    session.seen = await session.ask(partial(seen_on, paths=sorted(set(paths))))
    written = {spec.path for task in tasks_of(ctx.plan, session.name) for spec in task.written}
    for path, facts in found.devices.items():
        session.say("warning" if facts.unsure and path in written else "info", device_line(facts))
    session.journal.append(HostFacts(t=0.0, host=session.name, facts=session.facts))
    if clock is not None:
        session.journal.append(clock_event(session, clock))
    return found


async def try_commands(ask: Ask, plan: Plan, probe: HostProbe) -> dict[str, str]:
    """Return what commands say that are there and cannot do what they are needed for, by what that is."""
    tries = {need.trial_of: need for need in requirements_of(plan) if need.trial_args and need.command in probe.tools}
    answers: dict[str, str] = {}
    for what, need in tries.items():
        said = await ask(partial(Agent.trial, words=(need.command, *need.trial_args)))
        answers[what] = "" if need.trial_fine and need.trial_fine in said else said
    return {what: said for what, said in answers.items() if said}


def clock_event(session: HostSession, clock: ClockOffset) -> HostClock:
    """Return a measured clock as an event on the run's time line."""
    return HostClock(
        t=0.0,
        host=session.name,
        offset_s=clock.offset_s,
        uncertainty_s=clock.uncertainty_s,
        rtt_s=clock.rtt_s,
        run_zero_ms=session.journal.zero_ms,
    )


def judge_host(plan: Plan, host: str, findings: HostFindings) -> list[Problem]:
    """Return why this host cannot run the plan: tool, directories, targets."""
    problems = [each for need in requirements_of(plan) for each in tool_problems(need, findings.probe)]
    problems += trial_problems(plan, findings)
    for task in tasks_of(plan, host):
        problems += directory_problems(task.required_dir, findings.probe) if task.required_dir else []
        problems += judge_files(plan, task, findings.files)
    return list(dict.fromkeys([*problems, *judge_targets(plan, host, findings)]))


def requirements_of(plan: Plan) -> list[Requirement]:
    """Return what the load generators of a plan need on every host."""
    tools = dict.fromkeys(step.tool for step in plan.steps)
    steps = {tool: [step for step in plan.steps if step.tool == tool] for tool in tools}
    return [need for tool in tools for need in workloads.of(steps[tool][0]).requirements(steps[tool])]


def commands_of(needs: Iterable[Requirement]) -> dict[str, tuple[str, ...]]:
    """Return the commands to look for, each with the words that have it say its version."""
    return {need.command: need.version_args for need in needs}


def trial_problems(plan: Plan, findings: HostFindings) -> Iterable[Problem]:
    """Check that the commands can do what they are needed for."""
    for need in requirements_of(plan):
        if need.trial_of in findings.trials:
            found = findings.probe.tools[need.command]
            said = findings.trials[need.trial_of]
            yield f"{need.command}-unfit", f"{found.text} at {found.path} cannot do {need.trial_of}: {said}"


def tool_problems(need: Requirement, probe: HostProbe) -> Iterable[Problem]:
    """Check that a command is there and new enough."""
    tool, minimum = posixpath.basename(need.command), need.minimum
    wanted = f" {'.'.join(map(str, minimum))} or newer" if minimum else ""
    found = probe.tools.get(need.command)
    if found is None:
        where = f"{need.command} is not there" if "/" in need.command else f"{tool} is not on PATH"
        yield f"{tool}-missing", f"{where}; install {tool}{wanted}"
    elif minimum and found.version is None:
        yield f"{tool}-unusable", f"{found.path} does not say its version ({found.text!r})"
    elif minimum and found.version is not None and found.version < minimum:
        yield f"{tool}-too-old", f"{found.text} at {found.path} is too old; {tool}{wanted} is needed"


def directory_problems(directory: str, probe: HostProbe) -> Iterable[Problem]:
    """Check that the target directory exists, is a directory, and takes files."""
    facts = probe.dirs.get(directory)
    if facts is None:
        return
    if not facts.exists:
        yield "dir-missing", f"directory {directory} does not exist"
    elif not facts.is_dir:
        yield "dir-not-a-directory", f"{directory} is not a directory"
    elif not facts.writable:
        yield "dir-not-writable", f"directory {directory} is not writable for {probe.user}"


def judge_files(plan: Plan, task: HostTask, files: Mapping[str, FileInfo | None]) -> Iterable[Problem]:
    """Check that no file of the plan is something else than a plain file, unless the profile is about devices."""
    for spec in task.files:
        info = files.get(spec.path)
        if info is None:
            if is_device(spec.path):
                yield "device-missing", f"{spec.path} does not exist"
        elif info.kind in ("block", "char") and not plan.allow_device:
            yield "target-is-device", f"{spec.path} is a {info.kind} device; this profile is for files"
        elif info.kind not in ("file", "block", "char"):
            yield "target-not-a-file", f"{spec.path} is a {info.kind}, not a file"
