"""Checksums of saved files, manifests of packed runs, SSH signatures."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol

from msgspec import Struct, field

from tui.model.bounded import MOST_SMALL_BYTES, NO_JSON, open_plain, read_file, read_text
from tui.model.plain_data import PlainDecoder
from tui.model.problem import BenchtuiError, Problem, UsageError
from tui.model.rundir import OF_THIS_MACHINE, RECORD_FILE

BLOCK = 1 << 20


class SummedFile(Protocol):
    """A file with its size and checksum, in a manifest or a record."""

    path: str
    sha256: str
    bytes: int


def damaged(run_dir: Path, files: Iterable[SummedFile]) -> Iterator[str]:
    """Yield each file that does not match its checksum, with the reason."""
    for file in files:
        if why := _why_damaged(run_dir, file):
            yield f"{file.path}: {why}"


def _why_damaged(run_dir: Path, file: SummedFile) -> str:
    if not is_inside(file.path):
        return "is not a path inside a run"
    path = run_dir / file.path
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            return "is not a regular file"
        if found.st_size != file.bytes:
            return f"has {found.st_size} bytes, expected {file.bytes}"
        return "" if sha256_of(path) == file.sha256 else "SHA-256 does not match"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def is_inside(path: str) -> bool:
    """Return whether a relative path stays inside its directory."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and "\0" not in path


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file. Raises OSError."""
    digest = hashlib.sha256()
    with open_plain(path) as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


SCHEMA = "benchtui.pack/1"
MANIFEST_FILE = "manifest.json"
SIGNATURE_FILE = "manifest.json.sig"
MOST_MANIFEST_BYTES = 32 << 20
MOST_SIGNATURE_BYTES = 1 << 20
MOST_FILES = 200_000
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}")
PLAIN = re.compile(r"[^\x00-\x1f\x7f\\]{1,400}")


class PackedFile(Struct):
    """A file of a packed run: path relative to the run directory, size and SHA-256."""

    path: str
    bytes: int
    sha256: str


class Manifest(Struct):
    """List of all files in a packed run; its text is signed."""

    schema: str
    run_id: str
    packed_utc: str
    benchtui_version: str
    files: list[PackedFile] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """Unpacked size of the run in bytes."""
        return sum(file.bytes for file in self.files)


_decoder = PlainDecoder(Manifest)


def parse_manifest(text: bytes) -> Manifest:
    """Parse the manifest of a packed run. Raises UsageError if it is invalid."""
    if text.count(b'"path"') > MOST_FILES:  # before there is an object of each
        raise UsageError(f"{MANIFEST_FILE}: lists more than {MOST_FILES} files")
    try:
        found = _decoder.decode(text)
    except NO_JSON as error:
        raise UsageError(f"{MANIFEST_FILE}: not a manifest: {error}") from error
    if found.schema != SCHEMA:
        raise UsageError(
            f"{MANIFEST_FILE}: has schema {found.schema!r}; this version reads {SCHEMA}"
        )
    if not RUN_ID.fullmatch(found.run_id):
        raise UsageError(f"{MANIFEST_FILE}: {found.run_id!r} is not a run ID")
    names = [file.path for file in found.files]
    if len(set(names)) != len(names) or RECORD_FILE not in names:
        raise UsageError(f"{MANIFEST_FILE}: lists files twice, or does not list {RECORD_FILE}")
    for file in found.files:
        check_name(file.path)
        if file.bytes < 0:
            raise UsageError(
                f"{MANIFEST_FILE}: {file.path}: found {file.bytes} bytes; expected 0 or more"
            )
    return found


def check_name(path: str) -> None:
    """Raise UsageError for a path that a packed run may not contain."""
    parts = path.split("/")
    plain = (
        is_inside(path) and PLAIN.fullmatch(path) and all(part and part[0] != "." for part in parts)
    )
    if not plain or path in (MANIFEST_FILE, SIGNATURE_FILE) or parts[0] in OF_THIS_MACHINE:
        raise UsageError(f"{path!r}: not allowed in a packed run")


NAMESPACE = "benchtui"
ANYBODY = "the-signer"  # ssh-keygen wants a name for a key that comes without one
KEY_KINDS = ("ssh-", "ecdsa-", "sk-")


def sign(text: bytes, key: Path) -> bytes:
    """Return the signature of a text.

    `key`: a private key, or a public key whose private key is in the agent. ssh-keygen asks for a
    passphrase on the terminal. Raises UsageError if signing fails.
    """
    if not key.is_file():
        raise UsageError(Problem("no such key; allowed: the file of an SSH key", file=str(key)))
    with tempfile.TemporaryDirectory(prefix="benchtui-sign-") as folder:
        path = Path(folder, "manifest.json")
        path.write_bytes(text)
        done = _run(["-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(path)], stdin=None)
        signature = path.with_name(f"{path.name}.sig")
        if done.returncode or not signature.is_file():
            raise UsageError(
                Problem(f"cannot sign: {_reason(done, folder)}{_advice(done)}", file=str(key))
            )
        return read_file(signature, MOST_SMALL_BYTES)


def _advice(done: subprocess.CompletedProcess[bytes]) -> str:
    asked = b"passphrase" in done.stderr.lower()
    return (
        "; add it to the agent (ssh-add), or sign on a terminal, which asks for the passphrase"
        if asked
        else ""
    )


def check(text: bytes, signature: bytes, signer: Path) -> str:
    """Verify the signature of a text, and return the signer.

    `signer`: a public key, or a file of allowed signers (ssh-keygen(1)). Raises BenchtuiError for
    another signer or another text.
    """
    with tempfile.TemporaryDirectory(prefix="benchtui-sign-") as folder:
        allowed = _allowed_signers(signer, Path(folder))
        path = Path(folder, "signature")
        path.write_bytes(signature)
        files = ["-f", str(allowed), "-s", str(path)]
        found = _run(["-Y", "find-principals", *files], stdin=b"")
        names = found.stdout.decode(errors="replace").split()
        if found.returncode or not names:
            raise BenchtuiError(f"unknown signer: {fingerprint(text, signature)} not in {signer}")
        done = _run(["-Y", "verify", *files, "-I", names[0], "-n", NAMESPACE], stdin=text)
        if done.returncode:
            raise BenchtuiError(f"signature rejected by {signer}: {_reason(done, folder)}")
        who = fingerprint(text, signature)
        return who if names[0] == ANYBODY else f"{names[0]} ({who})"


def fingerprint(text: bytes, signature: bytes) -> str:
    """Return the fingerprint of the key that signed a text.

    Raises BenchtuiError if the signature does not match the text.
    """
    with tempfile.TemporaryDirectory(prefix="benchtui-sign-") as folder:
        path = Path(folder, "signature")
        path.write_bytes(signature)
        done = _run(["-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(path)], stdin=text)
        if done.returncode:
            raise BenchtuiError(
                f"the signature does not belong to this manifest: {_reason(done, folder)}"
            )
        return done.stdout.decode(errors="replace").strip().rpartition("with ")[2]


def _allowed_signers(signer: Path, folder: Path) -> Path:
    """Return a file of allowed signers: the given one, or one made from a public key."""
    try:
        lines = read_text(signer, MOST_SMALL_BYTES, pipes=True).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise UsageError(Problem(f"cannot be read: {why}", file=str(signer))) from error
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    if "PRIVATE KEY" in first:
        raise UsageError(
            Problem("is a private key; to verify, use the public one (.pub)", file=str(signer))
        )
    if not first.startswith(KEY_KINDS):
        return signer
    made = folder / "allowed_signers"
    made.write_text(f'{ANYBODY} namespaces="{NAMESPACE}" {first}\n', encoding="utf-8")
    return made


def _run(words: Sequence[str], stdin: bytes | None) -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen; without `stdin`, it uses the terminal, where it can ask for a passphrase."""
    environ = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(
            ["ssh-keygen", *words], input=stdin, capture_output=True, check=False, env=environ
        )
    except FileNotFoundError:
        raise UsageError("ssh-keygen not found; signatures need OpenSSH 8.2 or newer") from None


def _reason(done: subprocess.CompletedProcess[bytes], folder: str) -> str:
    """Return the last line that ssh-keygen printed, without names of temporary files."""
    lines = (done.stderr + done.stdout).decode(errors="replace").splitlines()
    printed = [line.strip().replace(f"{folder}/", "") for line in lines if line.strip()]
    return printed[-1] if printed else f"ssh-keygen: exit code {done.returncode}"
