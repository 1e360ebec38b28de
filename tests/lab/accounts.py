"""Accounts with a password for real sshd: it alone sees another /etc/shadow, in a mount namespace
of its own.
"""

from __future__ import annotations

import getpass
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

BY_PASSWORD = (
    "PasswordAuthentication yes",
    "PubkeyAuthentication no",
    "KbdInteractiveAuthentication no",
)
BY_PAM = (
    "UsePAM yes",
    "PasswordAuthentication no",
    "PubkeyAuthentication no",
    "KbdInteractiveAuthentication yes",
)
PAM_STACK = (
    "auth required pam_unix.so\naccount required pam_permit.so\nsession required pam_permit.so\n"
)


def other_files(files: Mapping[str, Path]) -> Sequence[str]:
    """The words before a command that sees these files in place of those of the system.

    Skips without the right.
    """
    mounts = "; ".join(f"mount --bind {mine} {theirs}" for theirs, mine in files.items())
    wrapper = ["unshare", "--mount", "sh", "-c", f'set -e; {mounts}; exec "$@"', "sh"]
    if subprocess.run([*wrapper, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no mount namespaces here")
    return wrapper


def with_password(root: Path, password: str, *, pam: bool = False) -> Sequence[str]:
    """A wrapper for sshd in which this user has a password.

    With `pam` also a PAM stack that asks for it.
    """
    root.mkdir(parents=True, exist_ok=True)
    hashed = subprocess.run(
        ["openssl", "passwd", "-6", "-stdin"],
        input=password,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    shadow, stack = root / "shadow", root / "pam-sshd"
    shadow.write_text(f"{getpass.getuser()}:{hashed}:19000:0:99999:7:::\n")
    shadow.chmod(0o600)
    stack.write_text(PAM_STACK)
    return other_files({"/etc/shadow": shadow} | ({"/etc/pam.d/sshd": stack} if pam else {}))
