"""Playing one run of the corpus for real, and what its record says of it."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from tests.e2e.command import benchtui, command, environment
from tests.lab.faults import forget_on_hosts
from tests.lab.sshd import SshdLab
from tests.long.lies.lie import Lie, Place, Setting, hosts_of
from tests.long.lies.own_cpu import OwnCpu, Second
from tests.long.lies.retracted import retracted
from tests.long.lies.sabotage import OWN_PIDS
from tests.patience import PATIENCE_S
from tui.judge.wording import message_of
from tui.library.build import build_record
from tui.model.record import Finding
from tui.text.run_texts import run_text

PROFILE = """\
profile: {tag}
version: 1
title: {title}
tool: fio
{head}
prepare: {{layout: {layout}}}
fio:
  global: {{{options}, time_based: {time_based}, runtime: {runtime}s{filename}}}
  jobs: {{{jobs}}}
headline: {{metric: iops, direction: {direction}}}
"""
ROLES = """\
profile: lies/roles
version: 1
title: {title}
tool: suite
roles: {{one: 1, others: rest}}
suite:
  - together:
      - {{profile: lies/one, role: one}}
      - {{profile: lies/others, role: others}}
"""


BUSY = 0.20  # share of the CPUs that others may use for a second beside a run on an idle machine
TRUE_WHEN_BUSY = ("background-load", "client-cpu")  # where others use the CPUs, that is so
FOREIGN = float(1 << 20)  # bytes per second of others on the disks
# the machine stood still: a sleep of one second took this long, or this share of it was stolen
FROZEN_S, FROZEN = 2.0, 0.5


class StoppedError(Exception):
    """Somebody wants no more runs."""


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a run: the checks that weaken it, notes, and why it gave no record."""

    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    bottleneck: str = ""
    failed: str = ""
    # share of the machine's CPU time that the hypervisor took meanwhile, by the kernel's own count
    stolen: float = 0.0
    # share that neither we nor the run used, in the worst second; None: nobody counts it
    others: float | None = None
    neighbours: bool = False  # other runs of the corpus used the same disk at the same time
    # what Live told of a clean run, and its result does not have
    retracted: list[str] = field(default_factory=list)
    tool_silent: bool = True  # the load generator ended with 0 and said nothing on stderr
    confirmed: dict[str, str] = field(default_factory=dict)  # checks, by what else measured that
    undone: str = ""  # why the sabotage did not take effect
    checked: list[str] = field(default_factory=list)  # checks that had the data they need

    def names(self, check: str) -> bool:
        """Whether a check spoke up."""
        return check in self.findings or check in self.notes

    def is_busy(self, lie: Lie) -> bool:
        """Whether other programs used the CPUs beside it."""
        return lie.company or (self.others or 0.0) > BUSY

    def aside(self, lie: Lie) -> dict[str, str]:
        """Return the checks that weaken a clean run and are right, by what else measured that."""
        true = dict(self.confirmed)
        if self.is_busy(lie):
            true |= dict.fromkeys(TRUE_WHEN_BUSY, "other programs used the CPUs")
        if self.neighbours:
            true["other-traffic"] = "other clean runs used the disk"
        return {name: true[name] for name in self.findings if name in true}

    def alarms(self, lie: Lie) -> list[str]:
        """Return the checks that weaken it and are wrong, of a clean run."""
        aside = self.aside(lie)
        failed = ["no result"] if self.failed else []
        return [*failed, *(name for name in self.findings if name not in aside)]

    def is_named(self, lie: Lie) -> bool:
        """Whether those spoke up who must."""
        named = any(self.names(check) for check in (lie.finding, *lie.accepted))
        return not self.failed and named and (not lie.second or self.names(lie.second))

    def is_limited(self, lie: Lie) -> bool:
        """Whether the bottleneck is the one that it is.

        A server that computes shares the CPUs of its client here: where others keep them busy, both
        names are right.
        """
        both = (
            lie.bottleneck == "server-cpu" and self.is_busy(lie) and self.bottleneck == "client-cpu"
        )
        return not self.failed and (self.bottleneck == lie.bottleneck or both)

    def is_right(self, lie: Lie) -> bool:
        """Whether it says of a run what it must."""
        if self.failed:
            return False
        named = self.is_named(lie) if lie.finding else not (lie.clean and self.alarms(lie))
        return named and (not lie.bottleneck or self.is_limited(lie))


class Player:
    """Plays runs, and can be told to stop: what goes on is ended then, and what was made is taken
    away as always.
    """

    def __init__(self, base: Path, own: OwnCpu | None = None) -> None:
        self.base = base
        self.own = own or OwnCpu()
        self.over = threading.Event()
        self._starting = threading.Lock()

    def play(self, lie: Lie, *, alone: bool = True, apart: bool = False) -> Played:
        """Make one run of a lie and return what its record says. What it made is removed.

        A run that is not alone sees neither the others' processes nor their locks. Runs that start
        `apart` do so once the one before measures: starting takes CPU.
        """
        with self._place(lie) as place:
            played = self._play(lie, place, alone=alone, apart=apart)
            return replace(played, undone="; ".join(place.undone))

    def _play(self, lie: Lie, place: Place, *, alone: bool, apart: bool) -> Played:
        with contextlib.ExitStack() as stack:
            wrapper = () if alone else OWN_PIDS
            starting = stack.enter_context(contextlib.ExitStack())
            if apart:
                starting.enter_context(self._starting)
            setting = stack.enter_context(lie.sabotage(place)) or Setting()
            if lie.hosts:
                lab = stack.enter_context(SshdLab(place.folder / "lab", lie.hosts, wrapper=wrapper))
                setting = Setting(hosts_of(lab), setting.filename, setting.options)
            profile = write_profile(lie, place, setting)
            hosts = setting.hosts or ("--hosts", "local")
            with self.own.watching() as seconds:
                argv = [*wrapper, *command("run", profile, *hosts, "--yes")]
                said = self._run(argv, place, starting)
            records = list((place.home / "runs").glob("*/run.json"))
            played = (
                of_record(json.loads(records[0].read_text()))
                if records
                else Played(failed=said[-300:])
            )
            errors = sorted((place.home / "runs").glob("*/raw/*.measure*.err.gz"))
            silent = played.tool_silent and not any(
                gzip.decompress(path.read_bytes()).strip() for path in errors
            )
            others = [each.others for each in seconds if each.others is not None]
            return replace(
                played,
                stolen=fmean(each.stolen for each in seconds) if seconds else 0.0,
                others=max(others, default=None),
                tool_silent=silent,
                confirmed=confirmed(build_record(records[0].parent).findings, seconds)
                if records and lie.clean
                else {},
                retracted=retracted(records[0].parent) if records and lie.clean else [],
            )

    @contextmanager
    def _place(self, lie: Lie) -> Iterator[Place]:
        folder = Path(tempfile.mkdtemp(prefix="lie-", dir=self.base))
        target = Path(tempfile.mkdtemp(prefix="lie-", dir="/dev/shm" if lie.memory else folder))
        place = Place(target, folder)
        place.home.mkdir()
        try:
            yield place
        finally:
            _forget_runs(place)
            shutil.rmtree(target, ignore_errors=True)
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, argv: Sequence[str], place: Place, starting: contextlib.ExitStack) -> str:
        """Run a command to its end, in a session of its own, and return what it said on stderr.

        Once it measures it is no longer `starting`.
        """
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                argv,
                env=environment(place.home),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
            waited = 0.0
            while process.poll() is None and not self.over.is_set() and waited < PATIENCE_S:
                waited += 0.1
                if _is_measured(place):
                    starting.close()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.1)
            if process.poll() is None:
                benchtui(place.home, "stop", "last", "--abort")
                process.kill()
                process.wait()
            if self.over.is_set():
                raise StoppedError
            said.seek(0)
            return said.read()


def _is_measured(place: Place) -> bool:
    journals = (place.home / "runs").glob("*/journal.jsonl")
    return any(b'"phase":"measure"' in path.read_bytes() for path in journals)


def _forget_runs(place: Place) -> None:
    """End what is left of runs that were broken off, and remove what they keep on hosts."""
    for run in (place.home / "runs").glob("*"):
        forget_on_hosts(run.name)


def confirmed(findings: Sequence[Finding], seconds: Sequence[Second]) -> dict[str, str]:
    """Return the checks all of whose findings say what these seconds say too, and what they say.

    A mean over the load is at most its worst second, and the load takes most of these seconds.
    """
    said: dict[str, list[str]] = {}
    for finding in findings:
        if finding.severity != "info":
            said.setdefault(finding.id, []).append(_confirmed(finding, seconds))
    return {name: told[0] for name, told in said.items() if all(told)}


def _confirmed(finding: Finding, seconds: Sequence[Second]) -> str:
    stolen = [each.stolen for each in seconds] or [0.0]
    foreign = [each.foreign_bytes_per_s or 0.0 for each in seconds] or [0.0]
    if (finding.id, finding.code) == ("client-cpu", "stolen"):
        share = float(finding.measured or 0.0) / 100
        if max(stolen) >= share and fmean(stolen) >= share / 2:
            return "/proc/stat of the machine: steal"
    if finding.id == "other-traffic" and max(foreign) >= FOREIGN and fmean(foreign) >= FOREIGN / 2:
        return "/proc/diskstats, without the bytes of our control group"
    if finding.id == "stall" and (
        max(stolen) >= FROZEN or max((each.seconds for each in seconds), default=0.0) >= FROZEN_S
    ):
        return "the machine stood still"
    return ""


def of_record(record: dict[str, Any]) -> Played:
    """Return what a record says."""
    ids: dict[str, list[str]] = {severity: [] for severity in ("error", "warning", "info")}
    for finding in record["findings"]:
        ids[finding["severity"]].append(finding["id"])
    found = [Finding.model_validate(each) for each in record["findings"]]
    messages = [f"{each.id} {message_of(each)}" for each in found]
    bottleneck = (record["steps"][0].get("bottleneck") or {}).get("kind", "")
    failed = (
        run_text(record["reason"]) if record["state"] == "failed" and not record["findings"] else ""
    )
    codes = [
        task.get("exit_code")
        for step in record["steps"]
        for task in (step.get("tasks") or {}).values()
    ]
    findings = [*ids["error"], *ids["warning"]]
    return Played(
        findings,
        ids["info"],
        messages,
        bottleneck,
        failed,
        tool_silent=not any(codes),
        checked=record["checks"] or [],
    )


def write_profile(lie: Lie, place: Place, setting: Setting) -> Path:
    """Write the profile of a run, or those of its roles, and return it."""
    profile = place.folder / "lie.yaml"
    if not lie.beside:
        profile.write_text(text_of(lie, place, setting))
        return profile
    (own := place.home / "profiles").mkdir()
    others = replace(lie, options=lie.beside, runtime_s=lie.beside_s)
    for tag, each in (("lies/one", lie), ("lies/others", others)):
        text = text_of(each, place, setting, tag)
        (own / f"{tag.partition('/')[2]}.yaml").write_text(text)
    profile.write_text(ROLES.format(title=json.dumps(lie.name)))
    return profile


def text_of(lie: Lie, place: Place, setting: Setting, tag: str = "lies/one") -> str:
    """Return the profile of a load. Hosts have files of their own, unless they are to share one."""
    own = ".{host}" if (lie.hosts or setting.hosts) and not lie.shared else ""
    fileless = any(f"ioengine: {engine}," in lie.options for engine in ("nbd", '"null"'))
    filename = setting.filename or f"{place.target}/data{own}"
    return PROFILE.format(
        tag=tag,
        title=json.dumps(lie.name),
        head=lie.head,
        layout=str(lie.layout and not fileless).lower(),
        options=", ".join(
            filter(None, (lie.options.replace(", time_based: 0", ""), setting.options))
        ),
        time_based=int("time_based: 0" not in lie.options),
        runtime=lie.runtime_s,
        jobs=lie.jobs,
        filename="" if fileless else f', filename: "{filename}"',
        direction="write" if "write" in lie.options else "read",
    )
