"""The plan of a counter-experiment: a step as it was, for a short time, then with one change. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from tui import workloads
from tui.engine.planning.matrix import person_text, randseed
from tui.model.address import HostAddress
from tui.model.plan import Plan, ProfileRef, Step
from tui.model.problem import UsageError
from tui.model.profile import Profile
from tui.model.profile_load import Base, load_profile, recorded_profile
from tui.model.proof import SAID, Experiment, Proof, Question

AXIS = "load"
MOST_S, LEAST_S = 15.0, 5.0  # of each of the two steps


def proof_plan(plan: Plan, question: Question, seconds: float | None = None) -> Plan:
    """Return the plan of the first experiment that can be made. Raises UsageError with why none can.

    `seconds` is the length of each of the two steps; by default that of the run's own, 15 s at most.
    """
    refused: list[str] = []
    for experiment in question.experiments:
        try:
            return _planned(plan, question, experiment, seconds)
        except UsageError as error:
            refused.append(f"{SAID[experiment.change]}: {'; '.join(each.message for each in error.problems)}")
    raise UsageError(f"{question.run_id}: no counter-experiment can be made: {'; '.join(refused)}")


def _planned(plan: Plan, question: Question, experiment: Experiment, seconds: float | None) -> Plan:
    step = plan.steps[question.step]
    ref = next((member for member in plan.members if member.tag == step.profile), plan.profile)
    profile, tool = kept_profile(ref), workloads.of(step)
    length = seconds or min(MOST_S, max(LEAST_S, step.runtime_s or MOST_S))
    as_it_was = tool.warm(profile, length)
    changed = as_it_was
    if experiment.change != "half-hosts":
        changed = tool.vary(as_it_was, step.params, experiment.change)
    steps = [
        _one(plan, step, as_it_was, question.run_id, "as it was", 0),
        _one(plan, step, changed, question.run_id, SAID[experiment.change], 1),
    ]
    if experiment.change == "half-hosts":
        steps[1] = _fewer_hosts(steps[1])
    return replace(
        plan,
        profile=ref,
        params=dict(step.params),
        texts={name: person_text(profile, name, value) for name, value in step.params.items()},
        hosts=_hosts(plan, step),
        steps=steps,
        headline=plan.headline_of(step),
        latency_kind=plan.latency_kind_of(step),
        drop_caches=plan.drop_caches_before(step),
        destroy=(),  # whoever starts it names again what is lost
        take_locks=False,
        wait_s=0.0,
        telemetry=True,
        axes=[AXIS],
        until=None,
        members=[],
        remarks=refused_today(ref),
        left_out=[],
        note=f"counter-experiment: {question.run_id}",
        proves=Proof(
            question.run_id,
            question.step,
            question.kind,
            question.limiter,
            experiment,
            question.before.get(experiment.prediction.figure),
        ),
    )


def kept_profile(ref: ProfileRef) -> Profile:
    """Return the profile that a plan was made from, as it was taken then. Raises UsageError."""
    return recorded_profile(ref.text, ref.tag, _bases_of(ref))


def refused_today(ref: ProfileRef) -> list[str]:
    """Return why a file with the profile of a run would be refused today: checks that came later."""
    try:
        load_profile(ref.text, ref.tag, _bases_of(ref))
    except UsageError as error:
        return [f"as a file this profile is refused today: {problem}" for problem in error.problems]
    return []


def _bases_of(ref: ProfileRef) -> Base:
    bases = dict(zip(ref.extends, ref.bases, strict=False))

    def base(tag: str) -> tuple[str, str]:
        if tag not in bases:
            raise UsageError(f"{ref.tag}: the plan does not hold {tag}, which it extends")
        return bases[tag], tag

    return base


def _hosts(plan: Plan, step: Step) -> list[HostAddress]:
    """Return the hosts that the step was planned for: those that sat it out have their place among them."""
    count = step.point.get("hosts")
    return plan.hosts[: int(count)] if count is not None else list(plan.hosts)


def _one(plan: Plan, step: Step, profile: Profile, run_id: str, name: str, index: int) -> Step:
    hosts = _hosts(plan, step)
    seeds = {host.name: randseed(f"{run_id} {name}", host.name, 1) for host in hosts}
    (made,) = workloads.of(step).build_steps(profile, step.params, hosts, seeds)
    title = f"{profile.profile} {name}"
    kind = plan.latency_kind_of(step)
    return replace(made, index=index, name=title, cell=title, point={AXIS: name}, latency_kind=kind)


def _fewer_hosts(step: Step) -> Step:
    """Return a step on half of its hosts: what they do, and with which share, stays the same."""
    if len(step.tasks) < 2:
        raise UsageError("there is one host")
    tasks = step.tasks[: len(step.tasks) // 2]
    in_flight = None if step.in_flight is None else step.in_flight * len(tasks) // len(step.tasks)
    return replace(step, tasks=tasks, in_flight=in_flight)
