"""Lies about which run something is of: records, journals, plans and raw output that were changed
or exchanged.

`runs verify` has to refuse them; the case's finding is `verify`."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.long.lies.doctored.case import Case, factor
from tests.long.lies.doctored.change import Lied
from tests.long.lies.doctored.real_run import (
    Event,
    RealRun,
    events_of,
    results,
    samples,
    write_events,
)
from tui.model.rundir import JOURNAL_FILE, PLAN_FILE, RECORD_FILE, SEAL_FILE

VERIFY = ("verify",)
Lie = Callable[[Random, Path, RealRun], Lied | None]


def _record(run_dir: Path, change: Callable[[Any], object]) -> None:
    path = run_dir / RECORD_FILE
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all numbers that are figures."""
    if isinstance(value, dict):
        return [leaf for name, each in value.items() for leaf in _leaves(each, (*path, name))]
    if isinstance(value, list):
        return [leaf for at, each in enumerate(value) for leaf in _leaves(each, (*path, at))]
    return (
        [path] if isinstance(value, int | float) and not isinstance(value, bool) and value else []
    )


def record_figure(rng: Random, run_dir: Path, _: RealRun) -> Lied:
    """One figure of run.json."""
    by, told = factor(rng, 1e-6), ""

    def change(document: Any) -> None:
        nonlocal told
        part = rng.choice(("headline", "steps"))
        *parents, last = rng.choice(_leaves(document[part], (part,)))
        place = document
        for name in parents:
            place = place[name]
        value = place[last]
        place[last] = (
            value * by if isinstance(value, float) else value + max(1, round(value * abs(by - 1)))
        )
        told = ".".join(map(str, (*parents, last)))

    _record(run_dir, change)
    return Lied(f"run.json: {told}", VERIFY)


def better_verdict(rng: Random, run_dir: Path, _: RealRun) -> Lied | None:
    """Findings that were removed, and the verdict that would follow."""
    before = json.loads((run_dir / RECORD_FILE).read_text())
    if not before["findings"]:
        return None
    gone = rng.choice(before["findings"])["id"]

    def change(document: Any) -> None:
        document["findings"] = [each for each in document["findings"] if each["id"] != gone]
        if rng.random() < 0.5:
            document["verdict"] = "valid"

    _record(run_dir, change)
    return Lied(f"run.json: without {gone}", VERIFY)


def renamed_finding(rng: Random, run_dir: Path, _: RealRun) -> Lied | None:
    """A finding that no version has, in a record that names other checks."""
    before = json.loads((run_dir / RECORD_FILE).read_text())
    if not before["findings"]:
        return None
    found = rng.choice(before["findings"])
    name, severity = f"x-{rng.getrandbits(32):x}", rng.choice((found["severity"], "info"))

    def change(document: Any) -> None:
        for each in document["findings"]:
            if each["id"] == found["id"]:
                each |= {"id": name, "severity": severity}
        document["checks"] = [name if each == found["id"] else each for each in document["checks"]]

    _record(run_dir, change)
    return Lied(f"run.json: {found['id']} named {name}, {severity}", VERIFY)


def summary_for_lists(rng: Random, run_dir: Path, _: RealRun) -> Lied | None:
    """A summary for lists that contradicts the record, with its digest."""
    from tui.library.summary import summarize, write_summary

    summary = summarize(run_dir, keep=False)
    assert summary is not None
    name = rng.choice(("headline", "headline_value", "verdict", "findings", "state", "profile"))
    values: dict[str, Any] = {
        "headline": "read 9.99M IOPS", "headline_value": factor(rng, 1e-3), "findings": [],
        "verdict": "valid", "state": "partial", "profile": "weka/read-iops v1",
    }  # fmt: skip
    if getattr(summary, name) == values[name]:
        return None
    setattr(summary, name, values[name])
    write_summary(run_dir, summary)
    return Lied(f"summary.json: {name}", VERIFY)


def _rebuilt(run_dir: Path) -> None:
    """Make the record fit the journal."""
    from tui.library.build import write_record

    write_record(run_dir)


def journal_figure(rng: Random, run_dir: Path, _: RealRun) -> Lied:
    """A figure of the journal, and the record that follows from it."""
    events = events_of(run_dir)
    event = rng.choice([*samples(events), *results(events)])
    part = event["dirs"]["read"]
    name = rng.choice(
        [each for each in ("ios", "bytes", "iops", "lat_sum_ns", "runtime_s") if part.get(each)]
    )
    part[name] = part[name] + 1 if isinstance(part[name], int) else part[name] * factor(rng, 1e-5)
    write_events(run_dir, events)
    _rebuilt(run_dir)
    return Lied(f"journal: {name} of {event['host']}, a {event['type']}", VERIFY)


def journal_shorter(rng: Random, run_dir: Path, _: RealRun) -> Lied:
    """Intervals that were removed, and the record that follows."""
    events = events_of(run_dir)
    own = list(samples(events))
    gone = rng.sample(own, rng.randint(1, len(own) // 2))
    write_events(run_dir, [each for each in events if not any(each is one for one in gone)])
    _rebuilt(run_dir)
    return Lied(f"journal: {len(gone)} intervals removed", VERIFY)


def raw_figure(rng: Random, run_dir: Path, _: RealRun) -> Lied | None:
    """A figure of the raw output, with its checksum in journal and record."""
    path = rng.choice(sorted((run_dir / "raw").glob("*measure*.out.gz")))
    text = gzip.decompress(path.read_bytes()).decode()
    marks = list(re.finditer(r'"(?:iops|total_ios|runtime|io_bytes)" : (\d+[\d.]*)', text))
    marks = [each for each in marks if float(each[1]) > 10]
    mark = rng.choice(marks[len(marks) // 2 :])
    changed = str(int(float(mark[1]) * 1.5 + 1))
    _raw(run_dir, path, text[: mark.start(1)] + changed + text[mark.end(1) :])
    return Lied(f"{path.name}: {mark[0]} made {changed}, checksums fitted", VERIFY)


def _raw(run_dir: Path, path: Path, text: str) -> None:
    """Write raw output and fit its checksums."""
    data = gzip.compress(text.encode())
    path.write_bytes(data)
    name = str(path.relative_to(run_dir))
    told = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    events = events_of(run_dir)
    for event in events:
        if event["type"] == "artefact" and event["path"] == name:
            event.update(told)
    write_events(run_dir, events)
    _rebuilt(run_dir)


def hosts_exchanged(rng: Random, run_dir: Path, _: RealRun) -> Lied:
    """The raw output of two hosts in each other's place, with checksums."""
    one, other = rng.sample(("h1", "h2", "h3"), 2)
    paths = [run_dir / "raw" / f"0.measure.{host}.out.gz" for host in (one, other)]
    texts = [gzip.decompress(path.read_bytes()).decode() for path in paths]
    for path, text in zip(paths, reversed(texts), strict=True):
        _raw(run_dir, path, text)
    return Lied(f"raw output of {one} and {other} exchanged, checksums fitted", VERIFY)


def byte_changed(rng: Random, run_dir: Path, _: RealRun) -> Lied:
    """One byte of a file."""
    path = rng.choice(sorted((run_dir / "raw").glob("*.gz")))
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    return Lied(f"a bit of {path.name}", VERIFY)


def of_other_run(rng: Random, run_dir: Path, run: RealRun) -> Lied:
    """Files of another run under this run's ID."""
    names = rng.choice(
        (
            (RECORD_FILE,),
            (JOURNAL_FILE,),
            (PLAN_FILE,),
            (PLAN_FILE, JOURNAL_FILE, RECORD_FILE, "raw"),
        )
    )
    for name in names:
        source, target = run.other / name, run_dir / name
        if source.is_dir():
            shutil.rmtree(target)
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
    (run_dir / SEAL_FILE).unlink(missing_ok=True)
    if RECORD_FILE not in names:
        _rebuilt(run_dir)
    return Lied(f"{', '.join(names)} of another run", VERIFY)


def other_option(rng: Random, run_dir: Path, _: RealRun) -> Lied:
    """An option in the plan that was not run, and the record that follows."""
    path = run_dir / PLAN_FILE
    name, was, now = rng.choice((("bs", "4k", "8k"), ("rw", "randread", "read"),
        ("direct", "1", "0"),
                                 ("rate_iops", "150", "120"), ("size", "8M", "512M")))  # fmt: skip
    text = path.read_text()
    assert f"{name}={was}" in text
    path.write_text(text.replace(f"{name}={was}", f"{name}={now}"))
    (run_dir / SEAL_FILE).unlink(missing_ok=True)
    _rebuilt(run_dir)
    return Lied(f"plan: {name}={now} of a run with {name}={was}", VERIFY)


def sealed_again(rng: Random, run_dir: Path, _: RealRun) -> Lied:
    """Everything changed to fit, and sealed with another key: whose key it was is what verify
    says.
    """
    from tui.library.seal import seal

    journal_shorter(rng, run_dir, _)
    seal(run_dir, run_dir.parent / "another_key")
    return Lied("all of it, sealed with another key", (*VERIFY, "another key"))


def consistent(rng: Random, run_dir: Path, _: RealRun) -> Lied:
    """Raw output, journal and record rewritten to fit, and the seal removed: it is as if it had
    been measured so.
    """
    events = events_of(run_dir)
    host = rng.choice(("h1", "h2", "h3"))
    for event in [each for each in events if each["type"] == "host_facts" and each["host"] == host][
        :1
    ]:
        event["facts"]["hostname"] = "other"
    write_events(run_dir, events)
    (run_dir / SEAL_FILE).unlink(missing_ok=True)
    _rebuilt(run_dir)
    what = f"hostname of {host}, everything rewritten, seal removed"
    return Lied(what, (), "without a seal, a consistent forgery cannot be detected")


LIES: dict[str, Lie] = {
    "figure of the record": record_figure,
    "finding removed": better_verdict,
    "finding of no check": renamed_finding,
    "summary for lists": summary_for_lists,
    "figure of the journal": journal_figure,
    "intervals removed": journal_shorter,
    "figure of the raw output": raw_figure,
    "raw output of another host": hosts_exchanged,
    "a bit of a file": byte_changed,
    "another run's content": of_other_run,
    "an option that was not run": other_option,
    "sealed with another key": sealed_again,
    "rewritten, seal removed": consistent,
}


def draw(rng: Random, run: RealRun, folder: Path, name: str) -> Case | None:
    """Doctor a run as it is kept.

    What is done depends on a seed alone, and is done again when it is judged.
    """
    seed = rng.getrandbits(64)
    lied = LIES[name](Random(seed), run.copy(folder), run)
    if lied is None:
        return None

    def judge(where: Path) -> frozenset[str]:
        run_dir = run.copy(where)
        LIES[name](Random(seed), run_dir, run)
        return verified(run_dir, run.key)

    return Case(
        "provenance",
        name,
        lied.what,
        lied.aims,
        judge,
        frozenset(),
        "" if lied.aims else lied.unseen,
    )


def verified(run_dir: Path, key: Path) -> frozenset[str]:
    """Return the problems that `runs verify` finds in a run, including a missing seal and a foreign
    key.
    """
    from tui.library.verify import verify_run

    found = verify_run(run_dir, key)
    said = {"verify"} if found.exit_code == 1 else set()
    if found.sealed_by and not found.sealed_by.endswith(" of this machine"):
        said.add("another key")
    if found.sealed_by.endswith("not one of this machine"):
        said.add("another key")
    return frozenset(said)


__all__ = ["LIES", "Event", "draw", "verified"]
