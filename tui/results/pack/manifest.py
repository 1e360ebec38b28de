"""What is in a packed run: the manifest, which is its first file, and which names and sizes it may hold."""

from __future__ import annotations

import re

from msgspec import Struct, field

from tui.model.no_json import NO_JSON
from tui.model.plain_data import PlainDecoder
from tui.model.problem import UsageError
from tui.model.rundir import OF_THIS_MACHINE, RECORD_FILE
from tui.results.store.sums import is_inside

SCHEMA = "benchtui.pack/1"
MANIFEST_FILE = "manifest.json"
SIGNATURE_FILE = "manifest.json.sig"
MOST_MANIFEST_BYTES = 32 << 20
MOST_SIGNATURE_BYTES = 1 << 20
MOST_FILES = 200_000
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}")
PLAIN = re.compile(r"[^\x00-\x1f\x7f\\]{1,400}")


class PackedFile(Struct):
    """A file of the run: path relative to the run's directory, size and SHA-256."""

    path: str
    bytes: int
    sha256: str


class Manifest(Struct):
    """All files of a packed run. What is signed is the text of this."""

    schema: str
    run_id: str
    packed_utc: str
    benchtui_version: str
    files: list[PackedFile] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """How large the run is when it is unpacked."""
        return sum(file.bytes for file in self.files)


_decoder = PlainDecoder(Manifest)


def parse_manifest(text: bytes) -> Manifest:
    """Return the manifest of a packed run. Raises UsageError when it is none, or names what no run has."""
    if text.count(b'"path"') > MOST_FILES:  # before there is an object of each
        raise UsageError(f"{MANIFEST_FILE}: names more than {MOST_FILES} files")
    try:
        found = _decoder.decode(text)
    except NO_JSON as error:
        raise UsageError(f"{MANIFEST_FILE}: is no manifest: {error}") from error
    if found.schema != SCHEMA:
        raise UsageError(f"{MANIFEST_FILE}: is of the schema {found.schema!r}, this version reads {SCHEMA}")
    if not RUN_ID.fullmatch(found.run_id):
        raise UsageError(f"{MANIFEST_FILE}: {found.run_id!r} is no name of a run")
    names = [file.path for file in found.files]
    if len(set(names)) != len(names) or RECORD_FILE not in names:
        raise UsageError(f"{MANIFEST_FILE}: names files twice, or no {RECORD_FILE}")
    for file in found.files:
        check_name(file.path)
        if file.bytes < 0:
            raise UsageError(f"{MANIFEST_FILE}: {file.path}: {file.bytes} is no size")
    return found


def check_name(path: str) -> None:
    """Raise UsageError for a name that a packed run may not hold."""
    parts = path.split("/")
    plain = is_inside(path) and PLAIN.fullmatch(path) and all(part and part[0] != "." for part in parts)
    if not plain or path in (MANIFEST_FILE, SIGNATURE_FILE) or parts[0] in OF_THIS_MACHINE:
        raise UsageError(f"{path!r}: a packed run may not hold such a file")
