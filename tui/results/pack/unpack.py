"""Unpacking a run among the saved ones, and verifying one that is packed."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tui.journal.rundir import write_atomic
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.rundir import ORIGIN_FILE
from tui.model.utc import format_utc
from tui.results.pack.read import Packed, read_pack
from tui.results.pack.signature import check, fingerprint
from tui.results.verify.run import Verified, verify_run


def signer_of(packed: Packed, file: Path, signer: Path | None) -> str:
    """Return who signed a packed run, in words; empty: nobody. Raises BenchtuiError for anybody else than `signer`."""
    try:
        if packed.signature is None:
            if signer is not None:
                raise BenchtuiError("is not signed")
            return ""
        if signer is None:
            return f"{fingerprint(packed.text, packed.signature)}, not checked against any --signer"
        return check(packed.text, packed.signature, signer)
    except UsageError:
        raise
    except BenchtuiError as error:
        raise BenchtuiError(Problem(str(error), file=str(file))) from error


def unpack(file: Path, runs_dir: Path, signer: Path | None = None) -> tuple[Path, str]:
    """Put a packed run among the saved ones; return its directory and who signed it. Raises BenchtuiError."""
    try:
        runs_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=runs_dir) as folder:
            made = Path(folder, "run")
            made.mkdir(mode=0o700)
            packed = read_pack(file, made)
            signed = signer_of(packed, file, signer)
            run_dir = runs_dir / packed.manifest.run_id
            if run_dir.exists() or run_dir.is_symlink():
                raise UsageError(Problem("there is a run of this name already", file=str(run_dir)))
            write_atomic(made / ORIGIN_FILE, _origin(file, packed, signed))
            made.rename(run_dir)
    except OSError as error:
        raise BenchtuiError(Problem(f"cannot be written: {error.strerror}", file=str(runs_dir))) from error
    return run_dir, signed


def _origin(file: Path, packed: Packed, signed: str) -> bytes:
    told = {
        "file": file.name,
        "manifest_sha256": hashlib.sha256(packed.text).hexdigest(),
        "signed_by": signed,
        "packed_utc": packed.manifest.packed_utc,
        "unpacked_utc": format_utc(datetime.now(UTC)),
    }
    return msgspec.json.encode(told) + b"\n"


def verify_pack(file: Path, signer: Path | None = None) -> tuple[Verified, str]:
    """Return what is to be said of the run in a file, and who signed it. Raises BenchtuiError."""
    with _scratch() as folder:
        made = folder / "run"
        made.mkdir()
        packed = read_pack(file, made)
        signed = signer_of(packed, file, signer)
        run_dir = made.rename(folder / packed.manifest.run_id)
        return verify_run(run_dir), signed


@contextmanager
def _scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="benchtui-verify-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
