"""Options of ssh_config(5): parsing, tokens, and how benchtui treats each option."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tui.model.problem import did_you_mean

HONOURED = "honoured"
REFUSED = "refused"  # an error with file and line, unless the value is harmless
# without it benchtui is stricter than ssh: named if a connection fails for that reason
REPORTED = "reported"
IGNORED = "ignored"

AT_LOG_IN, AT_HOST_KEY = "login", "host key"  # the failures that report an option


class SshOption(NamedTuple):
    """One option.

    `kind`: flag, state (one of `choices`), number, time, port, word, words (first line wins), list
    (one entry per line), command (rest of the line), any (ignored). `harmless`: values of an
    unsupported option that have no effect. `when`: the kind of failure whose message mentions the
    option.
    """

    name: str
    fate: str
    why: str
    kind: str = "any"
    choices: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ("no",)
    when: str = AT_LOG_IN


def _honoured(name: str, kind: str, why: str = "", choices: tuple[str, ...] = ()) -> SshOption:
    return SshOption(name, HONOURED, why, kind, choices)


def _ignored(why: str, *names: str) -> list[SshOption]:
    return [SshOption(name, IGNORED, why) for name in names]


_YES_NO = ("yes", "no")
_CHECKING = ("yes", "no", "ask", "accept-new", "off")
_SESSION = "benchtui opens no interactive session"
_FORWARDS = "benchtui forwards nothing"
_AUTHENTICATION = "log in by key, certificate, SSH agent, password or keyboard-interactive"
_FEWER_KEYS = (
    "host keys must already be known: benchtui refuses unknown keys and never stores one without"
    " asking"
)

_ROWS: list[SshOption] = [
    _honoured("Host", "any", "patterns with `*`, `?` and `!`"),
    _honoured(
        "Match",
        "any",
        "all, canonical, final, host, originalhost, user, localuser, tagged, exec, version,"
        " sessiontype, command; localnetwork is refused",
    ),
    _honoured(
        "Include", "any", "relative names are in ~/.ssh (in /etc/ssh for /etc/ssh/ssh_config)"
    ),
    _honoured("AddressFamily", "state", choices=("any", "inet", "inet6")),
    _honoured("BatchMode", "flag", "yes: neither password nor keyboard-interactive"),
    _honoured("BindAddress", "word"),
    _honoured("CASignatureAlgorithms", "word", "algorithms supported by asyncssh"),
    _honoured("CertificateFile", "list"),
    _honoured("Ciphers", "word", "algorithms supported by asyncssh"),
    _honoured("ConnectTimeout", "time"),
    _honoured("GlobalKnownHostsFile", "words"),
    _honoured("HostKeyAlgorithms", "word", "algorithms supported by asyncssh"),
    _honoured("HostKeyAlias", "word"),
    _honoured("HostName", "word"),
    _honoured("IdentitiesOnly", "flag"),
    _honoured("IdentityAgent", "word"),
    _honoured("IdentityFile", "list"),
    _honoured("IgnoreUnknown", "word"),
    _honoured("KbdInteractiveAuthentication", "flag"),
    _honoured("KexAlgorithms", "word", "algorithms supported by asyncssh"),
    _honoured("MACs", "word", "algorithms supported by asyncssh"),
    _honoured("PasswordAuthentication", "flag"),
    _honoured("Port", "port"),
    _honoured("PreferredAuthentications", "word", "publickey, keyboard-interactive and password"),
    _honoured("ProxyCommand", "command", "run by $SHELL with `exec`, as ssh does"),
    _honoured("ProxyJump", "command", "one connection per bastion, for all hosts behind it"),
    _honoured("PubkeyAcceptedAlgorithms", "word", "algorithms supported by asyncssh"),
    _honoured("PubkeyAuthentication", "state", choices=(*_YES_NO, "unbound", "host-bound")),
    _honoured("RefuseConnection", "word"),
    _honoured("RevokedHostKeys", "words", "files of public keys; KRLs are not supported"),
    _honoured("Tag", "word"),
    _honoured("User", "word", "tokens as in OpenSSH 10"),
    _honoured("UserKnownHostsFile", "words"),
    SshOption(
        "BindInterface",
        REFUSED,
        "set BindAddress to an address of the interface",
        "word",
        harmless=("none",),
    ),
    SshOption(
        "CanonicalizeHostname",
        REFUSED,
        "write the full name in HostName",
        "state",
        (*_YES_NO, "always"),
    ),
    SshOption(
        "KnownHostsCommand",
        REFUSED,
        "write its output to a file and name that in UserKnownHostsFile",
        "command",
        harmless=("none",),
    ),
    SshOption("ProxyUseFdpass", REFUSED, "use a ProxyCommand that forwards the data", "flag"),
    SshOption(
        "RequiredRSASize",
        REFUSED,
        "list the keys to accept in HostKeyAlgorithms",
        "number",
        harmless=("1024",),
    ),
    SshOption(
        "StrictHostKeyChecking",
        REPORTED,
        _FEWER_KEYS,
        "state",
        _CHECKING,
        ("yes", "ask"),
        AT_HOST_KEY,
    ),
    SshOption("NoHostAuthenticationForLocalhost", REPORTED, _FEWER_KEYS, "flag", when=AT_HOST_KEY),
    SshOption(
        "VerifyHostKeyDNS",
        REPORTED,
        _FEWER_KEYS,
        "state",
        (*_YES_NO, "ask"),
        ("no", "ask"),
        AT_HOST_KEY,
    ),
    SshOption("GSSAPIAuthentication", REPORTED, _AUTHENTICATION, "flag"),
    SshOption("HostbasedAuthentication", REPORTED, _AUTHENTICATION, "flag"),
    SshOption(
        "PKCS11Provider",
        REPORTED,
        "load the token into an SSH agent: ssh-add -s",
        "word",
        harmless=("none",),
    ),
    SshOption(
        "SecurityKeyProvider",
        REPORTED,
        "load the key into an SSH agent: ssh-add",
        "word",
        harmless=("none", "internal"),
    ),
    *_ignored(
        _SESSION,
        "EnableEscapeCommandline",
        "EscapeChar",
        "ForkAfterAuthentication",
        "ObscureKeystrokeTiming",
        "RemoteCommand",
        "RequestTTY",
        "SendEnv",
        "SessionType",
        "SetEnv",
        "StdinNull",
        "VisualHostKey",
        "ChannelTimeout",
    ),
    *_ignored(
        _FORWARDS,
        "ClearAllForwardings",
        "DynamicForward",
        "ExitOnForwardFailure",
        "ForwardAgent",
        "ForwardX11",
        "ForwardX11Timeout",
        "ForwardX11Trusted",
        "GatewayPorts",
        "LocalForward",
        "PermitRemoteOpen",
        "RemoteForward",
        "StreamLocalBindMask",
        "StreamLocalBindUnlink",
        "Tunnel",
        "TunnelDevice",
        "XAuthLocation",
    ),
    *_ignored(
        "benchtui keeps one connection per host itself",
        "ControlMaster",
        "ControlPath",
        "ControlPersist",
        "TCPKeepAlive",
    ),
    *_ignored(
        "benchtui sends a keepalive every 2.5 s", "ServerAliveCountMax", "ServerAliveInterval"
    ),
    *_ignored("benchtui retries automatically", "ConnectionAttempts", "NumberOfPasswordPrompts"),
    *_ignored(
        "without CanonicalizeHostname it changes nothing",
        "CanonicalDomains",
        "CanonicalizeFallbackLocal",
        "CanonicalizeMaxDots",
        "CanonicalizePermittedCNAMEs",
    ),
    *_ignored(
        "benchtui runs no command on this machine after a login",
        "LocalCommand",
        "PermitLocalCommand",
    ),
    *_ignored(
        "benchtui prints its own messages",
        "FingerprintHash",
        "LogLevel",
        "LogVerbose",
        "SyslogFacility",
    ),
    *_ignored(
        "benchtui never writes to SSH's known_hosts files",
        "HashKnownHosts",
        "UpdateHostKeys",
        "CheckHostIP",
    ),
    *_ignored("benchtui never adds keys to an agent", "AddKeysToAgent", "UseKeychain"),
    *_ignored(
        "not configurable in asyncssh",
        "RekeyLimit",
        "IPQoS",
        "Compression",
        "VersionAddendum",
        "WarnWeakCrypto",
    ),
    *_ignored(
        "applies only to login methods that benchtui does not use",
        "EnableSSHKeysign",
        "HostbasedAcceptedAlgorithms",
        "KbdInteractiveDevices",
        "GSSAPIClientIdentity",
        "GSSAPIDelegateCredentials",
        "GSSAPIKexAlgorithms",
        "GSSAPIKeyExchange",
        "GSSAPIRenewalForcesRekey",
        "GSSAPIServerIdentity",
        "GSSAPITrustDNS",
    ),
    *_ignored(
        "OpenSSH ignores it too",
        "AFSTokenPassing",
        "Cipher",
        "CompressionLevel",
        "FallBackToRsh",
        "GlobalKnownHostsFile2",
        "KerberosAuthentication",
        "KerberosTGTPassing",
        "Protocol",
        "ProtocolKeepAlives",
        "RhostsAuthentication",
        "RhostsRSAAuthentication",
        "RSAAuthentication",
        "SetupTimeOut",
        "UseRoaming",
        "UsePrivilegedPort",
        "UseRsh",
        "UserKnownHostsFile2",
    ),
]

OPTIONS = {row.name.lower(): row for row in _ROWS}
ALIASES = {
    "challengeresponseauthentication": "kbdinteractiveauthentication",
    "dsaauthentication": "pubkeyauthentication",
    "hostbasedkeytypes": "hostbasedacceptedalgorithms",
    "identityfile2": "identityfile",
    "keepalive": "tcpkeepalive",
    "pubkeyacceptedkeytypes": "pubkeyacceptedalgorithms",
    "skeyauthentication": "kbdinteractiveauthentication",
    "smartcarddevice": "pkcs11provider",
    "tisauthentication": "kbdinteractiveauthentication",
}


Value = str | int | tuple[str, ...]
FLAGS = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}
TIME = re.compile(r"(\d+)([smhdw]?)", re.IGNORECASE)
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
LARGEST = (1 << 31) - 1
TOKEN = re.compile(r"%(.?)|\$\{([^}]*)(\}?)", re.DOTALL)


def read_value(option: SshOption, arguments: Sequence[str], rest: str) -> Value:
    """Parse the value on a line. Raises ValueError with the allowed values."""
    if option.kind == "any":
        return ""
    if option.kind == "command":
        return rest.lstrip(" \t\r\n=")
    if not arguments or "" in arguments:
        raise ValueError("has no value")
    if option.kind == "words":
        return _words(arguments)
    if len(arguments) > 1:
        raise ValueError(f"extra arguments at the end of the line: {' '.join(arguments[1:])}")
    return _READ.get(option.kind, _word)(arguments[0], option)


def _words(arguments: Sequence[str]) -> tuple[str, ...]:
    if any(word.lower() == "none" for word in arguments):
        if len(arguments) > 1:
            raise ValueError("`none` cannot be combined with other values")
        return ()
    return tuple(arguments)


def _word(text: str, _option: SshOption) -> str:
    return text


def _flag(text: str, _option: SshOption) -> str:
    if text.lower() not in FLAGS:
        raise ValueError(f"{text!r} is neither yes nor no")
    return FLAGS[text.lower()]


def _state(text: str, option: SshOption) -> str:
    value = FLAGS.get(text.lower(), text.lower()) if "yes" in option.choices else text.lower()
    if value not in option.choices:
        raise ValueError(
            f"{text!r} is not one of"
            f" {', '.join(option.choices)}{did_you_mean(value, option.choices)}"
        )
    return value


def _number(text: str, _option: SshOption) -> int:
    try:
        value = int(text) if len(text) < 12 else LARGEST + 1
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if abs(value) > LARGEST:
        raise ValueError(f"{text!r} is too large; expected at most {LARGEST}")
    return value


def _time(text: str, _option: SshOption) -> int:
    if text.lower() == "none":
        return 0
    parts = TIME.findall(text)
    if not parts or "".join(map("".join, parts)) != text or len(text) > 40:
        raise ValueError(f"{text!r} is not a time such as 30 or 1m30s")
    value = sum(int(number) * SECONDS[unit.lower()] for number, unit in parts)
    if value > LARGEST:
        raise ValueError(f"{text!r} is too long; expected at most {LARGEST} s")
    return value


def port_of(text: str) -> int:
    """Return a port given as a number or as a service name. Raises ValueError."""
    if text.isascii() and text.isdigit() and len(text) < 12:
        value = int(text)
    else:
        try:
            value = socket.getservbyname(text, "tcp")
        except (OSError, ValueError):
            value = 0
    if not 0 < value < 65536:
        raise ValueError(f"bad port {text!r}; expected 1 to 65535 or the name of a service")
    return value


def _port(text: str, _option: SshOption) -> int:
    return port_of(text)


_READ: dict[str, Callable[[str, SshOption], Value]] = {
    "flag": _flag,
    "state": _state,
    "number": _number,
    "time": _time,
    "port": _port,
}


def expand(
    text: str, tokens: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> str:
    """Return a text with %-tokens replaced, and ${NAME} if an environment is given.

    Raises ValueError.
    """

    def replaced(match: re.Match[str]) -> str:
        if match[1] is None:
            return _variable(match, environment)
        if match[1] == "%":
            return "%"
        if match[1] not in tokens:
            allowed = ", ".join(f"%{each}" for each in ("%", *sorted(tokens)))
            raise ValueError(f"unknown token %{match[1]} (allowed: {allowed})")
        return tokens[match[1]]

    return TOKEN.sub(replaced, text)


def _variable(match: re.Match[str], environment: Mapping[str, str] | None) -> str:
    if environment is None:
        return match[0]
    if not match[3] or match[2] not in environment:
        raise ValueError(
            f"environment variable {match[2]} is not set" if match[3] else "${ has no closing }"
        )
    return environment[match[2]]
