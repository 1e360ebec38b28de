"""Lies in the journal of a real run, which is then judged again: intervals, results, clocks, what
moved below.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from random import Random

from tests.long.lies.classes import Kind
from tests.long.lies.doctored.case import Case, factor, thinned
from tests.long.lies.doctored.change import Lied
from tests.long.lies.doctored.real_run import Event, RealRun, judged_again, results, samples
from tui.model.dense import listed

HOSTS = ("h1", "h2", "h3")
Change = Callable[[list[Event]], object]
Lie = Callable[[Random, Sequence[Event]], tuple[Lied, Change] | None]


def _part(event: Event) -> Event:
    found: Event = event["dirs"]["read"]
    return found


def _scale_sample(event: Event, by: float) -> None:
    """Do more or fewer I/Os in an interval, of the same latencies."""
    part = _part(event)
    block = part["bytes"] // max(part["ios"], 1)
    if isinstance(part["lat"], str):  # dense
        buckets = listed(base64.b64decode(part["lat"]))
        part["lat"] = {"idx": list(buckets.idx), "n": list(buckets.n)}
    counts = thinned(part["lat"]["n"], by)
    part["lat_sum_ns"] = round(part["lat_sum_ns"] * by)
    part["ios"], part["lat"]["n"] = sum(counts), counts
    part["bytes"] = part["ios"] * block


def _scale_result(event: Event, by: float) -> None:
    for dirs in (event["dirs"], *event.get("jobs", {}).values()):
        part = dirs["read"]
        block, seconds = part["bytes"] // part["ios"], part["runtime_s"]
        for kind in ("slat", "clat", "lat"):
            if part.get(kind):
                buckets = part[kind].get("buckets")
                if buckets:
                    buckets["n"] = thinned(buckets["n"], by)
                    part[kind]["n"] = sum(buckets["n"])
                else:
                    part[kind]["n"] = round(part[kind]["n"] * by)
        part["ios"] = next(
            (part[kind]["n"] for kind in ("lat", "clat") if part.get(kind)), round(part["ios"] * by)
        )
        part["bytes"] = part["ios"] * block
        part["iops"], part["bw_bytes_per_s"] = part["ios"] / seconds, part["bytes"] / seconds


def _largest(events: Sequence[Event], host: str) -> int:
    return max(int(_part(each)["ios"]) for each in samples(list(events), host))


def intervals_scaled(rng: Random, events: Sequence[Event]) -> tuple[Lied, Change]:
    """Some intervals of a host are of another load."""
    host, by = rng.choice(HOSTS), factor(rng, 0.05)
    own = [at for at, each in enumerate(events) if each["type"] == "sample" and each["host"] == host
           and each["phase"] == "measure"]  # fmt: skip
    chosen = rng.sample(own, rng.randint(1, len(own)))

    def change(now: list[Event]) -> None:
        for at in chosen:
            _scale_sample(now[at], by)

    off = sum(abs(by - 1) * _part(events[at])["ios"] for at in chosen)
    what = f"{len(chosen)} intervals of {host} x {by:.3g}"
    largest = _largest(events, host) * max(by, 1.0)
    aims = ("series-mismatch", "stall", "steady-state", "straggler")
    return (
        Lied(what, aims)
        if off > 1.2 * largest
        else Lied(what, (), "the I/Os of one interval at each end")
    ), change


def result_scaled(rng: Random, events: Sequence[Event]) -> tuple[Lied, Change]:
    """The result of a host is of another load; all of its figures agree."""
    host, by = rng.choice(HOSTS), factor(rng, 0.01)

    def change(now: list[Event]) -> None:
        for each in results(now, host):
            _scale_result(each, by)

    done = sum(_part(each)["ios"] for each in results(list(events), host))
    what = f"result of {host} x {by:.3g}"
    aims = ("series-mismatch", "above-offered", "above-depth", "offered-rate", "straggler")
    seen = abs(by - 1) * done > 1.2 * _largest(events, host)
    return (
        Lied(what, aims) if seen else Lied(what, (), "the I/Os of one interval at each end")
    ), change


def dropped(rng: Random, events: Sequence[Event]) -> tuple[Lied, Change]:
    """Intervals of a host are left out."""
    host = rng.choice(HOSTS)
    own = [at for at, each in enumerate(events) if each["type"] == "sample" and each["host"] == host
           and each["phase"] == "measure"]  # fmt: skip
    count = rng.randint(1, len(own) // 2)
    chosen = set(rng.sample(own[1:-1], count))

    def change(now: list[Event]) -> None:
        now[:] = [each for at, each in enumerate(now) if at not in chosen]

    what = f"{count} of {len(own)} intervals of {host} left out"
    if count > 1:
        return Lied(what, ("missing-samples", "series-mismatch", "host-loss", "stall")), change
    return Lied(what, (), "one second may be missing"), change


def stalled(rng: Random, events: Sequence[Event]) -> tuple[Lied, Change]:
    """A host stands still for seconds, and makes up for it before and after."""
    host, seconds = rng.choice(HOSTS), rng.choice((1, 2, 4, 5, 6, 8))
    own = [at for at, each in enumerate(events) if each["type"] == "sample" and each["host"] == host
           and each["phase"] == "measure"]  # fmt: skip
    first = rng.randint(1, len(own) - seconds - 2)
    still = own[first : first + seconds]

    def change(now: list[Event]) -> None:
        lost = sum(_part(now[at])["ios"] for at in still)
        rest = [at for at in own if at not in still]
        by = 1 + lost / sum(_part(now[at])["ios"] for at in rest)
        for at in rest:
            _scale_sample(now[at], by)
        for at in still:
            _scale_sample(now[at], 0.02)

    what = f"{host} stalls for {seconds} s"
    if seconds > 3:
        return Lied(what, ("stall",)), change
    return Lied(what, (), "pauses of less than 3 s are allowed"), change


def drifting(rng: Random, events: Sequence[Event]) -> tuple[Lied, Change] | None:
    """The rate of all hosts falls or rises over the run, with the same total."""
    move = rng.choice((-1, 1)) * rng.uniform(0.02, 1.2)
    slope = abs(move) * 0.8  # between the middles of the first and the last fifth
    if 0.08 < slope < 0.13:
        return None

    def change(now: list[Event]) -> None:
        for host in HOSTS:
            own = list(samples(now, host))
            for at, each in enumerate(own):
                _scale_sample(each, 1 + move * (at / max(len(own) - 1, 1) - 0.5))

    what = f"the rate moves by {move:+.0%} over the run"
    aims = ("steady-state", "warm-up")
    return (
        Lied(what, aims) if slope > 0.1 else Lied(what, (), "steady by SNIA's rule: 10 % of drift")
    ), change


def longer_than_run(rng: Random, events: Sequence[Event]) -> tuple[Lied, Change]:
    """A result that took longer than the run."""
    host, by = rng.choice(HOSTS), 1 + 10 ** rng.uniform(-2, 1)

    def change(now: list[Event]) -> None:
        for event in results(now, host):
            for dirs in (event["dirs"], *event.get("jobs", {}).values()):
                part = dirs["read"]
                part["runtime_s"] = round(part["runtime_s"] * by, 3)
                if part.get("shortest_s"):
                    part["shortest_s"] = round(part["shortest_s"] * by, 3)
                part["iops"] = part["ios"] / part["runtime_s"]
                part["bw_bytes_per_s"] = part["bytes"] / part["runtime_s"]

    ran = max(_part(each)["runtime_s"] for each in results(list(events), host))
    what = f"runtime of {host} x {by:.3g}"
    aims = ("impossible-time", "offered-rate", "end-skew", "straggler")
    spans = [
        each["t"]
        for each in events
        if each.get("phase") == "measure" and each["type"].startswith("phase_")
    ]
    seen = ran * by > spans[-1] - spans[0] + 1.2
    return (Lied(what, aims) if seen else Lied(what, (), "within a second of its phase")), change


def late_host(rng: Random, events: Sequence[Event]) -> tuple[Lied, Change]:
    """A host that started and ended later than the others."""
    host, by = rng.choice(HOSTS), rng.uniform(0.2, 12)

    def change(now: list[Event]) -> None:
        for each in [*samples(now, host), *results(now, host)]:
            each["t"] = round(each["t"] + by, 4)
            for name in ("host_time_ms", "start_ms", "end_ms"):
                if each.get(name) is not None:
                    each[name] += round(by * 1000)

    what = f"{host} is {by:.2f} s later than the others"
    if by > 1.2:
        return Lied(what, ("start-skew", "never-together")), change
    return Lied(what, (), "hosts may start within a second of each other"), change


def clock_off(rng: Random, events: Sequence[Event]) -> tuple[Lied, Change]:
    """A host's clock is another one than it was."""
    host, by = rng.choice(HOSTS), rng.choice((-1, 1)) * 10 ** rng.uniform(-2, 3)

    def change(now: list[Event]) -> None:
        for each in now:
            if each["type"] == "host_clock" and each["host"] == host:
                each["offset_s"] = by

    what = f"clock of {host} off by {by:+.3g} s"
    if abs(by) > 0.12:
        return Lied(what, ("clock-offset", "clock-step", "start-skew")), change
    return Lied(what, (), "clocks may be off by 100 ms"), change


def copied_result(rng: Random, events: Sequence[Event]) -> tuple[Lied, Change]:
    """The result and the intervals of one host under another's name."""
    source, host = rng.sample(HOSTS, 2)

    def change(now: list[Event]) -> None:
        copies = [
            json.loads(json.dumps(each)) for each in [*samples(now, source), *results(now, source)]
        ]
        now[:] = [
            each for each in now if each["type"] not in ("sample",
                "host_result") or each["host"] != host
            or each.get("phase") == "layout"
        ]  # fmt: skip
        now += [{**each, "host": host} for each in copies]

    return Lied(f"output of {source} as that of {host}", ("copied-output",)), change


def from_cache(rng: Random, events: Sequence[Event]) -> tuple[Lied, Change] | None:
    """Less was moved below the load than it counted."""
    share = rng.uniform(0.0, 1.0)
    if 0.88 < share < 0.95:
        return None
    columns = {
        each["host"]: each["columns"] for each in events if each["type"] == "telemetry_columns"
    }

    def change(now: list[Event]) -> None:
        for each in now:
            if each["type"] == "telemetry":
                names = columns[each["host"]]
                for at, name in enumerate(names):
                    moved = name == "gen.read_bytes" or (
                        name.startswith("dev.") and name.endswith(".read_bytes")
                    )
                    if (moved or name.endswith(".rd")) and each["values"][at] is not None:
                        each["values"][at] *= share

    what = f"{share:.0%} of the bytes came from the device"
    if share < 0.9:
        return Lied(what, ("storage-traffic",)), change
    return Lied(what, (), "within a second at each end"), change


def other_clock(rng: Random, events: Sequence[Event]) -> tuple[Lied, Change] | None:
    """A load generator whose clock runs slower or faster: it counts as many I/Os in a second of
    another length.
    """
    host, rate = rng.choice(HOSTS), 2 ** (rng.choice((-1, 1)) * rng.uniform(0.0, 1.2))
    if 0.92 < rate < 1.08 and abs(rate - 1) > 0.03:
        return None  # at the edge of what the check allows

    def change(now: list[Event]) -> None:
        own = [*samples(now, host)]
        first, end = own[0]["t"], own[-1]["t"]
        for each in own:  # `rate` seconds pass while it counts one
            each["t"] = round(first + (each["t"] - first) * rate, 4)
        late = own[-1]["t"] - end
        last = own[-1]
        for each in now:
            own_end = each.get("host") == host and each["type"] in ("host_result", "task_ended")
            done = each["type"] in ("phase_ended", "step_ended", "run_ended")
            if (own_end and each.get("phase") in (None, "measure")) or done:
                each["t"] = round(max(each["t"] + max(late, 0.0), last["t"]), 4)

    what = f"a second of {host} lasts {rate:.3g} s"
    if abs(rate - 1) > 0.05:
        return Lied(what, ("tool-clock",)), change
    return Lied(what, (), "clocks may run 5 % apart"), change


def delay(events: Sequence[Event], late: Sequence[Event], seconds: float) -> None:
    """Move events of a host, and the ends of what they belong to, to a later time."""
    for each in late:
        each["t"] = round(each["t"] + seconds, 4)
        for name in ("host_time_ms", "end_ms"):
            if each.get(name) is not None:
                each[name] += round(seconds * 1000)
    for each in events:
        if each["type"] in ("task_ended", "phase_ended", "step_ended", "run_ended"):
            each["t"] = round(each["t"] + seconds, 4)


def late_report(rng: Random, events: Sequence[Event]) -> tuple[Lied, Change]:
    """A load generator that was stopped: one sample covers more than a second, with as many I/Os
    as before.
    """
    host, stopped_s = rng.choice(HOSTS), rng.uniform(0.1, 2.5)
    own = list(samples(list(events), host))
    at = rng.randint(2, len(own) - 6)

    def change(now: list[Event]) -> None:
        every = list(samples(now, host))
        every[at]["interval_s"] = round(every[at]["interval_s"] + stopped_s, 4)
        delay(now, [*every[at:], *results(now, host)], stopped_s)

    what = f"a report of {host} is {stopped_s:.2f} s late"
    if stopped_s > 0.6:
        return Lied(what, ("stall", "missing-samples", "end-skew")), change
    return Lied(what, (), "reports may be 0.4 s late"), change


def paused(rng: Random, events: Sequence[Event]) -> tuple[Lied, Change]:
    """A client that was paused as a whole: a sample and a line of telemetry cover more than a
    second, with the I/Os of one.
    """
    host, stopped_s = rng.choice(HOSTS), rng.uniform(1.4, 4.0)
    own = list(samples(list(events), host))
    at = rng.randint(2, len(own) - 2)

    def change(now: list[Event]) -> None:
        every = list(samples(now, host))
        begin_t = every[at]["t"] - 0.5
        agent = [each for each in now
                 if each["type"] == "telemetry" and each["host"] == host and each["t"] > begin_t]  # fmt: skip
        for first in (every[at], *agent[:1]):
            first["interval_s"] = round(first["interval_s"] + stopped_s, 4)
        delay(now, [*every[at:], *agent, *results(now, host)], stopped_s)

    return Lied(f"{host} is paused for {stopped_s:.2f} s", ("stall",)), change


LIES: dict[str, tuple[Kind, Lie]] = {
    "a paused client": ("steadiness", paused),
    "a clock at another rate": ("time", other_clock),
    "a late report": ("steadiness", late_report),
    "intervals of another load": ("identities", intervals_scaled),
    "result of another load": ("identities", result_scaled),
    "output of another host, live": ("identities", copied_result),
    "longer than the run": ("time", longer_than_run),
    "a late host": ("time", late_host),
    "a clock that is off": ("time", clock_off),
    "intervals left out": ("steadiness", dropped),
    "a host that stands still": ("steadiness", stalled),
    "a rate that drifts": ("steadiness", drifting),
    "bytes that no device moved": ("cache", from_cache),
}


def draw(
    rng: Random, run: RealRun, events: Sequence[Event], before: frozenset[str], name: str
) -> Case | None:
    """Doctor a journal; None where it has the finding already."""
    kind, lie = LIES[name]
    made = lie(rng, events)
    if made is None or (made[0].aims and made[0].aims[0] in before):
        return None
    lied, change = made
    return Case(
        kind,
        name,
        lied.what,
        lied.aims,
        judged_again(run, change),
        before,
        "" if lied.aims else lied.unseen,
    )
