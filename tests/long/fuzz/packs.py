"""Packed runs that were changed and sealed again: every sum fits, so that readers behind the sums
see the change.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tui.cli.main import main
from tui.library.archives import Deflated, Inflated
from tui.library.manifest import MANIFEST_FILE
from tui.library.pack import pack

RUN = "20261122T023003Z-demo-quick-1616"
DATA = Path(__file__).parents[2] / "data" / "runs" / "plain"
Members = dict[str, bytes]


def members() -> Members:
    """Return the files of a packed run by name, the manifest first."""
    with tarfile.open(fileobj=io.BytesIO(unsealed())) as archive:
        return {each.name.partition("/")[2]: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]


def unsealed() -> bytes:
    """Return the archive in a packed run."""
    with tempfile.TemporaryDirectory() as folder:
        run_dir, file = Path(folder, RUN), Path(folder, "run.bt")
        shutil.copytree(DATA, run_dir)
        pack(run_dir, file)
        with file.open("rb") as stored:
            return Inflated(stored).readall()


def sealed(archive: bytes, file: Path) -> None:
    """Write a packed run of an archive, with the sums that it needs."""
    with file.open("wb") as stored, Deflated(stored) as packed:
        packed.write(archive)


def archived(files: Members) -> bytes:
    """Return the archive of files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"{RUN}/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def sample_of(name: str) -> Callable[[], Sequence[bytes]]:
    """Return what gives the file of a name."""
    return lambda: [members()[name]]


def with_file(name: str) -> Callable[[Path], None]:
    """Return what reads a packed run with a changed file; the manifest says its size and sum."""

    def read(path: Path) -> None:
        files = members()
        files[name] = data = path.read_bytes()
        if name != MANIFEST_FILE:
            manifest = json.loads(files[MANIFEST_FILE])
            told = next(each for each in manifest["files"] if each["path"] == name)
            told |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            files[MANIFEST_FILE] = json.dumps(manifest).encode()
        read_sealed(archived(files), path)

    return read


def with_archive(path: Path) -> None:
    """Read a packed run whose archive was changed."""
    read_sealed(path.read_bytes(), path)


def read_sealed(archive: bytes, path: Path) -> None:
    """Verify a packed run, unpack it, and look at what came of it."""
    file = path.with_name("sealed.bt")
    sealed(archive, file)
    shutil.rmtree(path.parent / "home" / "runs", ignore_errors=True)
    main(["runs", "verify", str(file)])
    main(["runs", "unpack", str(file)])
    main(["runs", "list"])
    outside = [
        each.name
        for each in path.parent.iterdir()
        if each not in (path, file, path.parent / "home")
    ]
    assert outside == [], f"{outside} were written elsewhere"
