"""Run a search: choose each step's load from the points before it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from tui.capacity.answer import answer
from tui.capacity.next_point import has_rate, next_offer, unbounded, why_over
from tui.capacity.points import PointData, clearly_over, judge
from tui.engine.executors.executor import end_early
from tui.engine.plan.search import offered_step
from tui.engine.session.context import (
    EXIT_COMPLETE,
    EXIT_NEVER_MET,
    EXIT_PARTIAL,
    EXIT_UNFINISHED,
    HostsAway,
    RunContext,
    RunRefused,
    Seconds,
)
from tui.journal.reader import read_events
from tui.metrics.figures import over_hosts, total_rates
from tui.model.event import HostResult, PointDecided, PointOffered, Sample, StepEnded, StepStarted
from tui.model.operands import Clause, by_generator, clause
from tui.model.plan import Step
from tui.model.problem import UsageError
from tui.model.rundir import JOURNAL_FILE
from tui.model.search import Offer, Search, SearchPoint


async def run_search(
    ctx: RunContext, slots: Sequence[Step], measure: Callable[[RunContext, Step], Awaitable[None]]
) -> None:
    """Measure points until the search has its answer, or must end.

    Raises RunStopped, and RunRefused if a host that a point needs is lost: fewer hosts have a
    different capacity.
    """
    decide_measured(ctx)
    for slot in slots:
        ctx.check_stop()
        if ctx.given_up:
            raise RunRefused(EXIT_PARTIAL, ctx.given_up)
        search = _search(ctx)
        offer = next_offer(search, ctx.search.points)
        if offer is None:
            _skip(ctx, slot)
            continue
        step = _offered(ctx, slot, offer)
        try:
            await _measured(ctx, step, offer, measure)
        finally:
            ctx.on_second = lambda: None


def _search(ctx: RunContext) -> Search:
    if ctx.plan.search is None:
        raise ValueError(f"{ctx.run_id} is not a search")
    return ctx.plan.search


def wants_more(ctx: RunContext) -> bool:
    """Return whether a search has another point to measure."""
    return next_offer(_search(ctx), ctx.search.points) is not None


def _skip(ctx: RunContext, slot: Step) -> None:
    ctx.skipped.add(slot.index)
    reason = why_over(_search(ctx), ctx.search.points)
    ctx.journal.append(StepEnded(t=0.0, step=slot.index, skipped=True, reason=reason))


def _offered(ctx: RunContext, slot: Step, offer: Offer) -> Step:
    """Journal the load offered in a slot, and return the slot's step. Raises RunRefused if it
    cannot be offered.
    """
    try:
        paced = offered_step(ctx.plan, slot, offer)
    except UsageError as error:
        why = clause(
            "cannot-offer",
            offered_iops=offer.rate_iops,
            knobs=[[*each] for each in offer.knobs.items()],
            quote="; ".join(each.message for each in error.problems),
        )
        raise RunRefused(EXIT_PARTIAL, why) from None
    for caveat in paced.caveats:
        ctx.say("info", by_generator(slot.tool, caveat))
    return ctx.offer(PointOffered(t=0.0, step=slot.index, offer=offer, planned=paced.step))


async def _measured(
    ctx: RunContext,
    step: Step,
    offer: Offer,
    measure: Callable[[RunContext, Step], Awaitable[None]],
) -> None:
    ctx.seconds = Seconds(step.index, len(step.tasks))
    ctx.on_second = lambda: _end_if_certain(ctx, step, offer)
    try:
        await measure(ctx, step)
    except HostsAway:
        raise
    except RunRefused as refused:
        # void; the next point shows whether that lasts
        ctx.say("error", clause("in-step", step=step.name, why=refused.reason))
    ctx.check_stop()
    _decide(ctx, step, offer)


def _end_if_certain(ctx: RunContext, step: Step, offer: Offer) -> None:
    """End a point early if its verdict is already certain."""
    if step.index in ctx.ended_early or not ctx.active:
        return
    if over := clearly_over(_search(ctx), offer, ctx.seconds.totals()):
        ctx.ended_early[step.index] = over
        ctx.say("info", clause("step-ended-early", step=step.name, why=over))
        end_early(ctx)


def decide_measured(ctx: RunContext) -> None:
    """Decide points that a dead engine measured but did not decide, using the samples in the
    journal.
    """
    for index, event in ctx.search.offered.items():
        step = ctx.plan.steps[index]
        if index not in ctx.search.decided and ctx.is_whole(step):
            ctx.seconds = Seconds(index, len(step.tasks))
            for each in read_events(ctx.run_dir / JOURNAL_FILE):
                if isinstance(each, StepStarted) and each.step == index:  # another attempt
                    ctx.seconds = Seconds(index, len(step.tasks))
                elif isinstance(each, Sample):
                    ctx.seconds.add(each)
            _decide(ctx, step, event.offer)


def _decide(ctx: RunContext, step: Step, offer: Offer) -> None:
    point = point_of(ctx, step, offer)
    ctx.search.decide(ctx.journal.append(PointDecided(t=0.0, point=point)))


def point_of(ctx: RunContext, step: Step, offer: Offer) -> SearchPoint:
    """Return the measured step as a search point, from its hosts' results and per-second
    samples.
    """
    cut = step.index in ctx.ended_early
    results = {host: ctx.results.get((step.index, host)) for host in step.hosts}
    whole = {
        host: each for host, each in results.items() if each is not None and (each.final or cut)
    }
    missing = [host for host in step.hosts if host not in whole]
    gone = {session.name for session in ctx.sessions if session.failed}
    lost = [host for host in missing if host in gone] or missing
    found = [each for each in results.values() if each is not None]
    data = PointData(
        step.index, over_hosts([each.dirs for each in found]), ctx.seconds.totals(), len(whole),
        lost, cut,
        ctx.plan.latency_kind_of(step), failed_ios(found), _of_jobs(found), split_of(step),
    )  # fmt: skip
    return judge(_search(ctx), offer, data)


def failed_ios(results: Sequence[HostResult]) -> int:
    """Return the number of failed I/Os; for tools that do not count them, the number of distinct
    errors.
    """
    return sum(len(each.errors) if each.failed_ios is None else each.failed_ios for each in results)


def split_of(step: Step) -> dict[str, float]:
    """Return the offered IOPS of one host by direction, summed over the step's jobs."""
    names = dict.fromkeys(name for job in step.jobs for name in job.rate_iops)
    return {name: sum(job.rate_iops.get(name, 0.0) for job in step.jobs) for name in names}


def _of_jobs(results: Sequence[HostResult]) -> dict[str, float]:
    """Return the achieved rate by job, summed over all hosts."""
    names = dict.fromkeys(name for each in results for name in each.jobs)
    return {
        name: sum(total_rates(each.jobs.get(name, {}))[0] for each in results) for name in names
    }


def how_search_ended(ctx: RunContext) -> tuple[int, Clause | str]:
    """Return the exit code of a search that was not stopped, and the reason if it is not 0."""
    search, points = _search(ctx), ctx.search.points
    over = next_offer(unbounded(search, points), points) is None
    if search.kind == "capacity":
        found = answer(search, points)
        if found.state == "never-met":
            return EXIT_NEVER_MET, clause("limits-not-met", limit=found.binding)
        over = found.state != "unfinished"
        if over and found.held_s is None:
            return EXIT_UNFINISHED, found.hold or ""
        if found.state == "met-at-full-load" and has_rate(search):
            # a closed loop: it has no intended start, from which the limits would count
            return EXIT_UNFINISHED, clause("closed-loop-only")
    if over:
        return EXIT_COMPLETE, ""
    option = "--points" if len(points) >= search.points else "--within"
    why = why_over(search, points)
    return EXIT_UNFINISHED, clause(
        "search-unfinished", why=why, option=option, run_id=ctx.run_id
    )
