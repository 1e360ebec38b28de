"""What ~/.ssh/config says of a host, resolved once; keys and known_hosts files loaded once and shared by all hosts.

asyncssh would parse the configuration, every key and every known_hosts file again for each connection, on the event
loop: 40 s of CPU for 256 hosts with an RSA key.
"""

from __future__ import annotations

import asyncio
import getpass
import ipaddress
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from tui.model.address import HostAddress
from tui.model.paths import from_home
from tui.remote.answers import quoted
from tui.remote.keys import (
    AgentKeyPair,
    ClientKey,
    LockedKey,
    LockedKeyPair,
    load_key,
    locked_pairs,
    public_half,
    unlock,
    with_certificates,
)
from tui.remote.ssh_library import asyncssh
from tui.remote.sshfile import ConfigFiles, HostConfig
from tui.remote.transport import HostError

DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk")
USER_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
OTHER_ALGORITHMS = {"mac_algs": "MACs", "server_host_key_algs": "HostKeyAlgorithms"}
GLOBAL_KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
DEFAULT_PORT = 22
AGENT_TIMEOUT_S = 5.0
# Measured on 256 hosts: curve25519 and AES-GCM cost the least CPU. The rest of asyncssh's own lists follows.
FAST_KEX = "^curve25519-sha256,curve25519-sha256@libssh.org"
FAST_CIPHERS = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"
KnownKeys = tuple[Sequence[Any], ...]  # trusted, authorities, revoked, then the same of X.509


class Resolved(Struct, frozen=True):
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
    proxy_command: str | None
    config: Path | None = None  # where the bastions are described as well
    algorithms: tuple[tuple[str, str], ...] = ()  # asyncssh's argument names and lists

    @property
    def known_name(self) -> str:
        """The name that its key is filed under."""
        return self.host_key_alias or self.host

    @property
    def place(self) -> str:
        """User, address and port as people write them."""
        return f"{self.user}@{self.host}" + (f":{self.port}" if self.port != DEFAULT_PORT else "")

    @property
    def algorithm_options(self) -> dict[str, Any]:
        """The algorithms as asyncssh's keyword arguments."""
        return dict(self.algorithms)


def user_config() -> Path | None:
    """Return the user's ~/.ssh/config when there is one."""
    path = from_home("~/.ssh/config")
    return path if path.is_file() else None


def resolve(
    address: HostAddress, config_path: Path | None, pins: Sequence[Path], files: ConfigFiles | None = None
) -> Resolved:
    """Return how to connect to a host: explicit values first, then the configuration, then SSH's defaults."""
    config = read_config(address, config_path, files or ConfigFiles())
    get = config.get
    known = [*cast(list[str], get("UserKnownHostsFile", list(USER_KNOWN_HOSTS)))]
    known += cast(list[str], get("GlobalKnownHostsFile", list(GLOBAL_KNOWN_HOSTS)))
    jump = str(get("ProxyJump", "") or "")
    return Resolved(
        name=address.name,
        host=address.address or str(get("Hostname", address.name)),
        port=address.port or int(cast(int, get("Port", DEFAULT_PORT))),
        user=address.user or str(get("User", getpass.getuser())),
        identities=identities_of(address, get("IdentityFile", None)),
        certificates=tuple(expanded(path) for path in cast(list[str], get("CertificateFile", []))),
        identities_only=bool(get("IdentitiesOnly", False)),
        agent=agent_path(get("IdentityAgent", "")),
        known_hosts=existing([*known, *map(str, pins)]),
        host_key_alias=cast("str | None", get("HostKeyAlias", None)),
        jumps=() if jump.lower() in ("", "none") else tuple(part.strip() for part in jump.split(",")),
        proxy_command=cast("str | None", get("ProxyCommand", None)),
        config=config_path,
        algorithms=(
            ("kex_algs", str(get("KexAlgorithms", FAST_KEX))),
            ("encryption_algs", str(get("Ciphers", FAST_CIPHERS))),
            *((name, str(get(key))) for name, key in OTHER_ALGORITHMS.items() if get(key, None)),
        ),
    )


def identities_of(address: HostAddress, configured: object) -> tuple[str, ...]:
    """Return the key files to try: the host's own, those of the configuration, or those that SSH tries by itself."""
    if address.identity:
        return (expanded(address.identity),)
    if configured is None:
        return default_identities()
    return tuple(expanded(path) for path in cast(list[str], configured))


def read_config(address: HostAddress, path: Path | None, files: ConfigFiles) -> HostConfig:
    """Return asyncssh's view of the configuration for one host. Raises HostError for a broken file."""
    config = HostConfig(files, getpass.getuser(), address.user or (), address.name, address.port or ())
    try:
        if path is not None:
            config.parse(path)
    except (asyncssh.ConfigParseError, OSError, UnicodeDecodeError, RuntimeError) as error:  # ~ of nobody, recursion
        raise HostError("config", address.name, quoted(f"SSH configuration {path}: {error}", 500)) from error
    return config


def agent_path(configured: object) -> str | None:
    """Return the socket of the SSH agent, or None when none is to be used."""
    if isinstance(configured, str) and configured.lower() == "none":
        return None
    if isinstance(configured, str) and configured and configured != "SSH_AUTH_SOCK":
        return expanded(os.path.expandvars(configured))
    return os.environ.get("SSH_AUTH_SOCK") or None


def existing(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the files that are there, each once; asyncssh would fail on a missing one."""
    found = dict.fromkeys(map(expanded, paths))
    return tuple(path for path in found if Path(path).is_file())


def expanded(path: str) -> str:
    """Return a path of a configuration; asyncssh, which fails where ~ is of nobody, is given none with ~."""
    found = from_home(path)
    return str(found.absolute() if path.startswith("~") else found)


def default_identities() -> tuple[str, ...]:
    """Return the key files that SSH tries by itself."""
    folder = from_home("~/.ssh")
    return tuple(str(folder / name) for name in DEFAULT_KEYS if (folder / name).is_file())


class Keyring:
    """Keys and known_hosts files, each read once, also when many hosts ask at the same time from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: dict[str, ClientKey | LockedKey | str] = {}
        self._certificates: dict[str, asyncssh.SSHCertificate | None] = {}
        self._known: dict[tuple[str, ...], asyncssh.SSHKnownHosts] = {}
        self._agents: dict[str, AgentKeys] = {}

    def client_keys(self, target: Resolved) -> tuple[list[ClientKey], list[LockedKey | str]]:
        """Return (keys, why the others cannot be used)."""
        loaded, certificates = self._identities(target)
        keys = [key for key in loaded if not isinstance(key, LockedKey | str)]
        paired = [pair for key in keys for pair in with_certificates(key, certificates)]
        return [*paired, *keys], [why for why in loaded if isinstance(why, LockedKey | str)]

    def locked(self, target: Resolved) -> tuple[list[LockedKeyPair], list[str]]:
        """Return the encrypted keys: (those that a server can be asked about, the paths of the others)."""
        loaded, certificates = self._identities(target)
        keys = [key for key in loaded if isinstance(key, LockedKey)]
        return [pair for key in keys for pair in locked_pairs(key, certificates)], [
            key.path for key in keys if key.public is None
        ]

    def unlock(self, path: str, passphrase: str) -> bool:
        """Decrypt a key file for all hosts; False when it is another passphrase."""
        key = unlock(path, passphrase)
        if key is None:
            return False
        with self._lock:
            self._keys[path] = key
        return True

    def is_locked(self, path: str) -> bool:
        """Whether a key file still waits for its passphrase."""
        with self._lock:
            return isinstance(self._key(path), LockedKey)

    def _identities(
        self, target: Resolved
    ) -> tuple[list[ClientKey | LockedKey | str], list[asyncssh.SSHCertificate | None]]:
        with self._lock:
            loaded = [self._key(path) for path in target.identities]
            return loaded, [self._certificate(path) for path in target.certificates]

    def known_hosts(self, target: Resolved) -> asyncssh.SSHKnownHosts:
        """Return the known hosts of a target's files."""
        files = target.known_hosts
        with self._lock:
            if files not in self._known:
                self._known[files] = read_known_hosts(target)
            return self._known[files]

    def trusted(self, target: Resolved) -> KnownKeys:
        """Return what is on file for a target. A hashed file costs milliseconds a host: call this off the loop."""
        return entries_of(target, self.known_hosts(target))

    def agent_keys(self, path: str) -> AgentKeys:
        """Return the keys of an SSH agent, asked once for all hosts."""
        return self._agents.setdefault(path, AgentKeys(path))

    def close(self) -> None:
        """Close the connections to SSH agents."""
        for agent in self._agents.values():
            agent.close()

    def _key(self, path: str) -> ClientKey | LockedKey | str:
        if path not in self._keys:
            self._keys[path] = load_key(path)
        return self._keys[path]

    def _certificate(self, path: str) -> asyncssh.SSHCertificate | None:
        if path not in self._certificates:
            try:
                self._certificates[path] = asyncssh.read_certificate(path)
            except (OSError, asyncssh.KeyImportError):
                self._certificates[path] = None
        return self._certificates[path]


class AgentKeys:
    """The keys of one SSH agent. An agent that cannot be reached has none."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._loading: asyncio.Task[list[asyncssh.SSHKeyPair]] | None = None
        self._client: asyncssh.SSHAgentClient | None = None

    async def of(self, target: Resolved) -> list[AgentKeyPair]:
        """Return the keys that a target may be offered: all, or with IdentitiesOnly those of its key files."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._load())
        keys = await asyncio.shield(self._loading)
        if target.identities_only:
            wanted = {key.public_data for path in target.identities if (key := public_half(path)) is not None}
            keys = [key for key in keys if key.public_data in wanted]
        return [AgentKeyPair.of(key) for key in keys]

    def close(self) -> None:
        """Close the connection to the agent."""
        if self._client is not None:
            self._client.close()

    async def _load(self) -> list[asyncssh.SSHKeyPair]:
        try:
            async with asyncio.timeout(AGENT_TIMEOUT_S):
                self._client = await asyncssh.connect_agent(self._path)
                return list(await self._client.get_keys())
        except (OSError, ValueError, TimeoutError, asyncssh.Error):
            return []


def read_known_hosts(target: Resolved) -> asyncssh.SSHKnownHosts:
    """Return the entries of a target's known_hosts files. Raises HostError."""
    try:
        return asyncssh.read_known_hosts(list(target.known_hosts))
    except (OSError, ValueError, asyncssh.Error) as error:
        raise HostError("config", target.name, f"known_hosts {', '.join(target.known_hosts)}: {error}") from error


def entries_of(target: Resolved, known: asyncssh.SSHKnownHosts) -> KnownKeys:
    """Return the known_hosts entries that speak of a target."""
    port = None if target.port == DEFAULT_PORT else target.port
    return asyncssh.match_known_hosts(known, target.known_name, literal_address(target.host), port)


def literal_address(host: str) -> str:
    """Return an IP address as it is, an empty text for a name."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return ""
    return host
