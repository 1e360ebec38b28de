"""Preconditioning of a run that goes on: whether it was filled, and whether another round is needed."""

from __future__ import annotations

from collections.abc import Iterator

from tui.engine.session.context import RunContext, RunRefused
from tui.engine.session.on_hosts import EXIT_PARTIAL
from tui.metrics.registry import headline_text
from tui.metrics.steady import Round, is_steady, round_of, rounds_before, window_over, window_text
from tui.model.plan import Step


def check_filled(ctx: RunContext, step: Step) -> None:
    """Raise RunRefused when a host that takes part has not filled the files of a step as planned."""
    if reason := not_filled(ctx, step):
        raise RunRefused("failed", EXIT_PARTIAL, reason)


def not_filled(ctx: RunContext, step: Step) -> str:
    """Return which hosts have not filled the files of a step as planned, and what helps; empty: all have."""
    for fill in fills_of(ctx.plan.steps, step):
        hosts = [session.name for session in ctx.taking_part(step) if session.name in fill.hosts]
        if any(task.images for task in fill.tasks):  # one host fills an image for all
            hosts = fill.hosts
        results = {host: ctx.results.get((fill.index, host)) for host in hosts}
        bare = [host for host, each in results.items() if each is None or not each.final or each.errors]
        if bare:
            again = f"benchtui runs resume --failed {ctx.run_id} fills again (u on Runs)"
            return f"not filled on {', '.join(bare)}; {again}"
    return ""


def fills_of(steps: list[Step], step: Step) -> Iterator[Step]:
    """Yield the steps that fill files which a later step uses."""
    used = _used(step)
    for fill in steps[: step.index] if not step.is_fill else ():
        if fill.is_fill and used & _used(fill):
            yield fill


def _used(step: Step) -> set[tuple[str, str]]:
    """Return the files of a step, by host, and the images, which all hosts share."""
    files = {(task.host, spec.path) for task in step.tasks for spec in task.files}
    return files | {("", image) for task in step.tasks for image in task.images_used}


def steady_already(ctx: RunContext, step: Step) -> str:
    """Return why a round need not be made; an empty text when it must be."""
    if step.precondition is None or not step.is_round:
        return ""
    made = rounds_made(ctx, step)
    rounds = [_round(ctx, each) for each in made[-step.precondition.window :]]
    window = window_over(step.precondition, rounds)
    if window is None or not is_steady(step.precondition, rounds):
        return ""
    return f"steady after {len(made)} rounds: {window_text(step.precondition, window)}"


def tell_round(ctx: RunContext, step: Step) -> None:
    """Tell the operator what a round came to; a warning when it was the last one and the load is not steady."""
    rule, headline = step.precondition, ctx.plan.headline_of(step)
    if rule is None or headline is None or not step.is_round:
        return
    rounds = [_round(ctx, each) for each in [*rounds_made(ctx, step), step][-rule.window :]]
    window = window_over(rule, rounds)
    so_far = window_text(rule, window) if window is not None else f"too few for a window of {rule.window}"
    text = f"round {rule.number} of at most {rule.rounds}: {headline_text(headline, rounds[-1].value)}; {so_far}"
    failed = rule.number == rule.rounds and not is_steady(rule, rounds)
    ctx.say("warning" if failed else "info", f"{text}{'; not steady, measured all the same' if failed else ''}")


def rounds_made(ctx: RunContext, step: Step) -> list[Step]:
    """Return the rounds before a step that were made."""
    return [each for each in rounds_before(ctx.plan.steps, step) if each.index not in ctx.skipped]


def _round(ctx: RunContext, step: Step) -> Round:
    return round_of(ctx.plan, step, {host: ctx.results.get((step.index, host)) for host in step.hosts})
