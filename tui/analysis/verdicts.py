"""The rule by which an interval becomes a verdict: for runs, repetitions, searches and `ab`."""

from __future__ import annotations

from typing import Literal

from tui.model.operands import Clause, clause

THRESHOLD = 0.02  # smaller changes are never called better or worse, however significant
WIDE = 0.05  # with an interval that reaches further, a difference may well exist

Outcome = Literal["differs", "no difference detected", "inconclusive"]


def stays_within(low: float, high: float, limit: float) -> bool:
    """Return whether no ratio of an interval differs from 1 by more than `limit`."""
    return max(high - 1, 1 - low) <= limit


def outcome(
    ratio: float, low: float, high: float, *, significant: bool, threshold: float, alpha: float
) -> tuple[Outcome, Clause | None]:
    """Return what an interval shows, with the reason where the figures alone do not show it.

    `significant`: at the level `alpha`, after correction. A significant change of `threshold` or
    more differs. No difference is detected if the whole interval is within THRESHOLD, or if it
    contains 0 % and is within WIDE or the threshold. Anything else is inconclusive, including an
    interval that excludes 0 % and exceeds THRESHOLD, but is within a noise floor given as
    `threshold`.
    """
    if significant and abs(ratio - 1) >= threshold:
        return "differs", None
    excludes_zero = significant or low > 1 or high < 1
    if stays_within(low, high, threshold):
        if not excludes_zero:
            return "no difference detected", None
        if stays_within(low, high, THRESHOLD):
            return "no difference detected", clause("below-threshold", threshold=THRESHOLD)
        return "inconclusive", clause("within-noise-floor", threshold=threshold)
    if not excludes_zero and stays_within(low, high, WIDE):
        return "no difference detected", None
    if significant:
        return "inconclusive", clause("around-threshold", threshold=threshold)
    return "inconclusive", (
        clause("not-significant", level=alpha) if excludes_zero else clause("wide-interval")
    )


def may_be_worse(loss: float, threshold: float) -> bool:
    """Return whether an inconclusive loss, the interval's worse end, is too large to pass a build.

    Up to WIDE passes, or up to the threshold if that is larger.
    """
    return loss > max(WIDE, threshold)
