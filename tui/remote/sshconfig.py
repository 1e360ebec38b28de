"""What ~/.ssh/config says of a host, resolved once; keys and known_hosts files loaded once and shared by all hosts.

asyncssh would parse the configuration, every key and every known_hosts file again for each connection, on the event
loop: 40 s of CPU for 256 hosts with an RSA key.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import asyncssh
from asyncssh.config import SSHClientConfig

from tui.model.plan import HostAddress
from tui.remote.transport import HostError

DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk")
USER_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
GLOBAL_KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
DEFAULT_PORT = 22
ClientKey = asyncssh.SSHKey | tuple[asyncssh.SSHKey, asyncssh.SSHCertificate]


@dataclass(frozen=True, slots=True)
class Resolved:
    """Everything needed to connect to one host."""

    name: str  # as the user calls it
    host: str
    port: int
    user: str
    identities: tuple[str, ...]
    certificates: tuple[str, ...]
    identities_only: bool
    agent: str | None
    known_hosts: tuple[str, ...]
    host_key_alias: str | None
    jumps: tuple[str, ...]
    proxy_command: tuple[str, ...]


def user_config() -> Path | None:
    """Return the user's ~/.ssh/config when there is one."""
    path = Path("~/.ssh/config").expanduser()
    return path if path.is_file() else None


def resolve(address: HostAddress, config_path: Path | None, pins: Sequence[Path]) -> Resolved:
    """Return how to connect to a host: explicit values first, then the configuration, then SSH's defaults."""
    config = read_config(address, config_path)
    get = config.get
    identities = [address.identity] if address.identity else list(get("IdentityFile", []))
    known = [*cast(list[str], get("UserKnownHostsFile", list(USER_KNOWN_HOSTS)))]
    known += cast(list[str], get("GlobalKnownHostsFile", list(GLOBAL_KNOWN_HOSTS)))
    jump = str(get("ProxyJump", "") or "")
    return Resolved(
        name=address.name,
        host=address.address or str(get("Hostname", address.name)),
        port=address.port or int(cast(int, get("Port", DEFAULT_PORT))),
        user=address.user or str(get("User", getpass.getuser())),
        identities=tuple(str(Path(path).expanduser()) for path in identities),
        certificates=tuple(str(path) for path in cast(list[str], get("CertificateFile", []))),
        identities_only=bool(get("IdentitiesOnly", False)) or bool(address.identity),
        agent=agent_path(get("IdentityAgent", "")),
        known_hosts=existing([*known, *map(str, pins)]),
        host_key_alias=cast("str | None", get("HostKeyAlias", None)),
        jumps=() if jump.lower() in ("", "none") else tuple(part.strip() for part in jump.split(",")),
        proxy_command=tuple(cast(list[str], get("ProxyCommand", []) or [])),
    )


def read_config(address: HostAddress, path: Path | None) -> Any:
    """Return asyncssh's view of the configuration for one host. Raises HostError for a broken file."""
    paths = [path] if path is not None else []
    user: Any = address.user or ()
    port: Any = address.port or ()
    none: Any = None
    try:
        return SSHClientConfig.load(none, paths, False, False, False, getpass.getuser(), user, address.name, port)
    except (asyncssh.ConfigParseError, OSError, UnicodeDecodeError) as error:
        raise HostError("config", address.name, f"SSH configuration {path}: {error}") from error


def agent_path(configured: object) -> str | None:
    """Return the socket of the SSH agent, or None when none is to be used."""
    if isinstance(configured, str) and configured.lower() == "none":
        return None
    if isinstance(configured, str) and configured and configured != "SSH_AUTH_SOCK":
        return str(Path(os.path.expandvars(configured)).expanduser())
    return os.environ.get("SSH_AUTH_SOCK") or None


def existing(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the files that are there, each once; asyncssh would fail on a missing one."""
    expanded = dict.fromkeys(str(Path(path).expanduser()) for path in paths)
    return tuple(path for path in expanded if Path(path).is_file())


def default_identities() -> tuple[str, ...]:
    """Return the key files that SSH tries by itself."""
    folder = Path("~/.ssh").expanduser()
    return tuple(str(folder / name) for name in DEFAULT_KEYS if (folder / name).is_file())


@dataclass
class Keyring:
    """Keys and known_hosts files, each read once."""

    _keys: dict[str, ClientKey | str] = field(default_factory=dict)
    _known: dict[tuple[str, ...], asyncssh.SSHKnownHosts] = field(default_factory=dict)

    def client_keys(self, target: Resolved) -> tuple[list[ClientKey], list[str]]:
        """Return (keys, why the others cannot be used)."""
        paths = target.identities or default_identities()
        loaded = [self._key(path) for path in paths]
        return [key for key in loaded if not isinstance(key, str)], [why for why in loaded if isinstance(why, str)]

    def known_hosts(self, target: Resolved) -> asyncssh.SSHKnownHosts:
        """Return the known hosts of a target's files."""
        files = target.known_hosts
        if files not in self._known:
            try:
                self._known[files] = asyncssh.read_known_hosts(list(files))
            except (OSError, ValueError, asyncssh.Error) as error:
                raise HostError("config", target.name, f"known_hosts {', '.join(files)}: {error}") from error
        return self._known[files]

    def _key(self, path: str) -> ClientKey | str:
        if path not in self._keys:
            self._keys[path] = load_key(path)
        return self._keys[path]


def load_key(path: str) -> ClientKey | str:
    """Return a private key, with its certificate where one lies beside it; a text says why it cannot be used."""
    try:
        key = asyncssh.read_private_key(path)
    except asyncssh.KeyEncryptionError:
        return f"{path} is encrypted: add it to an SSH agent (ssh-add {path})"
    except asyncssh.KeyImportError as error:
        encrypted = "passphrase" in str(error).lower()
        return f"{path} is encrypted: add it to an SSH agent (ssh-add {path})" if encrypted else f"{path}: {error}"
    except OSError as error:
        return f"{path}: {error.strerror}"
    try:
        return key, asyncssh.read_certificate(f"{path}-cert.pub")
    except (OSError, asyncssh.KeyImportError):
        return key
