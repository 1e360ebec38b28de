"""What reads files of others, a sort each: real samples, and what is done with one that was
damaged.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.long.fuzz import packs
from tui.cli.main import main
from tui.library.filter import parse
from tui.model import hostspec
from tui.model.address import HostAddress
from tui.model.criteria import parse_criterion
from tui.model.paths import presets_dir
from tui.model.problem import BenchtuiError
from tui.model.profile_parts import parse_limit
from tui.remote.sshconfig import resolve
from tui.remote.transport import HostError

DATA = Path(__file__).parents[2] / "data"
LARGEST = 300_000  # bytes of a sample
RUN = "20261122T023003Z-demo-quick-1616"
SSH_CONFIG = b"""Include conf.d/*
Host h1 h2 !h3
  HostName %h.lab
  Port 2222
  IdentityFile "~/.ssh/id ed25519"
  ProxyCommand ssh -W %h:%p jump
Match host "h*" user me
  ServerAliveInterval = 5
Host *
  User=me
"""
INVENTORY = b"""defaults: {user: b, port: 22}
hosts:
  w-[01-04]: {groups: [clients], address: '10.0.0.[1-4]'}
  s1: {role: server, processes: {nfs: 'nfsd|kthread'}}
groups:
  all: ['@clients', s1, 'w-[01-02]']
"""
JOB = (
    b"[global]\nrw=randread\nbs=4k\nsize=1g ; all\niodepth=16\n[a]\nbssplit=4k/50:64k/50\n"
    b"[b]\nstonewall\nfilename=/x/${N}\n"
)


class Target(NamedTuple):
    """A sort of files: samples, what the file is called, and what reads it."""

    samples: Callable[[], Sequence[bytes]]
    name: str
    read: Callable[[Path], object]


def _files(pattern: str) -> Callable[[], list[bytes]]:
    def read() -> list[bytes]:
        found = [path.read_bytes() for path in sorted(DATA.glob(pattern))]
        return [each for each in (_plain(data) for data in found) if 0 < len(each) <= LARGEST]

    return read


def _elbencho() -> list[bytes]:
    head = (
        b'ISO DATE: 2026-08-12T16:27:22+0100\nCOMMAND LINE: "elbencho" "-w" "-t" "4" "/mnt/f"\n\n'
    )
    tables = _files("elbencho/*-write*.out")()
    return [*_files("foreign/elbencho.*")(), *(head + table for table in tables)]


def _plain(data: bytes) -> bytes:
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def _verb(*words: str) -> Callable[[Path], object]:
    return lambda path: main([*words, str(path)])


def _run_with(name: str, *verbs: Sequence[str]) -> Callable[[Path], object]:
    """Put the file into a copy of a run, where the record is not believed when it is the journal
    that is read.
    """

    def read(path: Path) -> None:
        run_dir = path.parent / "home" / "runs" / RUN
        shutil.rmtree(run_dir, ignore_errors=True)
        shutil.copytree(DATA / "runs" / "plain", run_dir)
        if name == "journal.jsonl":
            (run_dir / "run.json").unlink()
        shutil.copyfile(path, run_dir / name)
        for verb in verbs:
            main(list(verb))

    return read


def _ssh(path: Path) -> None:
    main(["hosts", "list", "--ssh-config", str(path)])
    for name in ("h1", "other"):
        try:
            resolve(HostAddress(name=name), path, ())
        except HostError as error:
            print(error)


def _text(parsed: Callable[[str], object], *verb: str) -> Callable[[Path], object]:
    """Have what people type read; a verb says what is wrong with it."""

    def read(path: Path) -> None:
        # no command line holds it
        text = path.read_text(encoding="utf-8", errors="replace").replace("\0", " ")
        try:
            parsed(text)
        except (BenchtuiError, ValueError):
            main([*verb, text])

    return read


def _spec(text: str) -> None:
    for part in hostspec.split(text):
        hostspec.expand(part)


def _packs() -> list[bytes]:
    import tempfile

    from tui.library.pack import pack

    with tempfile.TemporaryDirectory() as folder:
        run_dir, file = Path(folder, RUN), Path(folder, "run.bt")
        shutil.copytree(DATA / "runs" / "plain", run_dir)
        pack(run_dir, file)
        return [file.read_bytes()]


def _tar() -> list[bytes]:
    import io
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path in sorted((DATA / "fio" / "text").glob("nfs*"))[:2]:
            archive.add(path, path.name)
    return [out.getvalue()]


def _zip() -> list[bytes]:
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((DATA / "fio" / "text").glob("nfs*"))[:2]:
            archive.write(path, path.name)
    return [out.getvalue()]


SEARCH = ("capacity", "demo/quick", "--hosts", "local", "--dry-run", "--slo")
SHOWN = (["runs", "list"], ["runs", "show", RUN])
SPECS = (b"h[1-4],@all,w-[01-08,12],local", b"r[1-2]n[01-02].lab,fe80::1%eth0")
TARGETS: dict[str, Target] = {
    "inventory": Target(lambda: [INVENTORY], "i.yaml", _verb("hosts", "list", "--inventory")),
    "profile": Target(
        lambda: [path.read_bytes() for path in sorted(presets_dir().glob("*/*.yaml"))],
        "p.yaml",
        _verb("profiles", "check"),
    ),
    "ssh_config": Target(lambda: [SSH_CONFIG], "config", _ssh),
    "fio job": Target(lambda: [JOB], "j.fio", _verb("profiles", "import", "-o", "-")),
    "fio JSON": Target(_files("fio/*/*json*.gz"), "o.json", _verb("import", "--dry-run")),
    "fio text": Target(_files("fio/text/*"), "o.txt", _verb("import", "--dry-run")),
    "mdtest": Target(_files("mdtest/*.out"), "m.txt", _verb("import", "--dry-run")),
    "ior": Target(_files("ior/*.out"), "i.txt", _verb("import", "--dry-run")),
    "io500": Target(_files("io500/*"), "i.txt", _verb("import", "--dry-run")),
    "elbencho": Target(_elbencho, "e.txt", _verb("import", "--dry-run")),
    "journal": Target(_files("runs/*/journal.jsonl"), "j", _run_with("journal.jsonl", *SHOWN)),
    "archive": Target(_packs, "run.bt", _verb("runs", "verify")),
    "tar": Target(_tar, "o.tar", _verb("import", "--dry-run")),
    "zip": Target(_zip, "o.zip", _verb("import", "--dry-run")),
    "host spec": Target(
        lambda: SPECS, "s", _text(_spec, "run", "demo/quick", "--dry-run", "--hosts")
    ),
    "SLO": Target(
        lambda: [b"read.p99.9 < 2ms", b"errors = 0", b"sync.mean < 1ms"],
        "s",
        _text(parse_limit, *SEARCH),
    ),
    "criterion": Target(
        lambda: [b"read.p99 > 2ms", b"iops < -5%"],
        "s",
        _text(parse_criterion, "compare", "last", "last", "--fail-if"),
    ),
    "filter": Target(
        lambda: [b'-verdict:valid tag:lab=a since:3d "two words" host:h1'],
        "s",
        _text(parse, "runs", "list", "--"),
    ),
    "marks": Target(
        lambda: [b'{"starred":true,"title":"a title","tags":{"lab":"a"}}'],
        "m",
        _run_with("marks.json", *SHOWN),
    ),
    "packed record": Target(packs.sample_of("run.json"), "r", packs.with_file("run.json")),
    "packed journal": Target(
        packs.sample_of("journal.jsonl"), "j", packs.with_file("journal.jsonl")
    ),
    "packed plan": Target(packs.sample_of("plan.json"), "p", packs.with_file("plan.json")),
    "manifest": Target(packs.sample_of("manifest.json"), "m", packs.with_file("manifest.json")),
    "packed tar": Target(lambda: [packs.unsealed()], "t", packs.with_archive),
    "record": Target(_files("runs/plain/run.json"), "r", _run_with("run.json", *SHOWN)),
}
