"""Every option of ssh_config(5): how its value is read, and what benchtui makes of it.

The names are those of OpenSSH 10.5 and 9.2, with what Debian and Apple add. docs/reference/ssh-config.md is made from
this table, and a test compares it with what `ssh -G` prints.
"""

from __future__ import annotations

from typing import NamedTuple

HONOURED = "honoured"
REFUSED = "refused"  # an error that names file and line, unless the value asks for nothing
TOLD = "told"  # without it benchtui is stricter than ssh: named when a connection fails for that reason
IGNORED = "ignored"

AT_LOG_IN, AT_HOST_KEY = "log-in", "host key"  # the failures that name an option that is told


class Option(NamedTuple):
    """One option.

    kind: flag, state (one of `choices`), number, time, port, word, words (the first line that sets it wins), list (an
    entry a line), command (the rest of the line), any (not looked at).
    harmless: values of a refused or told option that ask for nothing benchtui does not do.
    when: the failure that names a told option.
    """

    name: str
    fate: str
    why: str
    kind: str = "any"
    choices: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ("no",)
    when: str = AT_LOG_IN


def _honoured(name: str, kind: str, why: str = "", choices: tuple[str, ...] = ()) -> Option:
    return Option(name, HONOURED, why, kind, choices)


def _ignored(why: str, *names: str) -> list[Option]:
    return [Option(name, IGNORED, why) for name in names]


_YES_NO = ("yes", "no")
_CHECKING = ("yes", "no", "ask", "accept-new", "off")
_SESSION = "benchtui opens no interactive session"
_FORWARDS = "benchtui forwards nothing"
_AUTHENTICATION = "log in by key, certificate, SSH agent, password or keyboard-interactive"
_FEWER_KEYS = "a key must be on file: unknown keys are refused, never stored without a question"

_ROWS: list[Option] = [
    _honoured("Host", "any", "patterns with `*`, `?` and `!`"),
    _honoured(
        "Match",
        "any",
        "all, canonical, final, host, originalhost, user, localuser, tagged, exec, version, sessiontype, command; "
        "localnetwork is refused",
    ),
    _honoured("Include", "any", "relative names are in ~/.ssh (of /etc/ssh/ssh_config: in /etc/ssh)"),
    _honoured("AddressFamily", "state", choices=("any", "inet", "inet6")),
    _honoured("BatchMode", "flag", "yes: no password and no keyboard-interactive"),
    _honoured("BindAddress", "word"),
    _honoured("CASignatureAlgorithms", "word", "algorithms that asyncssh has"),
    _honoured("CertificateFile", "list"),
    _honoured("Ciphers", "word", "algorithms that asyncssh has"),
    _honoured("ConnectTimeout", "time"),
    _honoured("GlobalKnownHostsFile", "words"),
    _honoured("HostKeyAlgorithms", "word", "algorithms that asyncssh has"),
    _honoured("HostKeyAlias", "word"),
    _honoured("HostName", "word"),
    _honoured("IdentitiesOnly", "flag"),
    _honoured("IdentityAgent", "word"),
    _honoured("IdentityFile", "list"),
    _honoured("IgnoreUnknown", "word"),
    _honoured("KbdInteractiveAuthentication", "flag"),
    _honoured("KexAlgorithms", "word", "algorithms that asyncssh has"),
    _honoured("MACs", "word", "algorithms that asyncssh has"),
    _honoured("PasswordAuthentication", "flag"),
    _honoured("Port", "port"),
    _honoured("PreferredAuthentications", "word", "of publickey, keyboard-interactive and password"),
    _honoured("ProxyCommand", "command", "run by $SHELL with `exec`, as ssh does"),
    _honoured("ProxyJump", "command", "each bastion is connected to once for all hosts behind it"),
    _honoured("PubkeyAcceptedAlgorithms", "word", "algorithms that asyncssh has"),
    _honoured("PubkeyAuthentication", "state", choices=(*_YES_NO, "unbound", "host-bound")),
    _honoured("RefuseConnection", "word"),
    _honoured("RevokedHostKeys", "words", "files of public keys; a KRL is refused"),
    _honoured("Tag", "word"),
    _honoured("User", "word", "tokens as of OpenSSH 10"),
    _honoured("UserKnownHostsFile", "words"),
    Option("BindInterface", REFUSED, "set BindAddress to an address of the interface", "word", harmless=("none",)),
    Option(
        "CanonicalizeHostname",
        REFUSED,
        "write the full name in HostName",
        "state",
        (*_YES_NO, "always"),
    ),
    Option(
        "KnownHostsCommand",
        REFUSED,
        "write its output to a file and name that in UserKnownHostsFile",
        "command",
        harmless=("none",),
    ),
    Option("ProxyUseFdpass", REFUSED, "use a ProxyCommand that passes the data on", "flag"),
    Option("RequiredRSASize", REFUSED, "list the keys to accept in HostKeyAlgorithms", "number", harmless=("1024",)),
    Option("StrictHostKeyChecking", TOLD, _FEWER_KEYS, "state", _CHECKING, ("yes", "ask"), AT_HOST_KEY),
    Option("NoHostAuthenticationForLocalhost", TOLD, _FEWER_KEYS, "flag", when=AT_HOST_KEY),
    Option("VerifyHostKeyDNS", TOLD, _FEWER_KEYS, "state", (*_YES_NO, "ask"), ("no", "ask"), AT_HOST_KEY),
    Option("GSSAPIAuthentication", TOLD, _AUTHENTICATION, "flag"),
    Option("HostbasedAuthentication", TOLD, _AUTHENTICATION, "flag"),
    Option("PKCS11Provider", TOLD, "load the token into an SSH agent: ssh-add -s", "word", harmless=("none",)),
    Option(
        "SecurityKeyProvider",
        TOLD,
        "load the key into an SSH agent: ssh-add",
        "word",
        harmless=("none", "internal"),
    ),
    *_ignored(
        _SESSION,
        *(
            "EnableEscapeCommandline",
            "EscapeChar",
            "ForkAfterAuthentication",
            "ObscureKeystrokeTiming",
            "RemoteCommand",
        ),
        *("RequestTTY", "SendEnv", "SessionType", "SetEnv", "StdinNull", "VisualHostKey", "ChannelTimeout"),
    ),
    *_ignored(
        _FORWARDS,
        *("ClearAllForwardings", "DynamicForward", "ExitOnForwardFailure", "ForwardAgent", "ForwardX11"),
        *("ForwardX11Timeout", "ForwardX11Trusted", "GatewayPorts", "LocalForward", "PermitRemoteOpen"),
        *("RemoteForward", "StreamLocalBindMask", "StreamLocalBindUnlink", "Tunnel", "TunnelDevice", "XAuthLocation"),
    ),
    *_ignored(
        "benchtui keeps one connection per host itself",
        "ControlMaster",
        "ControlPath",
        "ControlPersist",
        "TCPKeepAlive",
    ),
    *_ignored("benchtui sends a keepalive every 2.5 s", "ServerAliveCountMax", "ServerAliveInterval"),
    *_ignored("benchtui tries again itself", "ConnectionAttempts", "NumberOfPasswordPrompts"),
    *_ignored("without CanonicalizeHostname it changes nothing", "CanonicalDomains", "CanonicalizeFallbackLocal"),
    *_ignored("without CanonicalizeHostname it changes nothing", "CanonicalizeMaxDots", "CanonicalizePermittedCNAMEs"),
    *_ignored("no command runs on this machine after a log-in", "LocalCommand", "PermitLocalCommand"),
    *_ignored("benchtui has its own messages", "FingerprintHash", "LogLevel", "LogVerbose", "SyslogFacility"),
    *_ignored("benchtui never writes to known_hosts files of SSH", "HashKnownHosts", "UpdateHostKeys", "CheckHostIP"),
    *_ignored("benchtui never adds keys to an agent", "AddKeysToAgent", "UseKeychain"),
    *_ignored("asyncssh has its own limits", "RekeyLimit", "IPQoS", "Compression", "VersionAddendum", "WarnWeakCrypto"),
    *_ignored("for the way of logging in that it belongs to", "EnableSSHKeysign", "HostbasedAcceptedAlgorithms"),
    *_ignored("for the way of logging in that it belongs to", "KbdInteractiveDevices", "GSSAPIClientIdentity"),
    *_ignored("for the way of logging in that it belongs to", "GSSAPIDelegateCredentials", "GSSAPIKexAlgorithms"),
    *_ignored("for the way of logging in that it belongs to", "GSSAPIKeyExchange", "GSSAPIRenewalForcesRekey"),
    *_ignored("for the way of logging in that it belongs to", "GSSAPIServerIdentity", "GSSAPITrustDNS"),
    *_ignored(
        "OpenSSH ignores it too",
        *("AFSTokenPassing", "Cipher", "CompressionLevel", "FallBackToRsh", "GlobalKnownHostsFile2"),
        *("KerberosAuthentication", "KerberosTGTPassing", "Protocol", "ProtocolKeepAlives", "RhostsAuthentication"),
        *("RhostsRSAAuthentication", "RSAAuthentication", "SetupTimeOut", "UseRoaming", "UsePrivilegedPort", "UseRsh"),
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
