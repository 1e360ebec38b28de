"""Private keys from files, encrypted files and agents, and their public halves without a
passphrase.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

from tui.remote.ssh_library import SSHAgentKeyPair, asyncssh

ClientKey = asyncssh.SSHKey | tuple[asyncssh.SSHKey, asyncssh.SSHCertificate]
Key = TypeVar("Key", bound="asyncssh.SSHKey | asyncssh.SSHKeyPair")
RSA_SIGNATURES = (b"rsa-sha2-256", b"rsa-sha2-512", b"ssh-rsa")


class LockedKey(Struct, frozen=True):
    """An encrypted key file; `public` is None if its public half cannot be read."""

    path: str
    public: asyncssh.SSHKey | None
    certificate: asyncssh.SSHCertificate | None = None


class LockedKeyPair(asyncssh.SSHKeyPair):
    """Public half of an encrypted key, to test whether a server would accept the key."""

    def __init__(
        self,
        locked: LockedKey,
        public: asyncssh.SSHKey,
        certificate: asyncssh.SSHCertificate | None,
    ) -> None:
        algorithm = public.algorithm
        signatures = RSA_SIGNATURES if algorithm == b"ssh-rsa" else tuple(public.sig_algorithms)
        super().__init__(
            algorithm, algorithm, signatures, signatures, public.public_data, None, certificate
        )
        self.path = locked.path
        self.accepted = False

    async def sign_async(self, _data: bytes) -> bytes:
        """Record that the server accepts this key.

        Raises ValueError, upon which asyncssh tries the next key.
        """
        self.accepted = True
        raise ValueError("the key is encrypted")


class AgentKeyPair(SSHAgentKeyPair):
    """An SSH agent's key that records whether it was used."""

    signed = False

    @classmethod
    def of(cls, pair: asyncssh.SSHKeyPair) -> AgentKeyPair:
        """Copy a key pair, because asyncssh stores the server's signature algorithm in it."""
        made = cls.__new__(cls)
        made.__dict__.update(pair.__dict__)
        return made

    async def sign_async(self, data: bytes) -> bytes:
        """Let the agent sign, and record that the key was used."""
        self.signed = True
        return await super().sign_async(data)


def load_key(path: str) -> ClientKey | LockedKey | str:
    """Load a private key, with the certificate next to it if there is one.

    Returns a LockedKey if it is encrypted, or a text with the reason if it cannot be used.
    """
    try:
        key = asyncssh.read_private_key(path)
    except asyncssh.KeyEncryptionError:
        return locked_key(path)
    except asyncssh.KeyImportError as error:
        return locked_key(path) if "passphrase" in str(error).lower() else f"{path}: {error}"
    except OSError as error:
        return f"{path}: {error.strerror}"
    certificate = certificate_of(path)
    return key if certificate is None else (key, certificate)


def unlock(path: str, passphrase: str) -> ClientKey | None:
    """Decrypt a key file; None if the passphrase is wrong or the file is unreadable.

    Takes 0.2 s, so call it in a thread.
    """
    try:
        key = asyncssh.read_private_key(path, passphrase)
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, OSError):
        return None
    certificate = certificate_of(path)
    return key if certificate is None else (key, certificate)


def locked_key(path: str) -> LockedKey:
    """Return an encrypted key file with its public half, without a passphrase."""
    return LockedKey(path, public_half(path), certificate_of(path))


def locked_pairs(
    locked: LockedKey, certificates: Sequence[asyncssh.SSHCertificate | None]
) -> list[LockedKeyPair]:
    """Return the forms in which an encrypted key can be offered to a server: its certificates, then
    the plain key.
    """
    public = locked.public
    if public is None:
        return []
    fitting = [
        c
        for c in (locked.certificate, *certificates)
        if c and c.key.public_data == public.public_data
    ]
    return [LockedKeyPair(locked, public, certificate) for certificate in (*fitting, None)]


def accepted(keys: Sequence[Key], algorithms: Sequence[str]) -> list[Key]:
    """Return the keys that are usable with any of these algorithms, named as in ssh_config.

    Without algorithms, all keys are usable.
    """
    wanted = {name.encode() for name in algorithms}
    return [key for key in keys if not wanted or not wanted.isdisjoint(_names_of(key))]


def _names_of(key: asyncssh.SSHKey | asyncssh.SSHKeyPair) -> Sequence[bytes]:
    return key.sig_algorithms if isinstance(key, asyncssh.SSHKey) else key.host_key_algorithms


def with_certificates(
    key: ClientKey, certificates: Sequence[asyncssh.SSHCertificate | None]
) -> list[tuple[asyncssh.SSHKey, asyncssh.SSHCertificate]]:
    """Pair a key with each of its certificates (from CertificateFile).

    Empty for a key that already has the certificate next to its file.
    """
    if isinstance(key, tuple):
        return []
    return [
        (key, item)
        for item in certificates
        if item is not None and item.key.public_data == key.public_data
    ]


def with_agent_certificates(
    key: asyncssh.SSHKeyPair, certificates: Sequence[asyncssh.SSHCertificate | None]
) -> list[AgentKeyPair]:
    """Return an agent's key with each of its certificates, then without one."""
    fitting = {
        item.public_data: item
        for item in certificates
        if item and item.key.public_data == key.public_data
    }
    made = [AgentKeyPair.of(key) for _ in (*fitting, None)]
    for pair, certificate in zip(made, fitting.values(), strict=False):
        pair.set_certificate(certificate)
    return made


def certificate_of(path: str) -> asyncssh.SSHCertificate | None:
    """Return the certificate next to a key file; None if there is none."""
    try:
        return asyncssh.read_certificate(f"{path}-cert.pub")
    except (OSError, asyncssh.KeyImportError):
        return None


def public_half(path: str) -> asyncssh.SSHKey | None:
    """Return the public half of a private key, from the .pub file or the key file; None if
    unreadable.
    """
    for name in (f"{path}.pub", path):
        try:
            return asyncssh.read_public_key(name)
        except (OSError, asyncssh.KeyImportError):
            continue
    return None
