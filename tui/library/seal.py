"""Seal of a run: checksums of its files when the engine ends, signed with this machine's key.

It covers the plan, the raw output and the journal up to that moment, so later notes leave it
intact. In the record, it covers the verdict, the names and severities of the findings, and the
figures that views print (`_SealedFigures`); `runs verify` rebuilds the rest.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from tui.journal.rundir import is_running, write_atomic
from tui.library.manifest import sha256_of
from tui.model.bounded import MOST_SMALL_BYTES, NO_JSON, open_plain, read_file
from tui.model.plain_data import PlainDecoder
from tui.model.rundir import (
    JOURNAL_FILE,
    LOG_FILE,
    PLAN_FILE,
    RAW_DIR,
    RECORD_FILE,
    SEAL_FILE,
    begun_utc,
)

if TYPE_CHECKING:
    from asyncssh import SSHKey

SCHEMA = "benchtui.seal/1"
KIND = "ssh-ed25519"
BLOCK = 1 << 20
MOST_SEAL_BYTES = 32 << 20  # a line for each file of raw output


class Seal(Struct):
    """Signed checksums of a run, and the key.

    `key` is a line of an OpenSSH public key file, `signature` is base64.
    """

    run_id: str
    journal_bytes: int
    journal_sha256: str
    files: dict[str, str] = field(default_factory=dict)  # path below the run's directory: SHA-256
    judged: str = ""  # SHA-256 of verdict and findings; empty: sealed before 2026-11-26
    figures: str = ""  # SHA-256 of the figures; empty: sealed before 2026-12-01
    key: str = ""
    signature: str = ""
    schema: str = SCHEMA

    @property
    def text(self) -> bytes:
        """Text that is signed; seals without figures were signed before this field existed."""
        signed = msgspec.structs.asdict(self) | {"signature": ""}
        if not self.figures:
            del signed["figures"]
        return msgspec.json.encode(signed, order="sorted")


_seals = PlainDecoder(Seal)


class _SealedFinding(Struct):
    id: str
    severity: str


# A field added below changes the checksum of every record: figures of sealed runs would then seem
# to have been changed. Only what later versions derive with the same digits belongs here.
SEALED_PERCENTILES = (
    "1", "5", "10", "25", "50", "75", "90", "95", "99", "99.5", "99.9", "99.95", "99.99",
)  # fmt: skip


class _SealedLatency(Struct):
    mean_ns: float | None = None
    max_ns: float | None = None
    percentiles_ns: dict[str, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Omit percentiles that another version may add."""
        known = self.percentiles_ns
        self.percentiles_ns = {name: known[name] for name in SEALED_PERCENTILES if name in known}


class _SealedDirection(Struct):
    ios: float | None = None
    bytes: float | None = None
    iops: float | None = None
    bw_bytes_per_s: float | None = None
    slat: _SealedLatency | None = None
    clat: _SealedLatency | None = None
    lat: _SealedLatency | None = None


_SealedDirections = dict[str, _SealedDirection]


class _SealedResults(Struct):
    aggregate: _SealedDirections = field(default_factory=dict)
    per_host: dict[str, _SealedDirections] = field(default_factory=dict)
    per_job: dict[str, dict[str, _SealedDirections]] | None = None
    jobs: dict[str, _SealedDirections] | None = None


class _SealedOperation(Struct):
    mean: float | None = None
    max: float | None = None


class _SealedBenchmark(Struct):
    operations: dict[str, _SealedOperation] = field(default_factory=dict)
    scores: dict[str, float | None] = field(default_factory=dict)


class _SealedStep(Struct):
    results: _SealedResults = field(default_factory=_SealedResults)
    metadata: _SealedBenchmark | None = None


class _SealedHeadline(Struct):
    """The figure, and the texts that views print instead of it if a record has them."""

    value: float | None = None
    unit: str | None = None
    text: str | None = None
    short: str | None = None


class _SealedCell(Struct):
    headline: _SealedHeadline | None = None


class _SealedMatrix(Struct):
    cells: list[_SealedCell] = field(default_factory=list)


class _SealedCapacity(Struct):
    value: float | None = None


class _SealedAnswer(Struct):
    capacity: _SealedCapacity = field(default_factory=_SealedCapacity)


class _SealedSearch(Struct):
    answer: _SealedAnswer | None = None


class _SealedFigures(Struct):
    headline: _SealedHeadline | None = None
    steps: list[_SealedStep] = field(default_factory=list)
    matrix: _SealedMatrix | None = None
    search: _SealedSearch | None = None


class _SealedVerdict(Struct):
    verdict: str | None = None
    findings: list[_SealedFinding] = field(default_factory=list)


class _SealedRecord(_SealedFigures):
    """Both parts, so that a large record is decoded once."""

    verdict: str | None = None
    findings: list[_SealedFinding] = field(default_factory=list)


_judged = PlainDecoder(_SealedVerdict)
_sealed = PlainDecoder(_SealedRecord)
VERDICT, FIGURES = "verdict or findings", "figures"


def seal(run_dir: Path, key_file: Path) -> None:
    """Sign the files of a finished run with the key in `key_file`, which is created if missing.

    Raises OSError.
    """
    key = _own_key(key_file)
    journal = run_dir / JOURNAL_FILE
    size = journal.stat().st_size
    made = Seal(run_dir.name, size, _sha256_of_begin(journal, size), dict(_sums(run_dir)))
    if (run_dir / RECORD_FILE).exists():
        made.judged, made.figures = _sums_of_record(read_file(run_dir / RECORD_FILE))
    made.key = key.export_public_key("openssh").decode().strip()
    signature = key.sign(made.text, KIND.encode())
    made.signature = base64.b64encode(signature).decode()
    write_atomic(
        run_dir / SEAL_FILE, msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n"
    )


def check_seal(run_dir: Path, own_key: Path | None = None) -> tuple[str, list[str]]:
    """Return the signer of a run's seal, and what has changed since; both empty if there is no
    seal.

    The signer is empty if the seal is unreadable or its signature does not match. `own_key`: the
    key of this machine. Raises OSError.
    """
    path = run_dir / SEAL_FILE
    if not path.exists():
        return "", []
    try:
        found = _seals.decode(read_file(path, MOST_SEAL_BYTES))
    except NO_JSON as error:
        return "", [f"{SEAL_FILE}: cannot be read: {error}"]
    who = _signer(found)
    if not who:
        return "", [f"{SEAL_FILE}: signature does not match"]
    # a directory with any other name was renamed by a person
    other = found.run_id != run_dir.name and begun_utc(run_dir.name) is not None
    differs = [f"{SEAL_FILE}: belongs to run {found.run_id}"] if other else []
    differs += [f"{path}: changed since it was sealed" for path in _changed(run_dir, found)]
    whose = (
        " of this machine"
        if own_key is not None and _is_own(found, own_key)
        else ", not one of this machine"
    )
    return f"{who}{whose}", differs


def is_not_as_sealed(run_dir: Path, record: bytes) -> bool:
    """Return whether verdict, findings or figures of a record differ from the seal, or a run that
    an engine finished here no longer has a seal.

    True for an unreadable seal. Does not verify the signature, because every screen calls this;
    `runs verify` does.
    """
    try:
        return bool(parts_not_as_sealed(run_dir, record))
    except FileNotFoundError:
        return (run_dir / LOG_FILE).exists() and not is_running(run_dir)
    except (OSError, *NO_JSON):
        return True


def parts_not_as_sealed(run_dir: Path, record: bytes) -> list[str]:
    """Return which of `VERDICT` and `FIGURES` differ from the seal.

    A part that the seal does not cover is not compared. Raises OSError, and the exceptions in
    `NO_JSON` for an unreadable seal or record.
    """
    sealed = _seals.decode(read_file(run_dir / SEAL_FILE, MOST_SEAL_BYTES))
    if not sealed.judged:
        return []
    if not sealed.figures:
        return [VERDICT] if _sum_of(_judged.decode(record)) != sealed.judged else []
    parts = zip(
        (VERDICT, FIGURES), (sealed.judged, sealed.figures), _sums_of_record(record), strict=True
    )
    return [name for name, kept, now in parts if kept != now]


def _sums_of_record(record: bytes) -> tuple[str, str]:
    """Return the SHA-256 of verdict and findings, and that of the figures."""
    found = _sealed.decode(record)
    figures = _SealedFigures(found.headline, found.steps, found.matrix, found.search)
    return _sum_of(_SealedVerdict(found.verdict, found.findings)), _sum_of(figures)


def _sum_of(part: Struct) -> str:
    return hashlib.sha256(msgspec.json.encode(part, order="sorted")).hexdigest()


def _changed(run_dir: Path, found: Seal) -> Iterator[str]:
    """Yield files that are missing, changed or new since the run was sealed."""
    now = dict(_sums(run_dir))
    yield from sorted(
        name for name in found.files.keys() | now.keys() if found.files.get(name) != now.get(name)
    )
    journal = run_dir / JOURNAL_FILE
    size = journal.stat().st_size if journal.is_file() else -1
    if (
        size < found.journal_bytes
        or _sha256_of_begin(journal, found.journal_bytes) != found.journal_sha256
    ):
        yield JOURNAL_FILE


def _sums(run_dir: Path) -> Iterator[tuple[str, str]]:
    """Yield path and SHA-256 of the plan and of each raw output file."""
    raw = run_dir / RAW_DIR
    for path in [run_dir / PLAN_FILE, *(sorted(raw.rglob("*")) if raw.is_dir() else [])]:
        if path.is_file() and not path.is_symlink():
            yield str(path.relative_to(run_dir)), sha256_of(path)


def _sha256_of_begin(path: Path, size: int) -> str:
    digest = hashlib.sha256()
    with open_plain(path) as file:
        while size > 0 and (block := file.read(min(BLOCK, size))):
            digest.update(block)
            size -= len(block)
    return digest.hexdigest()


def _signer(found: Seal) -> str:
    """Return the fingerprint of the key that made a seal; empty if the signature does not match."""
    from tui.model.lean_asyncssh import asyncssh

    try:
        key = asyncssh.import_public_key(found.key)
        signature = base64.b64decode(found.signature, validate=True)
        return key.get_fingerprint() if key.verify(found.text, signature) else ""
    except (asyncssh.KeyImportError, binascii.Error, ValueError):
        return ""


def _is_own(found: Seal, key_file: Path) -> bool:
    public = key_file.with_name(f"{key_file.name}.pub")
    if not public.is_file():
        return False
    return read_file(public, MOST_SMALL_BYTES).split()[:2] == found.key.encode().split()[:2]


def _own_key(path: Path) -> SSHKey:
    """Return this user's key on this machine; created, readable only by the user, if missing.

    Raises OSError.
    """
    from tui.model.lean_asyncssh import asyncssh

    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = asyncssh.generate_private_key(KIND, comment="benchtui seal")
        new = path.with_name(f"{path.name}.{os.getpid()}")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(made.export_private_key("openssh"))
        try:
            # the first one wins: another engine may create the key at the same time
            os.link(new, path)
        except FileExistsError:
            pass
        finally:
            new.unlink()
    key = asyncssh.import_private_key(read_file(path, MOST_SMALL_BYTES))
    public = path.with_name(f"{path.name}.pub")
    if not public.exists():
        write_atomic(public, key.export_public_key("openssh"))
    return key
