"""Compare the rates of a group's jobs with the figures that fio prints for the group."""

from __future__ import annotations

from collections.abc import Iterator

from tui.workloads.fio.distributions import Found
from tui.workloads.fio.printed_numbers import Span

KIB = 1024.0
PER_CENT = 100.0
LEAST_RATE = 64 * KIB  # below, whole KiB/s are too few digits


def of_share(told: float, mean_kib: Span, rate: Span, digit: float) -> Iterator[Found]:
    """Yield a share of the group's rate that is not the mean of the samples divided by that rate.

    fio truncates both to whole KiB/s, and limits the share to 100 %. `digit`: possible error of the
    share.
    """
    if rate.low < LEAST_RATE:
        return
    low = PER_CENT * max(mean_kib.low - 1, 0.0) * KIB / (rate.high + KIB)
    high = PER_CENT * (mean_kib.high + 1) * KIB / (rate.low - KIB)
    if not min(low, PER_CENT) - digit <= told <= min(high, PER_CENT) + digit:
        yield "group-share", told, min((low + high) / 2, PER_CENT)
