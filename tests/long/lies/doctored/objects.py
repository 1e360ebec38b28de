"""A real run told as one on objects of a store: its links carry what it counts, or less."""

from __future__ import annotations

from random import Random

import msgspec

from tests.long.lies.doctored.case import Case
from tests.long.lies.doctored.real_run import Event, RealRun, judged_again, results
from tui.model.plan import Plan

WAYS = {"read": "rx", "write": "tx"}
LINK = "nic.eth9"
HOSTS = ("h1", "h2", "h3")


def on_objects(plan: Plan, name: str) -> Plan:
    """Return the plan of a load that gets, or puts, objects."""
    steps = []
    for step in plan.steps:
        jobs = [msgspec.structs.replace(job, objects=True, directions=(name,)) for job in step.jobs]
        tasks = [msgspec.structs.replace(task, files=[]) for task in step.tasks]
        steps.append(msgspec.structs.replace(step, jobs=jobs, tasks=tasks, directions=[name]))
    return msgspec.structs.replace(plan, steps=steps)


def carried(events: list[Event], name: str, shares: dict[str, float]) -> None:
    """Have the links of each host carry this share of what its load counts, and nothing else."""
    rates = {each["host"]: each["dirs"]["read"]["bw_bytes_per_s"] for each in results(events)}
    for each in events:
        for dirs in (each.get("dirs"), *each.get("jobs", {}).values()):
            if name == "write" and dirs and "read" in dirs and each.get("phase") != "layout":
                dirs["write"] = dirs.pop("read")
        if each["type"] == "telemetry_columns":
            names = each["columns"]
            each["columns"] = [
                f"other{at}" if _is_link(one) else one for at, one in enumerate(names)
            ]
            each["columns"] += [f"{LINK}.rx", f"{LINK}.tx"]
        elif each["type"] == "telemetry":
            rate = rates.get(each["host"], 0.0) * shares.get(each["host"], 0.0)
            each["values"] += [rate if WAYS[name] == way else 0.02 * rate for way in ("rx", "tx")]


def _is_link(column: str) -> bool:
    return column.startswith("nic.")


def draw(rng: Random, run: RealRun, before: frozenset[str]) -> Case | None:
    """Have hosts whose links carried a part of the bytes that their loads count.

    The rest was never sent: objects that were not there, or answers without a body.
    """
    name, headers = rng.choice(("read", "write")), 1 + rng.uniform(0.005, 0.06)
    hosts = rng.sample(HOSTS, rng.randint(1, len(HOSTS)))
    share = rng.uniform(0.0, 1.0)
    if 0.85 < share * headers < 0.95:
        return None
    lied = dict.fromkeys(HOSTS, headers) | dict.fromkeys(hosts, share * headers)

    def plan(now: Plan) -> Plan:
        return on_objects(now, name)

    what = f"{share:.0%} of the bytes {name} went over the links of {', '.join(sorted(hosts))}"
    return Case(
        "cache",
        "objects that no link carried",
        what,
        ("object-traffic",) if share * headers < 0.9 else (),
        judged_again(run, lambda now: carried(now, name, lied), plan),
        before,
        unseen="" if share * headers < 0.9 else "within a second at each end",
    )
