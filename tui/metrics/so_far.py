"""Lower bounds of the final percentiles, from the first part of a measurement."""

from __future__ import annotations

from math import floor

# without a planned end, as much time may remain as has passed
AS_LONG_AGAIN = 0.5


def passed_share(measured_s: float | None, runtime_s: float | None) -> float:
    """Return the share of a running measurement that has passed; 0.5 without a planned end."""
    if not runtime_s:
        return AS_LONG_AGAIN
    return min((measured_s or 0.0) / runtime_s, 1.0)


def sure_percentile(percentile: float, passed: float) -> float:
    """Return the percentile of the I/Os so far that is a lower bound for `percentile` of all I/Os.

    `passed`: share of all I/Os that are complete. Halfway, the final p99 is at least the p98 so
    far: the slowest I/Os so far count in full. 0 if there is no such bound.
    """
    return max(0.0, floor(100 * (100 - (100 - percentile) / passed)) / 100) if passed else 0.0
