"""Resolve a host's SSH settings once; load keys and known_hosts files once for all hosts.

asyncssh would parse the configuration, every key and every known_hosts file again for each
connection, on the event loop: 40 s of CPU for 256 hosts with an RSA key.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from tui.model.address import HostAddress
from tui.model.operands import clause
from tui.model.paths import from_home
from tui.model.plain import printable
from tui.remote.answers import quoted
from tui.remote.keys import (
    AgentKeyPair,
    ClientKey,
    LockedKey,
    LockedKeyPair,
    accepted,
    load_key,
    locked_pairs,
    public_half,
    unlock,
    with_agent_certificates,
    with_certificates,
)
from tui.remote.ssh_library import algorithms_of, allowed_algorithms, asyncssh
from tui.remote.ssh_options import AT_HOST_KEY, AT_LOG_IN, port_of
from tui.remote.ssh_settings import DEFAULT_PORT, SYSTEM_FOLDER, ConfigSource, SshSettings
from tui.remote.sshfile import ConfigError, ConfigFiles
from tui.remote.transport import HostError

DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk")
USER_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
GLOBAL_KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
FAMILIES = {"any": socket.AF_UNSPEC, "inet": socket.AF_INET, "inet6": socket.AF_INET6}
JUMP = re.compile(r"(?:.+@)?(?:\[[^]]+\]|[^@:\s]+)(?::([^:]+))?")
METHODS = "publickey,keyboard-interactive,password"
AGENT_TIMEOUT_S = 5.0
KnownKeys = tuple[Sequence[Any], ...]  # trusted, authorities, revoked, then the same of X.509


class Resolved(Struct, frozen=True):
    """All settings needed to connect to one host."""

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
    proxy_command: str | None  # its tokens replaced
    # where the bastions are described as well; None: the files that ssh reads by itself
    config: Path | None = None
    algorithms: tuple[tuple[str, str], ...] = ()  # asyncssh's argument names and lists
    methods: str = METHODS
    revoked: tuple[str, ...] = ()  # files of host keys
    address_family: int = socket.AF_UNSPEC
    bind_address: str | None = None
    connect_timeout_s: float | None = None
    # options that benchtui leaves out, for the message of a failure
    ignored_at_log_in: tuple[str, ...] = ()
    ignored_at_host_key: tuple[str, ...] = ()
    key_algorithms: tuple[str, ...] = ()  # of the keys that are offered; none: of all
    authority_algorithms: tuple[str, ...] = ()  # that sign the certificates of hosts; none: all
    directory: Path | None = None  # where ProxyCommand is run; None: where this process is

    @property
    def known_name(self) -> str:
        """Name of the host in known_hosts."""
        return self.host_key_alias or self.host

    @property
    def place(self) -> str:
        """User, address, and the port if it is not 22, as printable text."""
        return printable(
            f"{self.user}@{self.host}" + (f":{self.port}" if self.port != DEFAULT_PORT else "")
        )

    @property
    def way(self) -> str:
        """`place`, followed by the bastions, as printable text."""
        return self.place + (printable(f" via {', '.join(self.jumps)}") if self.jumps else "")

    @property
    def algorithm_options(self) -> dict[str, Any]:
        """Algorithms as asyncssh's keyword arguments."""
        return dict(self.algorithms)

    @property
    def local(self) -> dict[str, Any]:
        """AddressFamily and BindAddress as asyncssh's keyword arguments."""
        address = (self.bind_address, 0) if self.bind_address else None
        return {"family": self.address_family, **({"local_addr": address} if address else {})}


def sources_of(config_path: Path | None) -> list[ConfigSource]:
    """Return the configuration files to read: only the named one, or those that ssh reads."""
    if config_path is not None:
        return [ConfigSource(config_path)]
    found = [
        ConfigSource(from_home("~/.ssh/config"), checked=True),
        ConfigSource(SYSTEM_FOLDER / "ssh_config", of_user=False),
    ]
    return [source for source in found if source.path.is_file()]


def resolve(
    address: HostAddress,
    config_path: Path | None,
    pins: Sequence[Path],
    files: ConfigFiles | None = None,
    directory: Path | None = None,
) -> Resolved:
    """Return the settings for connecting to a host: explicit values, then the configuration, then
    ssh's defaults.

    Without a path, reads the user's and the system's files, as ssh does. Relative file names in
    options refer to `directory`, by default the working directory. Raises HostError for unusable
    settings.
    """
    sources = sources_of(config_path)
    try:
        settings = read_settings(address, sources, files or ConfigFiles(), directory)
        return resolved(address, settings, config_path, pins)
    except (ValueError, OSError, RuntimeError) as error:  # ~ of an unknown user
        files_read = [str(each.path) for each in sources] if isinstance(error, OSError) else []
        told = clause("ssh-configuration", files=files_read, quote=quoted(str(error), 500))
        raise HostError("config", address.name, told) from error


def read_settings(
    address: HostAddress,
    sources: Sequence[ConfigSource],
    files: ConfigFiles,
    directory: Path | None = None,
) -> SshSettings:
    """Return the settings of one host. Raises ValueError or OSError."""
    given = {"hostname": address.address, "port": address.port, "user": address.user}
    named = {name: value for name, value in given.items() if value}
    settings = SshSettings(address.alias or address.name, files, named, directory)
    settings.read(sources)
    settings.expand_user()
    return settings


def resolved(
    address: HostAddress, settings: SshSettings, config_path: Path | None, pins: Sequence[Path]
) -> Resolved:
    """Build a host's connection settings from its SSH options. Raises ConfigError."""
    known = settings.words("userknownhostsfile")
    own = [
        settings.file("userknownhostsfile", path)
        for path in (USER_KNOWN_HOSTS if known is None else known)
    ]
    common = settings.words("globalknownhostsfile")
    everybodys = map(settings.absolute, GLOBAL_KNOWN_HOSTS if common is None else common)
    return Resolved(
        name=address.name,
        host=settings.hostname,
        port=settings.number("port", DEFAULT_PORT),
        user=settings.user,
        identities=identities_of(address, settings),
        certificates=paths_of(settings, "certificatefile") or (),
        identities_only=settings.text("identitiesonly") == "yes",
        agent=agent_path(settings),
        known_hosts=existing([*own, *everybodys, *map(str, pins)]),
        host_key_alias=settings.text("hostkeyalias") or None,
        jumps=jumps_of(settings),
        proxy_command=settings.command("proxycommand"),
        config=config_path,
        algorithms=tuple(algorithms_of(settings)),
        methods=methods_of(settings),
        revoked=tuple(
            settings.file("revokedhostkeys", path)
            for path in settings.words("revokedhostkeys") or ()
        ),
        address_family=FAMILIES[settings.text("addressfamily", "any")],
        bind_address=settings.text("bindaddress") or None,
        connect_timeout_s=settings.number("connecttimeout", 0) or None,
        ignored_at_log_in=(*settings.ignored_options(AT_LOG_IN), *narrowed(settings)),
        ignored_at_host_key=tuple(settings.ignored_options(AT_HOST_KEY)),
        key_algorithms=allowed_algorithms(settings, "pubkeyacceptedalgorithms"),
        authority_algorithms=allowed_algorithms(settings, "casignaturealgorithms"),
        directory=settings.directory,
    )


def narrowed(settings: SshSettings) -> list[str]:
    """Return a note that PubkeyAcceptedAlgorithms may be why a key was not offered; empty if the
    option is not set.
    """
    name = "pubkeyacceptedalgorithms"
    place = settings.at(name)
    return (
        [f"keys that PubkeyAcceptedAlgorithms{place} does not list"]
        if allowed_algorithms(settings, name)
        else []
    )


def jumps_of(settings: SshSettings) -> tuple[str, ...]:
    """Return the bastions of ProxyJump as [USER@]HOST[:PORT]. Raises ConfigError."""
    text = settings.command("proxyjump")
    words = (
        [word.strip().removeprefix("ssh://").rstrip("/") for word in text.split(",")]
        if text
        else []
    )
    for word in words:
        if not is_jump(word):
            raise ConfigError(
                f"ProxyJump{settings.at('proxyjump')}: {word!r} is not [USER@]HOST[:PORT]"
            )
    return tuple(words)


def is_jump(word: str) -> bool:
    """Return whether a word is [USER@]HOST[:PORT]."""
    match = JUMP.fullmatch(word)
    try:
        return match is not None and port_of(match[1] or "22") > 0
    except ValueError:
        return False


def identities_of(address: HostAddress, settings: SshSettings) -> tuple[str, ...]:
    """Return the key files to try: the host's own, the configuration's, or ssh's defaults."""
    if address.identity:
        return (settings.absolute(address.identity),)
    found = paths_of(settings, "identityfile")
    return default_identities() if found is None else found


def paths_of(settings: SshSettings, name: str) -> tuple[str, ...] | None:
    """Return the files of an option, without `none`; None if the option is not set.

    Raises ConfigError.
    """
    words = settings.words(name)
    if words is None:
        return None
    return tuple(settings.file(name, word) for word in words if word.lower() != "none")


def agent_path(settings: SshSettings) -> str | None:
    """Return the socket of the SSH agent; None if no agent is used. Raises ConfigError."""
    configured = settings.text("identityagent", "SSH_AUTH_SOCK")
    if configured.lower() == "none":
        return None
    if configured == "SSH_AUTH_SOCK":
        return os.environ.get("SSH_AUTH_SOCK") or None
    if configured.startswith("$") and not configured.startswith("${"):
        return os.environ.get(configured[1:]) or None
    return settings.file("identityagent", configured)


def methods_of(settings: SshSettings) -> str:
    """Return the permitted login methods, in order. Raises ConfigError if there is none."""
    preferred = settings.text("preferredauthentications", METHODS).split(",")
    batch = settings.text("batchmode") == "yes"
    off = {
        "publickey": settings.text("pubkeyauthentication") == "no",
        "keyboard-interactive": batch or settings.text("kbdinteractiveauthentication") == "no",
        "password": batch or settings.text("passwordauthentication") == "no",
    }
    left = [method for method in preferred if not off.get(method, True)]
    if not left:
        raise ConfigError(
            "no login method is enabled"
            f"{settings.at('preferredauthentications')}; benchtui supports {METHODS}"
        )
    return ",".join(left)


def existing(paths: Sequence[str]) -> tuple[str, ...]:
    """Return existing files without duplicates; asyncssh would fail on a missing one."""
    return tuple(path for path in dict.fromkeys(paths) if Path(path).is_file())


def default_identities() -> tuple[str, ...]:
    """Return the existing key files among those that ssh tries by default."""
    folder = from_home("~/.ssh")
    return tuple(str(folder / name) for name in DEFAULT_KEYS if (folder / name).is_file())


class Keyring:
    """Keys and known_hosts files, each read once; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: dict[str, ClientKey | LockedKey | str] = {}
        self._certificates: dict[str, asyncssh.SSHCertificate | None] = {}
        self._known: dict[tuple[str, ...], asyncssh.SSHKnownHosts] = {}
        self._revoked_keys: dict[str, list[asyncssh.SSHKey]] = {}
        self._agents: dict[str, AgentKeys] = {}

    def client_keys(
        self, target: Resolved
    ) -> tuple[list[asyncssh.SSHKeyPair], list[LockedKey | str]]:
        """Return usable keys and certificates in the order offered, and the reasons why other key
        files are unusable.
        """
        loaded, certificates = self._identities(target)
        keys = [key for key in loaded if not isinstance(key, LockedKey | str)]
        paired = [pair for key in keys for pair in with_certificates(key, certificates)]
        unusable = [why for why in loaded if isinstance(why, LockedKey | str)]
        offered = {pair.public_data: pair for pair in asyncssh.load_keypairs([*paired, *keys])}
        return accepted([*offered.values()], target.key_algorithms), unusable

    def locked(self, target: Resolved) -> tuple[list[LockedKeyPair], list[str]]:
        """Return encrypted keys that can be offered to a server, and the paths of those without a
        public half.
        """
        loaded, certificates = self._identities(target)
        keys = [key for key in loaded if isinstance(key, LockedKey)]
        pairs = [pair for key in keys for pair in locked_pairs(key, certificates)]
        return accepted(pairs, target.key_algorithms), [
            key.path for key in keys if key.public is None
        ]

    def unlock(self, path: str, passphrase: str) -> bool:
        """Decrypt a key file for all hosts; return False if the passphrase is wrong."""
        key = unlock(path, passphrase)
        if key is None:
            return False
        with self._lock:
            self._keys[path] = key
        return True

    def is_locked(self, path: str) -> bool:
        """Return whether a key file is still encrypted."""
        with self._lock:
            return isinstance(self._key(path), LockedKey)

    def _identities(
        self, target: Resolved
    ) -> tuple[list[ClientKey | LockedKey | str], list[asyncssh.SSHCertificate | None]]:
        with self._lock:
            loaded = [self._key(path) for path in target.identities]
            return loaded, [self._certificate(path) for path in target.certificates]

    def known_hosts(self, target: Resolved) -> asyncssh.SSHKnownHosts:
        """Return the entries of a target's known_hosts files."""
        files = (*target.known_hosts, *target.revoked)
        with self._lock:
            if files not in self._known:
                self._known[files] = read_known_hosts(target)
            return self._known[files]

    def certificates(self, target: Resolved) -> list[asyncssh.SSHCertificate | None]:
        """Return the certificates in CertificateFile and those next to key files, for use with an
        agent's keys.
        """
        with self._lock:
            return [
                self._certificate(path)
                for path in (*target.certificates, *map(beside, target.identities))
            ]

    def trusted(self, target: Resolved) -> KnownKeys:
        """Return the known_hosts entries that apply to a target.

        A file with hashed names takes milliseconds per host, so call this in a thread.
        """
        kept = entries_of(target, self.known_hosts(target))
        authorities = accepted(kept[1], target.authority_algorithms)
        return (kept[0], authorities, [*kept[2], *self._revoked(target)], *kept[3:])

    def _revoked(self, target: Resolved) -> list[asyncssh.SSHKey]:
        with self._lock:
            for path in target.revoked:
                if path not in self._revoked_keys:
                    self._revoked_keys[path] = read_revoked(target, path)
            return [key for path in target.revoked for key in self._revoked_keys[path]]

    def agent_keys(self, path: str) -> AgentKeys:
        """Return the keys of an SSH agent, which is asked once for all hosts."""
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
    """Keys of one SSH agent; empty if the agent cannot be reached."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._loading: asyncio.Task[list[asyncssh.SSHKeyPair]] | None = None
        self._client: asyncssh.SSHAgentClient | None = None

    async def of(
        self, target: Resolved, certificates: Sequence[asyncssh.SSHCertificate | None] = ()
    ) -> list[AgentKeyPair]:
        """Return the keys to offer to a target: all, or with IdentitiesOnly only those of its key
        files.

        A key with a certificate is offered with it first.
        """
        if self._loading is None:
            self._loading = asyncio.create_task(self._load())
        keys = await asyncio.shield(self._loading)
        if target.identities_only:
            wanted = {
                key.public_data
                for path in target.identities
                if (key := public_half(path)) is not None
            }
            keys = [key for key in keys if key.public_data in wanted]
        made = [each for key in keys for each in with_agent_certificates(key, certificates)]
        return accepted(made, target.key_algorithms)

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


def beside(key: str) -> str:
    """Return the name of the certificate file that belongs to a key file."""
    return f"{key}-cert.pub"


def read_known_hosts(target: Resolved) -> asyncssh.SSHKnownHosts:
    """Read a target's known_hosts files. Raises HostError."""
    try:
        return asyncssh.read_known_hosts(list(target.known_hosts))
    except (OSError, ValueError, asyncssh.Error) as error:
        told = clause("known-hosts", files=list(target.known_hosts), quote=str(error))
        raise HostError("config", target.name, told) from error


def read_revoked(target: Resolved, path: str) -> list[asyncssh.SSHKey]:
    """Read the keys in a RevokedHostKeys file.

    Raises HostError if it is unreadable, in which case ssh also refuses all hosts.
    """
    try:
        return list(asyncssh.read_public_key_list(path))
    except (OSError, ValueError, asyncssh.Error) as error:
        told = clause("revoked-host-keys", path=path, quote=str(error))
        raise HostError("config", target.name, told) from error


def entries_of(target: Resolved, known: asyncssh.SSHKnownHosts) -> KnownKeys:
    """Return the known_hosts entries that match a target."""
    port = None if target.port == DEFAULT_PORT else target.port
    return asyncssh.match_known_hosts(known, target.known_name, literal_address(target.host), port)


def literal_address(host: str) -> str:
    """Return an IP address unchanged; empty for a host name."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return ""
    return host
