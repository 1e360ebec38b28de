"""What figures of a part of the time say of the whole time."""

from __future__ import annotations

from math import floor

# without a planned end, as much time may remain as has passed
AS_LONG_AGAIN = 0.5


def passed_share(measured_s: float | None, runtime_s: float | None) -> float:
    """Return the share of a running measurement that has passed."""
    if not runtime_s:
        return AS_LONG_AGAIN
    return min((measured_s or 0.0) / runtime_s, 1.0)


def sure_percentile(percentile: float, passed: float) -> float:
    """Return the percentile of the I/Os so far below which a percentile of all cannot fall, if this
    share of all is complete; 0 if there is none.

    The slowest of all are at least the slowest so far.
    """
    return max(0.0, floor(100 * (100 - (100 - percentile) / passed)) / 100) if passed else 0.0
