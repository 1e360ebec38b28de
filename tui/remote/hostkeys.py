"""Host keys: collect them, explain refusals, format known_hosts lines.

A changed key is always refused.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tui.model.operands import clause
from tui.remote.proxy import ProxyCommand, Tunnel, way_to
from tui.remote.ssh_library import Listener, asyncssh
from tui.remote.transport import HUNG_UP, BusyError, HostError

if TYPE_CHECKING:
    from tui.remote.sshconfig import Resolved

TIMEOUT_S = 15.0


class CertificateRefusedError(HostError):
    """Raised when a host certificate cannot be trusted.

    `keys`: the host's plain keys on file, which ssh checks next.
    """

    def __init__(self, target: Resolved, reason: str, keys: Sequence[asyncssh.SSHKey]) -> None:
        self.keys = keys
        told = clause("certificate-refused", host=target.host, quote=reason)
        super().__init__("host-key-unknown", target.name, told)

    @property
    def algorithms(self) -> str:
        """Signature algorithms of `keys`, for a handshake without a certificate."""
        return ",".join(
            dict.fromkeys(name.decode() for key in self.keys for name in key.sig_algorithms)
        )


class Presented(Struct, frozen=True):
    """A host's key, its name in known_hosts, and whether it is already on file."""

    name: str
    pattern: str
    key: asyncssh.SSHKey
    known: bool

    @property
    def fingerprint(self) -> str:
        """Type and SHA-256 fingerprint of the key."""
        return fingerprint(self.key)

    @property
    def line(self) -> str:
        """Line for a known_hosts file."""
        return f"{self.pattern} {' '.join(self.key.export_public_key().decode().split()[:2])}"


async def collect(target: Resolved, tunnel: asyncssh.SSHClientConnection | None) -> asyncssh.SSHKey:
    """Return a host's key without logging in.

    Raises HostError; BusyError if the server hangs up.
    """
    async with way_to(target, tunnel) as way:
        key = await _collect(target, way)
    if isinstance(way, ProxyCommand):
        await way.over()
    return key


async def _collect(target: Resolved, way: Tunnel | None) -> asyncssh.SSHKey:
    listener = Listener()
    none: Any = None
    options = asyncssh.SSHClientConnectionOptions(
        config=None,
        client_factory=lambda: listener,
        client_keys=none,
        agent_path=none,
        known_hosts=None,
        gss_host=None,
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            key = await asyncssh.get_server_host_key(
                target.host,
                target.port,
                tunnel=way,
                config=None,
                options=options,
                **target.local,
                kex_algs=target.algorithm_options["kex_algs"],
            )
    except (asyncssh.ConnectionLost, *HUNG_UP) as error:
        not_allowed = listener.not_allowed
        told = clause("hangs-up", host=target.host, port=target.port)
        raise BusyError(target.name, told, not_allowed=not_allowed) from error
    except ConnectionRefusedError as error:
        told = clause("refused-by", host=target.host, port=target.port)
        raise HostError("refused", target.name, told) from error
    except socket.gaierror as error:
        told = clause("unknown-name", host=target.host)
        raise HostError("unreachable", target.name, told) from error
    except TimeoutError as error:
        told = clause("no-answer-from", host=target.host, port=target.port)
        raise HostError("timeout", target.name, told) from error
    except (asyncssh.Error, OSError, ValueError) as error:
        reason = str(error) or type(error).__name__
        told = clause("no-host-key", host=target.host, quote=reason)
        raise HostError("unreachable", target.name, told) from error
    if key is None:
        raise HostError("unreachable", target.name, clause("host-key-missing", host=target.host))
    return key


def explain(
    target: Resolved, on_file: Sequence[asyncssh.SSHKey], key: asyncssh.SSHKey | None, reason: str
) -> HostError:
    """Return the error for a refused host key: unknown (with how to trust it), changed (with the
    fingerprints), or revoked; or for a refused host certificate.

    `key` is the presented key; None for a certificate.
    """
    if "revoked" in reason.lower():
        by_authority = "CA key" in reason
        told = clause("ca-key-revoked" if by_authority else "key-revoked", host=target.host)
        return HostError("host-key-revoked", target.name, told)
    if key is None:
        return CertificateRefusedError(target, reason, on_file)
    if not on_file:
        told = clause(
            "key-unknown",
            fingerprint=fingerprint(key),
            name=target.name,
            ignored=list(target.ignored_at_host_key),
        )
        return HostError("host-key-unknown", target.name, told)
    return changed(target, key, on_file)


async def another(
    target: Resolved,
    on_file: Sequence[asyncssh.SSHKey],
    tunnel: asyncssh.SSHClientConnection | None,
) -> HostError | None:
    """Collect a host's key; return the error if it is not among those on file.

    None if it is, if none is on file, or if the key cannot be collected.
    """
    if not on_file:
        return None
    try:
        key = await collect(target, tunnel)
    except HostError:
        return None
    return None if key in on_file else changed(target, key, on_file)


def changed(
    target: Resolved, key: asyncssh.SSHKey, on_file: Iterable[asyncssh.SSHKey]
) -> HostError:
    """Return the error for a host key that differs from those on file."""
    expected = [fingerprint(other) for other in on_file]
    files = list(target.known_hosts)
    told = clause("key-changed", fingerprint=fingerprint(key), expected=expected, files=files)
    return HostError("host-key-changed", target.name, told)


def fingerprint(key: asyncssh.SSHKey) -> str:
    """Return a key's type and SHA-256 fingerprint, as ssh prints it."""
    return f"{key.get_algorithm()} {key.get_fingerprint('sha256')}"


def pattern(target: Resolved) -> str:
    """Return a host's name in known_hosts."""
    plain = target.port == 22 or target.host_key_alias is not None
    return target.known_name if plain else f"[{target.known_name}]:{target.port}"
