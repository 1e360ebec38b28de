"""Live and Result, of runs that were made up: each second of a host is one that a real fio
printed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from statistics import fmean, stdev

import msgspec
from msgspec.structs import replace

from tests.app import scenes, test_live_judged, test_matrix_screens
from tests.app.journal_maker import MIX, READS, RUN_ID, RunMaker, host_names
from tests.app.matrix_maker import BLOCKS, JOBS, figures_of, suite, sweep
from tests.app.search_maker import offers, search_in
from tests.app.stage import Stage, app_on
from tests.app.test_facts_differ import facts_of
from tests.app.test_facts_differ import finished as differing
from tests.app.test_operations import iterations, metadata_run
from tests.long.pictures.looks import Look, Open, Picture, on_tab, pressed
from tui.judge import live as findings
from tui.library.build import write_record
from tui.model.event import (
    HostFactsCollected,
    HostProblem,
    HostResult,
    HostState,
    MetadataResult,
    OperationResult,
    PhaseEnded,
    RunEnded,
)
from tui.model.plan import JobLoad, Plan, Step
from tui.model.rundir import PLAN_FILE

SECONDS = 100
SPANS = ((40.0, 17.0, 22.0, 31.0), (38.0, 16.0, 21.0, 33.0), (39.0, 17.0, 20.0, 31.0))
FILES = 2 * 136 * 18382  # of all ranks in an iteration of mdtest
Made = Callable[[Path], RunMaker]


def on(make: Made, step: str = "live") -> Callable[[Path], Open]:
    """Open a screen on a run."""

    def made(home: Path) -> Open:
        findings.SHARE = inf  # what looks cost has no meaning on a clock that stands still
        maker = make(home)
        return lambda look: app_on(maker, step, theme=look.theme, symbols=look.symbols)

    return made


def replayed(make: Made) -> Callable[[Path], Open]:
    """Play a run again."""

    def made(home: Path) -> Open:
        maker = recorded(make)(home)

        def opened(look: Look) -> Stage:
            app = app_on(maker, theme=look.theme, symbols=look.symbols)
            app.replay = 1.0
            return app

        return opened

    return made


def recorded(make: Made) -> Made:
    """Let a run end, and keep its record."""

    def made(home: Path) -> RunMaker:
        maker = make(home).finish()
        write_record(maker.run_dir)
        return maker

    return made


def described(make: Made, title: str = "", workers: int = 0) -> Made:
    """Say in the plan of a run what it is called and, with `workers`, what its job does.

    Each worker keeps one read of 4 KiB in flight, as the seconds of the scenes have it.
    """

    def made(home: Path) -> RunMaker:
        maker = make(home)
        path = maker.run_dir / PLAN_FILE
        plan = msgspec.json.decode(path.read_bytes(), type=Plan)
        if title:
            plan = replace(plan, profile=replace(plan.profile, title=title))
        if workers:
            changed = {**plan.profile.changed, "numjobs": str(workers)}
            plan = replace(
                plan,
                profile=replace(plan.profile, changed=changed),
                steps=[told(step, workers) for step in plan.steps],
            )
        path.write_bytes(msgspec.json.encode(plan))
        return maker

    return made


def told(step: Step, workers: int) -> Step:
    """Return a step with its job: random reads of 4 KiB, by so many workers on each host."""
    job = JobLoad(
        "read_iops",
        ("read",),
        workers=workers,
        held=workers,
        bound_s=step.runtime_s,
        direct=True,
        random=True,
        block_bytes=scenes.BLOCK,
        range_bytes=4 << 30,
        ranges=workers,
    )
    tasks = [
        replace(task, job_file=task.job_file.replace("numjobs=192", f"numjobs={workers}"))
        for task in step.tasks
    ]
    params = {**step.params, "numjobs": workers}
    return replace(step, jobs=[job], tasks=tasks, params=params, in_flight=workers * len(tasks))


def of(name: str, hosts: int, seconds: int = SECONDS) -> Made:
    """One of the scenes."""
    return partial(scenes.scene, name, hosts=hosts, seconds=seconds)


def mixed(home: Path) -> RunMaker:
    """Reads and writes."""
    maker = scenes.begun(home, 12, MIX, tag="lab/mixed")
    path = maker.run_dir / PLAN_FILE
    plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    steps = [replace(step, name=plan.profile.tag) for step in plan.steps]
    path.write_bytes(msgspec.json.encode(replace(plan, steps=steps)))
    return maker.measure(SECONDS)


def waiting(home: Path) -> RunMaker:
    """All hosts but a frozen one have finished."""
    maker = scenes.begun(home, 12, runtime_s=60)
    frozen = maker.hosts[6]
    maker.measure(50).measure(10, silent=[frozen])
    maker.end_loads(*(host for host in maker.hosts if host != frozen))
    maker.t += 8
    return maker


def limited(home: Path) -> RunMaker:
    """Clients without CPU, one of another kernel, with servers beside them."""
    # what I/Os of 4 KiB move over the links
    busy = test_live_judged.BUSY | {"nic.ens1f0.rx": 1.06e8, "nic.ens1f0.tx": 4.1e6}
    storage = test_live_judged.SERVER | {"nic.bond0.rx": 1.2e7, "nic.bond0.tx": 3.1e8}
    maker = scenes.begun(home, 6, busy=busy)
    for host in maker.hosts:
        maker.add(HostFactsCollected(t=1.2, host=host, facts={"nics": test_live_judged.nics(9000)}))
    maker.add(
        HostFactsCollected(t=1.2, host=maker.hosts[-1], facts={"kernel": "Linux 5.14.0-427.el9"})
    )
    servers = ("osd-1", "osd-2")
    for server in servers:
        maker.look_at(server, storage, server=True)
    for host in maker.hosts:
        spread = maker.chance.uniform(0.96, 1.0)
        maker.look_at(host, {key: value * spread for key, value in busy.items()})
    for _ in range(SECONDS):
        maker.measure(1)
        maker.add(*(maker.telemetry(server, maker.t) for server in servers))
    return maker


def laid_out(home: Path) -> RunMaker:
    """Files are written before the load."""
    maker = RunMaker(home / "runs" / RUN_ID, host_names(8), MIX).begin()
    maker.t = 2.0  # whole seconds of the axis are those of the layout
    return maker.layout(5, 8)


def refused(home: Path) -> RunMaker:
    """Another run holds some of the hosts."""
    maker = RunMaker(home / "runs" / RUN_ID, host_names(8), READS).connect()
    maker.add(*(HostFactsCollected(t=1.2, host=host, facts=facts_of(host)) for host in maker.hosts))
    said = (
        "in use by run 20261120T090000Z-weka-write-1a2b of ann@jump; lock until 10:16:18 UTC"
        " unless renewed"
    )
    for host in maker.hosts[:3]:
        maker.add(
            HostProblem(t=maker.t, host=host, phase="preflight", code="host-locked", message=said)
        )
        maker.add(HostState(t=maker.t, host=host, state="failed", detail=said))
    maker.add(PhaseEnded(t=maker.t, phase="preflight", ok=False))
    reason = f"in use by another run: {', '.join(maker.hosts[:3])}"
    maker.add(RunEnded(t=maker.t, state="failed", exit_code=3, reason=reason))
    return maker


def searching(home: Path) -> RunMaker:
    """A search for capacity, five points in."""
    maker = search_in(home).measure_points(5)
    return maker.offer(5, offers()[5]).load(4, offers()[5].rate_iops)


def searched(home: Path) -> RunMaker:
    """The same at its end."""
    return search_in(home).measure_points().skip(*range(7, 12))


def sweeping(home: Path) -> RunMaker:
    """A sweep, twelve of twenty steps in, with a load that goes on."""
    maker = test_matrix_screens.half_way(home)
    maker.together = True
    maker.pace = dict(zip(maker.hosts, (0.64, 0.66), strict=True))  # as the points around it
    return maker.measure(9)


def swept(home: Path) -> RunMaker:
    """The whole sweep; each of its processes keeps one I/O in flight."""
    maker = sweep(home)
    maker.flight = dict(enumerate([float(jobs) for _ in BLOCKS for jobs in JOBS]))
    return maker.steps_done(dict(enumerate(figures_of())))


def suited(home: Path) -> RunMaker:
    """A suite of three profiles: large blocks, small ones, and one I/O at a time."""
    maker = suite(home)
    maker.sizes, maker.flight = {0: 1 << 20}, {0: 16.0, 1: 32.0, 2: 1.0}
    return maker.steps_done({0: 5120.0, 1: 214_000.0, 2: 9100.0})


def metadata(home: Path) -> RunMaker:
    """mdtest in its third iteration."""
    maker = iterations(metadata_run(home, scenes.Scene), *SPANS[:2], ops=FILES)
    begin = maker.t
    for second in range(25):
        maker.add(*(maker.telemetry(host, begin + second + 1) for host in maker.looked_at))
    return maker


def metadata_result(home: Path) -> RunMaker:
    """mdtest after its third iteration, in which rank 0 was the slowest rank."""
    maker = iterations(metadata_run(home, scenes.Scene), *SPANS, ops=FILES, over=True)
    operations = {
        name: OperationResult(
            max=max(rates),
            min=min(rates),
            mean=fmean(rates),
            stddev=stdev(rates),
            iterations=rates,
            seconds=list(spans),
        )
        for name, *spans in zip(("create", "stat", "read", "remove"), *SPANS, strict=True)
        if (rates := [FILES / seconds for seconds in spans])
    }
    maker.add(
        MetadataResult(
            t=maker.t,
            step=0,
            tool="mdtest",
            version="4.0.0",
            tasks=272,
            nodes=2,
            items=18382,
            iterations=3,
            operations=operations,
            shift=136,
            ranks_per_node=136,
        ),
        *(
            HostResult(t=maker.t, host=host, step=0, dirs={}, tool_version="4.0.0")
            for host in maker.hosts
        ),
        PhaseEnded(t=maker.t, phase="measure", step=0),
        *(HostState(t=maker.t, host=host, state="done") for host in maker.hosts),
        RunEnded(t=maker.t, state="complete", exit_code=0, reason=""),
    )
    write_record(maker.run_dir)
    return maker


def refused_result(home: Path) -> RunMaker:
    """A run that was refused, with its record."""
    maker = refused(home)
    write_record(maker.run_dir)
    return maker


WORKERS = 2
WHOLE = recorded(described(of("plain", 8, scenes.RUNTIME_S), workers=WORKERS))
LAGGED = recorded(described(of("lag", 64, scenes.RUNTIME_S), workers=WORKERS))
PICTURES = (
    *(Picture(f"live-{hosts}", on(of("plain", hosts))) for hosts in (1, 8, 64, 256)),
    *(Picture(f"live-lag-{hosts}", on(of("lag", hosts))) for hosts in (8, 64, 256)),
    Picture("live-stall", on(of("stall", 8))),
    Picture("live-lost", on(of("lost", 8))),
    Picture("live-troubled-64", on(of("troubled", 64))),
    Picture("live-waiting", on(waiting)),
    Picture("live-mix", on(described(mixed, "Reads and writes"))),
    Picture("live-limit", on(limited)),
    Picture("live-layout", on(laid_out)),
    Picture("live-refused", on(refused)),
    Picture("live-sweep", on(described(sweeping, "Random reads over block sizes"))),
    Picture("live-search", on(described(searching, "OLTP reads"))),
    Picture("live-mdtest", on(metadata)),
    Picture("live-host", on(of("lag", 8)), pressed("enter")),
    Picture("live-findings", on(limited), pressed("f")),
    Picture("live-zoom", on(of("stall", 8)), pressed("z")),
    Picture("live-zoom-hosts", on(of("troubled", 64)), pressed("z", "z")),
    Picture("live-back", on(of("stall", 8)), pressed(*["left_square_bracket"] * 20)),
    Picture("live-replay", replayed(of("stall", 8)), pressed("space", *["right"] * 6)),
    Picture("live-end", on(recorded(of("lag", 8, scenes.RUNTIME_S)))),
    Picture("result", on(WHOLE, "result")),
    *(Picture(f"result-{name}", on(WHOLE, "result"), on_tab(name)) for name in
      ("defend", "latency", "time", "load", "commands", "published")),
    Picture("result-lag", on(LAGGED, "result")),
    Picture("result-hosts", on(LAGGED, "result"), on_tab("hosts")),
    Picture("result-findings", on(LAGGED, "result"), on_tab("findings")),
    Picture("result-limit", on(recorded(limited), "result")),
    Picture("result-facts", on(differing, "result"), on_tab("facts")),
    Picture("result-sweep", on(recorded(described(swept, "Random reads over block sizes")), "result")),
    Picture("result-suite", on(recorded(suited), "result")),
    Picture("result-search", on(recorded(described(searched, "OLTP reads")), "result")),
    Picture("result-mdtest", on(metadata_result, "result")),
    Picture("result-refused", on(refused_result, "result")),
    Picture("result-copy", on(WHOLE, "result"), pressed("y", sees="Copy")),
)  # fmt: skip
