"""Signatures by the user's SSH key, made and checked by OpenSSH's own ssh-keygen (namespace benchtui)."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tui.model.bounded import MOST_SMALL_BYTES, read_file, read_text
from tui.model.problem import BenchtuiError, Problem, UsageError

NAMESPACE = "benchtui"
ANYBODY = "the-signer"  # ssh-keygen wants a name for a key that comes without one
KEY_KINDS = ("ssh-", "ecdsa-", "sk-")


def sign(text: bytes, key: Path) -> bytes:
    """Return the signature of a text. `key`: a private key, or a public one whose private one the agent holds.

    ssh-keygen asks for a passphrase on the terminal by itself. Raises UsageError when it cannot be made.
    """
    if not key.is_file():
        raise UsageError(Problem("no such key", file=str(key)))
    with tempfile.TemporaryDirectory(prefix="benchtui-sign-") as folder:
        path = Path(folder, "manifest.json")
        path.write_bytes(text)
        done = _run(["-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(path)], stdin=None)
        signature = path.with_name(f"{path.name}.sig")
        if done.returncode or not signature.is_file():
            raise UsageError(Problem(f"cannot sign: {_reason(done, folder)}{_advice(done)}", file=str(key)))
        return read_file(signature, MOST_SMALL_BYTES)


def _advice(done: subprocess.CompletedProcess[bytes]) -> str:
    asked = b"passphrase" in done.stderr.lower()
    return "; put it into the agent (ssh-add), or sign on a terminal, where it is asked for" if asked else ""


def check(text: bytes, signature: bytes, signer: Path) -> str:
    """Return who signed a text. `signer`: a public key, or a file of allowed signers (ssh-keygen(1)).

    Raises BenchtuiError when it was nobody of these, or not this text.
    """
    with tempfile.TemporaryDirectory(prefix="benchtui-sign-") as folder:
        allowed = _allowed_signers(signer, Path(folder))
        path = Path(folder, "signature")
        path.write_bytes(signature)
        files = ["-f", str(allowed), "-s", str(path)]
        found = _run(["-Y", "find-principals", *files], stdin=b"")
        names = found.stdout.decode(errors="replace").split()
        if found.returncode or not names:
            raise BenchtuiError(f"signed by a stranger: {fingerprint(text, signature)} is not in {signer}")
        done = _run(["-Y", "verify", *files, "-I", names[0], "-n", NAMESPACE], stdin=text)
        if done.returncode:
            raise BenchtuiError(f"the signature is refused by {signer}: {_reason(done, folder)}")
        who = fingerprint(text, signature)
        return who if names[0] == ANYBODY else f"{names[0]} ({who})"


def fingerprint(text: bytes, signature: bytes) -> str:
    """Return the fingerprint of the key that signed a text. Raises BenchtuiError when the signature is not of it."""
    with tempfile.TemporaryDirectory(prefix="benchtui-sign-") as folder:
        path = Path(folder, "signature")
        path.write_bytes(signature)
        done = _run(["-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(path)], stdin=text)
        if done.returncode:
            raise BenchtuiError(f"the signature is not of this manifest: {_reason(done, folder)}")
        return done.stdout.decode(errors="replace").strip().rpartition("with ")[2]


def _allowed_signers(signer: Path, folder: Path) -> Path:
    """Return a file of allowed signers: the one that was named, or one made of a public key."""
    try:
        lines = read_text(signer, MOST_SMALL_BYTES, pipes=True).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise UsageError(Problem(f"cannot be read: {why}", file=str(signer))) from error
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    if "PRIVATE KEY" in first:
        raise UsageError(Problem("is a private key; whoever verifies needs the public one (.pub)", file=str(signer)))
    if not first.startswith(KEY_KINDS):
        return signer
    made = folder / "allowed_signers"
    made.write_text(f'{ANYBODY} namespaces="{NAMESPACE}" {first}\n', encoding="utf-8")
    return made


def _run(words: Sequence[str], stdin: bytes | None) -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen; without `stdin` it has ours, where it can ask."""
    environ = {**os.environ, "LC_ALL": "C"}
    try:
        if stdin is None:
            return subprocess.run(["ssh-keygen", *words], capture_output=True, check=False, env=environ)
        return subprocess.run(["ssh-keygen", *words], input=stdin, capture_output=True, check=False, env=environ)
    except FileNotFoundError:
        raise UsageError("ssh-keygen is not on this machine: signatures need OpenSSH 8.2 or newer") from None


def _reason(done: subprocess.CompletedProcess[bytes], folder: str) -> str:
    """Return ssh-keygen's own last words, without the names of our temporary files."""
    lines = (done.stderr + done.stdout).decode(errors="replace").splitlines()
    told = [line.strip().replace(f"{folder}/", "") for line in lines if line.strip()]
    return told[-1] if told else f"ssh-keygen ended with {done.returncode}"
