"""Playing one run of the corpus for real, and what its record says of it."""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.command import benchtui
from tests.lab.sshd import SshdLab
from tests.lies.corpus import Lie, Place

PROFILE = """\
profile: lies/one
version: 1
title: {title}
tool: fio
{head}
prepare: {{layout: {layout}}}
fio:
  global: {{{options}, time_based: 1, runtime: {runtime}s, filename: "{target}/data{own}"}}
  jobs: {{load: {{numjobs: 1}}}}
headline: {{metric: iops, direction: {direction}}}
"""


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a run: the checks that weaken it, remarks, and why it gave no record."""

    findings: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    limiter: str = ""
    failed: str = ""

    def names(self, check: str) -> bool:
        """Whether a check spoke up."""
        return check in self.findings or check in self.remarks


def play(lie: Lie, folder: Path, lab: SshdLab | None) -> Played:
    """Make one run of a lie and return what its record says. What it made is removed."""
    base = Path("/dev/shm") if lie.memory else folder
    target = Path(tempfile.mkdtemp(prefix=f"lie-{uuid.uuid4().hex[:6]}-", dir=base))
    home = target / "home" if not lie.memory else folder / "home"
    home.mkdir(parents=True)
    try:
        profile = home / "lie.yaml"
        profile.write_text(text_of(lie, target))
        where = ("--hosts", ",".join(f"h{n + 1}" for n in range(lie.hosts))) if lie.hosts else ("--hosts", "local")
        more = ("--ssh-config", lab.ssh_config) if lab is not None and lie.hosts else ()
        with lie.sabotage(Place(target, folder)):
            done = benchtui(home, "run", profile, *where, *more, "--yes")
        records = list((home / "runs").glob("*/run.json")) if (home / "runs").exists() else []
        return of_record(json.loads(records[0].read_text())) if records else Played(failed=done.stderr[-300:])
    finally:
        shutil.rmtree(target, ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)


def of_record(record: dict[str, Any]) -> Played:
    """Return what a record says."""
    ids = {severity: [] for severity in ("error", "warning", "info")}  # type: dict[str, list[str]]
    for finding in record["findings"]:
        ids[finding["severity"]].append(finding["id"])
    limiter = (record["steps"][0].get("limiter") or {}).get("kind", "")
    return Played([*ids["error"], *ids["warning"]], ids["info"], limiter)


def text_of(lie: Lie, target: Path) -> str:
    """Return the profile of a run. Hosts have files of their own, unless they are to share one."""
    own = ".{host}" if lie.hosts and lie.finding != "V21" else ""
    options = lie.options.replace(", time_based: 0", "")
    text = PROFILE.format(
        title=lie.name,
        head=lie.head,
        layout=str(lie.layout).lower(),
        options=options,
        runtime=lie.runtime_s,
        target=target,
        own=own,
        direction="write" if "write" in lie.options else "read",
    )
    return text if options == lie.options else text.replace("time_based: 1", "time_based: 0")
