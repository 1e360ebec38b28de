"""Screens around a run: choosing hosts and a profile, what will happen, the runs that were kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.app.driver import User, options, write_inventory
from tests.app.journal_maker import READS, SYNCED_WRITES, RunMaker
from tests.app.scenes import Scene, begun
from tests.app.stage import Stage
from tests.app.test_facts_differ import ALIKE, facts_of
from tests.app.test_review import change
from tests.long.pictures.looks import Act, Look, Open, Picture, pressed, settled
from tui.app.app import BenchtuiApp
from tui.app.screens.editor import EditorScreen
from tui.engine.preflight.host_check import HostCheck
from tui.library.build import write_record
from tui.library.summary import rename, retag, star
from tui.model.plan import Headline

INVENTORY = """\
hosts:
  weka-[01-08]: {groups: [clients]}
  osd-[1-3]: {groups: [storage], role: server}
"""
CLIENTS = tuple(f"weka-{number:02}" for number in range(1, 9))
OWN = """\
# what we run before and after each firmware
profile: lab/nightly
extends: weka/read-iops
params:
  runtime: 120s
  numjobs: 64
fio:
  jobs:
    read_iops: {bs: 4k, rw: randraed}
"""
READ_BANDWIDTH = Headline("bandwidth", "read")
# headlines of the presets below; the others have IOPS
HEADLINES = {
    "weka/read-throughput": READ_BANDWIDTH,
    "weka/write-latency": Headline("latency", "write", 99.5),
    "ceph/randread-60s": READ_BANDWIDTH,
}
STREAMS = {"weka/write-latency": SYNCED_WRITES}
LARGER = {"weka/read-throughput": 256}  # 1 MiB in place of 4 KiB
RUNS = (  # day, profile, hosts, pace against the others, how it ended
    (13, "weka/read-throughput", 4, 0.048, "complete"),
    (14, "weka/read-throughput", 4, 0.05, "complete"),
    (15, "weka/read-iops", 8, 0.93, "complete"),
    (16, "mapr/nfs-randread-8k", 4, 1.0, "failed"),
    (17, "weka/write-latency", 8, 1.0, "complete"),
    (18, "ceph/randread-60s", 3, 0.6, "partial"),
    (19, "weka/read-iops", 8, 1.0, "complete"),
    (20, "weka/read-iops", 8, 1.06, "complete"),
)


def chosen(
    *hosts: str,
    profile: str | None = None,
    checked: bool = False,
    wrote: str = "",
    **more: object,
) -> Callable[[Path], Open]:
    """Open the app with hosts and a profile; the hosts have been reached when `checked`.

    `wrote`: a directory to which the hosts, all alike, wrote test files before.
    """

    def made(home: Path) -> Open:
        write_inventory(home, INVENTORY)
        (home / "ssh_config").write_text("Host *\n  User bench\n")
        own = home / "profiles" / "lab" / "nightly.yaml"
        own.parent.mkdir(parents=True)
        own.write_text(OWN.replace("randraed", "randread"))

        if wrote:
            write_before(home, hosts)

        def opened(look: Look) -> BenchtuiApp:
            asked = options(
                home, hosts=hosts, profile=profile, theme=look.theme, symbols=look.symbols, **more
            )
            app = BenchtuiApp(asked)
            app.selection.checks = checks() if checked else {}
            if wrote:
                facts = {**ALIKE, "target": wrote, "target_free_bytes": 21 << 40}
                app.selection.checks = {name: HostCheck(name, True, facts=facts) for name in hosts}
            return app

        return opened

    return made


def write_before(home: Path, hosts: Sequence[str]) -> None:
    """Keep a run that wrote its test files before it measured."""
    maker = RunMaker(home / "runs" / "20261119T021530Z-weka-read-iops-0001", hosts)
    maker.begin().layout(20, 20, 800 << 20).go().measure(3).finish()
    write_record(maker.run_dir)


def checks() -> dict[str, HostCheck]:
    """What a check found: two clients that differ, one whose key nobody knows."""
    found = {name: HostCheck(name, True, facts=facts_of(name)) for name in CLIENTS[:7]}
    key = "ssh-ed25519 SHA256:0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
    said = (
        f"unknown host key {key}; compare it with the host's, then run:"
        f" benchtui hosts trust {CLIENTS[7]}"
    )
    found[CLIENTS[7]] = HostCheck(CLIENTS[7], False, "host-key-unknown", said)
    servers = {
        name: HostCheck(name, True, facts={**ALIKE, "cpus": 96})
        for name in ("osd-1", "osd-2", "osd-3")
    }
    return found | servers


def empty(home: Path) -> Open:
    """A home in which nothing is, as at the first start."""
    return lambda look: BenchtuiApp(options(home, theme=look.theme, symbols=look.symbols))


def kept(home: Path) -> Open:
    """Runs of a week."""
    for day, tag, hosts, pace, state in RUNS:
        last = keep(home, day, tag, hosts, pace, state)
    star(last.run_dir, starred=True)
    retag(last.run_dir, {"firmware": "4.3.1"})
    rename(last.run_dir, "after the firmware")

    def opened(look: Look) -> Stage:
        app = Stage(home, last.run_dir, theme=look.theme, symbols=look.symbols)
        app.first_step, app.engine_lives = "runs", False
        return app

    return opened


def keep(home: Path, day: int, tag: str, hosts: int, pace: float, state: str) -> Scene:
    """Return a run of one day that was kept."""
    run_id = f"202611{day}T021530Z-{tag.replace('/', '-')}-{day:04x}"
    utc = f"2026-11-{day}T02:15:30.000000Z"
    maker = begun(
        home,
        hosts,
        STREAMS.get(tag, READS),
        utc=utc,
        run_id=run_id,
        tag=tag,
        runtime_s=60.0,
        headline=HEADLINES.get(tag),
    )
    maker.larger = LARGER.get(tag, 1)
    maker.chance.seed(day)
    maker.pace = {host: each * pace for host, each in maker.pace.items()}
    broken = maker.hosts[1:2] if state == "partial" else []
    for host in broken:
        maker.measure(20).fail(host, "host-lost", "no answer for 30 s: the connection broke")
    if state != "failed":
        maker.measure(60 if not broken else 40, silent=broken)
    reason = {
        "failed": "weka-01: /mnt/mapr does not exist",
        "partial": "1 problem on hosts",
    }.get(state, "")
    maker.finish(state, reason, broken=maker.hosts if state == "failed" else broken)  # type: ignore[arg-type]
    write_record(maker.run_dir)
    return maker


def editing(*keys: str, broken: bool = False) -> Act:
    """Open the profile of one's own in the editor."""

    async def act(user: User) -> None:
        path = user.app.paths.profiles / "lab" / "nightly.yaml"
        if broken:
            path.write_text(OWN)
        user.app.steps.keep("editor", EditorScreen(path))
        user.app.show_step("editor")
        await settled(user)
        await pressed(*keys)(user)

    return act


async def sweeping_job(user: User) -> None:
    """Describe a job in the form: a directory, and commas that sweep."""
    await pressed("2", "n")(user)
    await change(user, "directory", "/mnt/weka")
    await change(user, "bs", "4k,64k,1M")
    await settled(user)


async def latencies_compared(user: User) -> None:
    """Compare the two newest runs, and go to their latencies."""
    await pressed("space", "space", "c", sees="same profile")(user)
    await pressed("l", sees="B against A")(user)


PICTURES = (
    Picture("first-start", empty),
    Picture("hosts", chosen(*CLIENTS, checked=True), pressed("j", "j", "j", "j")),
    Picture("hosts-unknown-key", chosen(*CLIENTS, checked=True), pressed(*["j"] * 7)),
    Picture("profiles", chosen(*CLIENTS, profile="weka/read-iops"), pressed("2")),
    Picture("profiles-filter", chosen(*CLIENTS), pressed("2", "slash", *"wkrdio")),
    Picture("editor", chosen(*CLIENTS), editing()),
    Picture("editor-form", chosen(*CLIENTS), editing("f5")),
    Picture("editor-problem", chosen(*CLIENTS), editing("f4", broken=True)),
    Picture(
        "review", chosen(*CLIENTS, profile="weka/read-iops", review=True, wrote="/mnt/weka/fio")
    ),
    Picture("review-sweep", chosen(*CLIENTS[:3], profile="ceph/randread-60s", review=True)),
    Picture(
        "review-differ", chosen(*CLIENTS[3:7], profile="weka/read-iops", review=True, checked=True)
    ),
    Picture("job", chosen(*CLIENTS[:4]), pressed("2", "n")),
    Picture("job-sweep", chosen(*CLIENTS[:4]), sweeping_job),
    Picture("hosts-add", chosen(*CLIENTS), pressed("n", sees="Add hosts")),
    Picture("runs", kept),
    Picture("runs-filter", kept, pressed("slash", *"weka/read-iops verdict:valid")),
    Picture("runs-export", kept, pressed("e", sees="Export")),
    Picture("compare", kept, pressed("space", "space", "c", sees="same profile")),
    Picture("compare-latencies", kept, latencies_compared),
    Picture("help", chosen(*CLIENTS), pressed("question_mark")),
    Picture("palette", chosen(*CLIENTS), pressed("ctrl+p")),
)
