"""How many I/Os a second each of fio's workers is told to begin, so that all of them together come to a total. Pure.

With ``rate_process=poisson`` fio waits whole microseconds: the mean gap is ``1000000 // rate`` of them, and half of
one is lost each time (backend.c, usec_for_io). A worker of 15,000 a second would do 15,267.
"""

from __future__ import annotations

from collections.abc import Sequence

EXACT_BELOW = 1000  # I/Os a second of one worker: up to here fio's rounding is below 0.1 %
LEAST = 10  # I/Os a second of one worker: fio's snapshots wait for each of them (stat.c)


def worker_rates(total: int, workers: int) -> list[int]:
    """Return the rate option of each worker, larger ones first; 0 < workers <= total.

    The options add up to the total where fio keeps them as they are, and come to it where it rounds gaps.
    """
    if total <= EXACT_BELOW * workers:
        return [total // workers + (at < total % workers) for at in range(workers)]
    gap = int(workers * 1e6 / total + 0.5) + 1  # the shortest gap that is not too fast
    slow, fast = rate_of_gap(gap), rate_of_gap(gap - 1)
    many = min(workers, max(0, round((total - workers * slow) / (fast - slow))))
    return [option_of_gap(gap - 1)] * many + [option_of_gap(gap)] * (workers - many)


def rate_of_gap(gap_us: int) -> float:
    """Return the I/Os a second that fio begins with a mean gap of so many microseconds before it rounds."""
    return 1e6 / (gap_us - 0.5)


def option_of_gap(gap_us: int) -> int:
    """Return the rate that fio makes this gap of."""
    return 1_000_000 // max(gap_us, 1)


def shares(total: int, percents: Sequence[int]) -> list[int]:
    """Return a total split by percentages that add up to 100; the last one takes what rounding leaves."""
    found = [round(total * percent / 100) for percent in percents[:-1]]
    return [*found, total - sum(found)]


def in_proportion(total: int, parts: Sequence[float], least: Sequence[int]) -> list[int]:
    """Return a total split by parts, none less than its least; they add up to the total. Raises ValueError."""
    if total < sum(least):
        raise ValueError(f"{total} is less than {sum(least)}")
    wanted = [total * part / sum(parts) for part in parts]
    found = [max(low, int(each)) for each, low in zip(wanted, least, strict=True)]
    while left := total - sum(found):
        step = 1 if left > 0 else -1
        free = [at for at, each in enumerate(found) if each + step >= least[at]]
        furthest = max(free, key=lambda at: step * (wanted[at] - found[at]))
        found[furthest] += step
    return found


def spread(rates: Sequence[int], hosts: Sequence[int]) -> list[list[int]]:
    """Return the rates by host, which have so many workers each: first workers of all hosts first."""
    order = sorted((worker, host) for host, count in enumerate(hosts) for worker in range(count))
    found: list[list[int]] = [[] for _ in hosts]
    for (_, host), rate in zip(order, rates, strict=False):
        found[host].append(rate)
    return found
