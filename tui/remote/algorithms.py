"""Algorithms of SSH: what a configuration asks for, as far as asyncssh has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tui.remote.ssh_library import ALGORITHMS
from tui.remote.ssh_match import matches
from tui.remote.ssh_settings import Settings
from tui.remote.sshfile import ConfigError

# Measured on 256 hosts: curve25519 and AES-GCM cost the least CPU. The rest of asyncssh's own lists follows.
FAST = {
    "kexalgorithms": "^curve25519-sha256,curve25519-sha256@libssh.org",
    "ciphers": "^aes128-gcm@openssh.com,aes256-gcm@openssh.com",
}
CERTIFICATE = "-cert-v01@openssh.com"
ARGUMENTS = {
    "kexalgorithms": "kex_algs",
    "ciphers": "encryption_algs",
    "macs": "mac_algs",
    "hostkeyalgorithms": "server_host_key_algs",
}


def algorithms_of(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield asyncssh's argument names and lists. Raises ConfigError when a list names nothing that asyncssh has."""
    for option, argument in ARGUMENTS.items():
        asked = settings.text(option)
        listed = known_part(asked, ALGORITHMS[option]) if asked else FAST.get(option, "")
        if asked and not listed and asked[0] not in "+-^":
            raise ConfigError(f"{option}{settings.at(option)}: asyncssh has none of {asked}")
        if listed or option in FAST:
            yield argument, listed or FAST[option]
    accepted = left_of(settings, "pubkeyacceptedalgorithms")
    if accepted:
        yield "signature_algs", ",".join(dict.fromkeys(map(signature_of, accepted)))


def left_of(settings: Settings, option: str) -> tuple[str, ...]:
    """Return which of asyncssh's algorithms an option leaves; none when nothing sets it. Raises ConfigError."""
    asked = settings.text(option)
    if not asked:
        return ()
    sign, words = (asked[0], asked[1:].split(",")) if asked[0] in "+-^" else ("", asked.split(","))
    names = [name.decode() for name in ALGORITHMS[option]()]
    if sign in ("+", "^"):  # added to ssh's own, all of which asyncssh has
        return tuple(names)
    left = tuple(name for name in names if any(matches(name, word) for word in words) == (sign == ""))
    if not left:
        raise ConfigError(f"{option}{settings.at(option)}: asyncssh has none of {asked}")
    return left


def signature_of(algorithm: str) -> str:
    """Return the algorithm that a key signs with, of a certificate's the key's own."""
    return algorithm.replace(CERTIFICATE, "@openssh.com" if algorithm.startswith("sk-") else "")


def known_part(asked: str, known: Callable[[], Sequence[bytes]]) -> str:
    """Return a list without the names and patterns that asyncssh would refuse because it knows none of them."""
    sign = asked[0] if asked[0] in "+-^" else ""
    names = [name.decode() for name in known()]
    kept = [word for word in asked[len(sign) :].split(",") if any(matches(name, word) for name in names)]
    return f"{sign}{','.join(kept)}" if kept else ""
