"""`benchtui doctor`: check this jump host, including its SSH setup. Contacts no host."""

from __future__ import annotations

import argparse
import asyncio
import base64
import binascii
import json
import re
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from tui.cli import doctor_checks
from tui.cli.doctor_checks import DoctorCheck, Status, Surroundings, sources
from tui.cli.shared.arguments import wants_colour
from tui.engine.preflight.logout import agent_may_go
from tui.metrics.units import plural
from tui.model.bounded import MOST_DOCUMENT_BYTES, MOST_SMALL_BYTES, read_text
from tui.model.plain import printable, some
from tui.text.run_texts import FORWARDED

AGENT_DEADLINE_S = 3.0
NAMED_KEYS = 3
NOT_FOLLOWED = ("StrictHostKeyChecking", "KnownHostsCommand")  # no such directive in asyncssh
MAGIC = b"openssh-key-v1\0"


def ssh_config(surroundings: Surroundings) -> DoctorCheck:
    """Check that the SSH configuration is readable, and that only the user may write to it."""
    path = surroundings.ssh_config
    shown = surroundings.short(path)
    if not path.exists() and surroundings.settings.ssh_config:
        return DoctorCheck(
            "ssh config",
            "fail",
            f"{shown} (set in benchtui config) does not exist",
            "benchtui config unset ssh_config",
        )
    if not path.exists():
        return DoctorCheck(
            "ssh config", "ok", "none: benchtui connects to hosts by the names you type"
        )
    try:
        text = read_text(path, MOST_SMALL_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        return DoctorCheck(
            "ssh config", "warn", f"{shown} cannot be read: {reason(error)}", f"check {path}"
        )
    if stat.S_IMODE(path.stat().st_mode) & 0o022:
        return DoctorCheck(
            "ssh config", "warn", f"{shown} is writable by other users", f"chmod 600 {path}"
        )
    ignored = [
        word
        for word in NOT_FOLLOWED
        if re.search(rf"^\s*{word}\b", text, re.MULTILINE | re.IGNORECASE)
    ]
    note = f"; ignored: {', '.join(ignored)}" if ignored else ""
    return DoctorCheck(
        "ssh config", "ok", f"{shown}, {plural(named_hosts(text), 'named host')}{note}"
    )


def reason(error: OSError | UnicodeDecodeError) -> str:
    """Return why a file cannot be read."""
    return str(error.strerror) if isinstance(error, OSError) else f"byte {error.start} is not UTF-8"


def named_hosts(text: str) -> int:
    """Return the number of names on Host lines, without patterns."""
    lines = re.findall(r"^\s*Host[\s=]+(.+)$", text, re.MULTILINE | re.IGNORECASE)
    return sum(1 for line in lines for name in line.split() if not re.search(r"[*?!]", name))


def ssh_login(surroundings: Surroundings) -> DoctorCheck:
    """Check for a key to log in with: in the SSH agent, or in a file without a passphrase."""
    socket = surroundings.environ.get("SSH_AUTH_SOCK")
    held = asyncio.run(agent_keys(socket)) if socket else None
    files = private_keys(surroundings.home / ".ssh")
    files += [path for path in named_keys(surroundings) if path not in files]
    exposed = [path for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077]
    if exposed:
        return DoctorCheck(
            "ssh keys", "warn", f"{exposed[0]} is open to other users", f"chmod 600 {exposed[0]}"
        )
    locked = [path for path in files if needs_passphrase(path)]
    message = "; ".join(
        (agent_text(socket, held), files_text([surroundings.short(path) for path in files], locked))
    )
    if held and agent_may_go(surroundings.environ):
        return DoctorCheck("ssh keys", "warn", f"{message}; {FORWARDED[0]}", FORWARDED[1])
    if held or len(files) > len(locked):
        return DoctorCheck("ssh keys", "ok", message)
    create = "ssh-keygen, then ssh-copy-id HOST; or set IdentityFile"
    return DoctorCheck(
        "ssh keys", "warn", message, "eval $(ssh-agent); ssh-add" if locked else create
    )


def agent_text(socket: str | None, held: int | None) -> str:
    """Return the state of the SSH agent as text; `held`: number of its keys."""
    if socket is None:
        return "no agent (SSH_AUTH_SOCK is not set)"
    return (
        f"the agent at {socket} does not answer"
        if held is None
        else f"agent with {plural(held, 'key')}"
    )


def files_text(files: list[str], locked: list[Path]) -> str:
    """Return which key files exist, and which need a passphrase, as text."""
    if not files:
        return "no key in ~/.ssh, no IdentityFile in the ssh config"
    passphrase = f" ({len(locked)} with a passphrase)" if locked else ""
    return f"{some(files, NAMED_KEYS)}{passphrase}"


async def agent_keys(socket: str) -> int | None:
    """Return how many keys the SSH agent has; None if it does not answer."""
    from tui.remote.ssh_library import asyncssh

    try:
        async with asyncio.timeout(AGENT_DEADLINE_S), asyncssh.connect_agent(socket) as agent:
            return len(await agent.get_keys())
    except (OSError, ValueError, TimeoutError, asyncssh.Error):
        return None


def private_keys(folder: Path) -> list[Path]:
    """Return the private keys with default names."""
    from tui.remote.sshconfig import DEFAULT_KEYS

    return [folder / name for name in DEFAULT_KEYS if (folder / name).is_file()]


def named_keys(surroundings: Surroundings) -> list[Path]:
    """Return the existing key files that IdentityFile lines name."""
    home = surroundings.home
    try:
        text = read_text(surroundings.ssh_config, MOST_SMALL_BYTES)
    except (OSError, UnicodeDecodeError):
        return []  # reported by the check of the configuration
    pairs = (re.split(r"[\s=]+", line.strip(), maxsplit=1) for line in text.splitlines())
    named = [
        pair[1].strip('"') for pair in pairs if len(pair) == 2 and pair[0].lower() == "identityfile"
    ]
    paths = (
        home / name[2:] if name.startswith("~/") else Path(name) for name in dict.fromkeys(named)
    )
    return [path for path in paths if path.is_absolute() and path.is_file()]


def needs_passphrase(path: Path) -> bool:
    """Return whether a private key file is encrypted.

    The PEM header says so or, in OpenSSH's format, the cipher name after the magic (PROTOCOL.key).
    """
    try:
        text = read_text(path, encoding="ascii", errors="replace")
    except OSError:
        return True
    if "ENCRYPTED" in text:
        return True
    try:
        blob = base64.b64decode(
            "".join(line for line in text.splitlines() if not line.startswith("-----"))
        )
    except (binascii.Error, ValueError):
        return False
    return blob.startswith(MAGIC) and not blob[len(MAGIC) :].startswith(b"\0\0\0\x04none")


def known_hosts(surroundings: Surroundings) -> DoctorCheck:
    """Check for known host keys. Connections to hosts with an unknown key are refused."""
    own = surroundings.paths.known_hosts
    files = (surroundings.home / ".ssh" / "known_hosts", own, Path("/etc/ssh/ssh_known_hosts"))
    counts = {path: entries(path) for path in files}
    found = [f"{number} in {surroundings.short(path)}" for path, number in counts.items() if number]
    if not found:
        return DoctorCheck(
            "host keys",
            "warn",
            "no known hosts: benchtui would refuse to connect",
            "benchtui hosts trust HOST ...",
        )
    return DoctorCheck("host keys", "ok", ", ".join(found))


def entries(path: Path) -> int:
    """Return the number of keys in a known_hosts file."""
    try:
        lines = read_text(path, MOST_DOCUMENT_BYTES, errors="replace").splitlines()
    except OSError:
        return 0
    return sum(1 for line in lines if line.strip() and not line.lstrip().startswith("#"))


SCHEMA = "benchtui.doctor/1"
CHECKS: tuple[Callable[[Surroundings], DoctorCheck], ...] = (
    *(
        doctor_checks.python,
        doctor_checks.version,
        doctor_checks.config,
        doctor_checks.settings,
        doctor_checks.inventory,
    ),
    *(doctor_checks.data, doctor_checks.space, doctor_checks.runs, doctor_checks.shared),
    *(
        sources,
        ssh_config,
        ssh_login,
        known_hosts,
        doctor_checks.open_files,
        doctor_checks.load_generator,
    ),
    *(
        doctor_checks.terminal,
        doctor_checks.characters,
        doctor_checks.tmux,
        doctor_checks.editor,
        doctor_checks.logout,
    ),
)
SYMBOLS: dict[Status, str] = {"ok": "✓", "warn": "!", "fail": "✗"}
ASCII_SYMBOLS: dict[Status, str] = {"ok": "+", "warn": "!", "fail": "x"}
COLOURS: dict[Status, str] = {"ok": "32", "warn": "33", "fail": "31"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def main(args: argparse.Namespace) -> int:
    """Run the checks; return 1 if a check that every run depends on fails."""
    checks = examine(Surroundings.here())
    failed = any(check.status == "fail" for check in checks)
    if args.json:
        print(
            json.dumps(
                {"schema": SCHEMA, "ok": not failed, "checks": [asdict(check) for check in checks]},
                indent=2,
            )
        )
    else:
        print(render(checks, fancy=can_encode(), coloured=wants_colour()))
    return int(failed)


def examine(surroundings: Surroundings) -> list[DoctorCheck]:
    """Run every check. An unexpected failure of one does not stop the others."""
    return [attempt(check, surroundings) for check in CHECKS]


def attempt(
    check: Callable[[Surroundings], DoctorCheck], surroundings: Surroundings
) -> DoctorCheck:
    """Run one check; an unexpected failure becomes a warning."""
    try:
        return check(surroundings)
    except (OSError, ValueError) as error:
        return DoctorCheck(
            check.__name__.replace("_", " "), "warn", f"could not be checked: {error}"
        )


def render(checks: Sequence[DoctorCheck], *, fancy: bool = True, coloured: bool = False) -> str:
    """Return the output: one line per check, advice below it, and a summary."""
    lines = [line for check in checks for line in check_lines(check, fancy, coloured)]
    return "\n".join([*lines, "", summary(checks)])


def check_lines(check: DoctorCheck, fancy: bool, coloured: bool) -> list[str]:
    """Return the line of one check, and its advice if any."""
    word = f"{(SYMBOLS if fancy else ASCII_SYMBOLS)[check.status]} {check.status:<4}"
    word = f"\x1b[{COLOURS[check.status]}m{word}\x1b[0m" if coloured else word
    lines = [f"{word}  {check.name:<10}  {printable(check.message)}"]
    return (
        [*lines, f"{'':<20}{'→' if fancy else '->'} {printable(check.advice)}"]
        if check.advice
        else lines
    )


def summary(checks: Sequence[DoctorCheck]) -> str:
    """Return one line: whether this machine can run benchmarks."""
    failed = [check.name for check in checks if check.status == "fail"]
    warned = [check.name for check in checks if check.status == "warn"]
    doubts = f"; {plural(len(warned), 'warning')}: {', '.join(warned)}" if warned else ""
    if failed:
        return f"Not ready: {', '.join(failed)}{doubts}"
    return f"Ready{doubts}"


def can_encode() -> bool:
    """Return whether stdout can print the symbols."""
    try:
        "".join((*SYMBOLS.values(), "→")).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
