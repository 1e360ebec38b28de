"""Settings of one host from SSH configurations: Host and Match blocks; the first value wins."""

from __future__ import annotations

import fnmatch
import getpass
import hashlib
import os
import pwd
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from tui.model.paths import from_home
from tui.model.problem import did_you_mean
from tui.remote.ssh_include import MOST_FILES
from tui.remote.ssh_options import (
    HONOURED,
    IGNORED,
    OPTIONS,
    REFUSED,
    REPORTED,
    SshOption,
    Value,
    expand,
)
from tui.remote.sshfile import (
    DEEPEST,
    Block,
    ConfigError,
    ConfigFiles,
    SshConfigLine,
    check_owner,
    unknown,
)

ALONE = ("all", "canonical", "final")  # criteria without an argument
VERSION = "OpenSSH_10.0"  # compared with by `Match version`: the OpenSSH of these options
EXEC_TIMEOUT_S = 10.0
ENTER = 'cd "$1" 2>/dev/null; shift; exec "$@"'
NOT_FOUND = 127  # a shell's exit code for a missing command
WITH_ARGUMENT = (
    "host",
    "originalhost",
    "user",
    "localuser",
    "tagged",
    "version",
    "sessiontype",
    "command",
    "exec",
)


class About(Protocol):
    """Facts known so far about a host; Match criteria are compared with them."""

    final: bool

    def subject(self, criterion: str) -> str:
        """Return the text that a Match criterion is compared with."""

    def ends_well(self, command: str) -> bool:
        """Return whether a command exits with 0, after its tokens are replaced. Raises
        ValueError.
        """


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    # which never backtracks over a *
    return re.compile(fnmatch.translate(pattern.replace("[", "[[]")))


def matches(text: str, pattern: str) -> bool:
    """Return whether a pattern with * and ? matches a text, case-sensitively."""
    return _compiled(pattern).match(text) is not None


def host_holds(host: str, patterns: Sequence[str]) -> bool:
    """Return whether a Host line applies: one of its patterns matches, and no negated one does."""
    matching = [pattern for pattern in patterns if matches(host, pattern.removeprefix("!"))]
    return bool(matching) and not any(pattern.startswith("!") for pattern in matching)


def list_holds(text: str, patterns: str, *, lower: bool = False) -> bool:
    """Return whether a comma-separated list of patterns matches a text."""
    if lower:
        text, patterns = text.lower(), patterns.lower()
    return host_holds(text, patterns.split(","))


def match_holds(line: SshConfigLine, about: About) -> tuple[bool, bool]:
    """Return (whether a Match line applies to the host, whether it requests a final pass).

    Raises ConfigError.
    """
    holds, wants_final = True, False
    for negated, name, argument in criteria(line):
        wants_final = wants_final or (name == "final" and not negated)
        try:
            # later criteria are skipped: their command must not run
            holds = holds and _holds(name, argument, about) != negated
        except ValueError as error:
            raise line.error(f"Match {name}: {error}") from None
    return holds, wants_final


def criteria(line: SshConfigLine) -> Iterator[tuple[bool, str, str]]:
    """Yield the criteria of a Match line as (negated, name in lower case, argument).

    Raises ConfigError.
    """
    words = iter(line.arguments)
    for count, word in enumerate(words):
        negated, plain = word.startswith("!"), word.removeprefix("!")
        name, equals, argument = plain.partition("=")
        name = name.lower()
        if name in ALONE and not equals:
            if name == "all" and (count or next(words, None) is not None):
                raise line.error("Match all cannot be combined with other criteria")
            yield negated, name, ""
            continue
        if name not in WITH_ARGUMENT:
            raise line.error(_no_criterion(name))
        found = argument if equals else next(words, None)
        if found is None or (not found and name not in ("tagged", "command")):
            raise line.error(f"Match {name} has no value")
        yield negated, name, found
    if not line.arguments:
        raise line.error("Match has no criteria")


def _no_criterion(name: str) -> str:
    if name == "localnetwork":
        return (
            "Match localnetwork is not supported: use Match exec with a command that"
            " distinguishes the networks"
        )
    return f"bad Match criterion {name}{did_you_mean(name, (*ALONE, *WITH_ARGUMENT))}"


def _holds(name: str, argument: str, about: About) -> bool:
    if name == "all":
        return True
    if name in ("canonical", "final"):
        return about.final
    if name == "exec":
        return about.ends_well(argument)
    subject = about.subject(name)
    if name in ("tagged", "command") and not subject:
        return not argument
    return list_holds(subject, argument, lower=name in ("host", "originalhost"))


def run_in_shell(command: str, directory: Path | None = None) -> bool:
    """Return whether a command exits with 0 in the user's shell, without input or output.

    It runs in `directory` if that exists, else in the working directory. Raises ValueError.
    """
    shell = os.environ.get("SHELL") or "/bin/sh"
    null = subprocess.DEVNULL
    words = ["/bin/sh", "-c", ENTER, "sh", str(directory or "."), shell, "-c", command]
    try:
        done = subprocess.run(
            words, stdin=null, stdout=null, stderr=null, timeout=EXEC_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"{command!r} did not exit within {EXEC_TIMEOUT_S:g} s") from None
    if done.returncode == NOT_FOUND and shutil.which(shell) is None:
        raise ValueError(f"{shell}: no such shell")
    return done.returncode == 0


SYSTEM_FOLDER = Path("/etc/ssh")
DEFAULT_PORT = 22
# compared with by `Match command`: the only command run on hosts
COMMAND = "exec /bin/sh"
PROXY_TOKENS = "hknpr"


class ConfigSource:
    """A configuration file that applies to every host.

    `of_user`: relative names in it refer to ~/.ssh. `checked`: refuse the file if other users can
    write to it.
    """

    def __init__(self, path: Path, *, of_user: bool = True, checked: bool = False) -> None:
        self.path = path
        self.of_user = of_user
        self.checked = checked

    @property
    def folder(self) -> Path:
        """Base directory of relative names in Include."""
        return from_home("~/.ssh") if self.of_user else SYSTEM_FOLDER


class SshSettings:
    """Settings of one host. `given`: values known without a file, such as user and port; they win.

    `directory`: base of relative file names and commands; None means the working directory.
    """

    def __init__(
        self,
        host: str,
        files: ConfigFiles,
        given: Mapping[str, Value],
        directory: Path | None = None,
    ) -> None:
        self.original = host
        self.directory = directory
        self.local_user = local_user()
        self.final = False
        self._files = files
        self._values: dict[str, Value] = dict(given)
        self._lines: dict[str, SshConfigLine] = {}
        self._given = frozenset(given)
        self._lists: dict[str, list[str]] = {}
        self._wants_final = self._resolved = False
        self._host = host
        self._open: list[Path] = []
        self._count = 0

    def read(self, sources: Sequence[ConfigSource]) -> None:
        """Read the files; twice if a Match line requests a final pass.

        Raises ConfigError, OSError or ValueError.
        """
        for source in sources:
            self._file(source.path, source, active=True)
        self._values["hostname"] = self._host = canonical(self.hostname)
        self._resolved = True
        if self._wants_final:
            self.final = True
            for source in sources:
                self._file(source.path, source, active=True)

    @property
    def hostname(self) -> str:
        """Host name or address to connect to."""
        value = self._values.get("hostname")
        if value is None:
            return self.original
        if self._resolved or "hostname" in self._given:
            return str(value)
        return self._expanded("hostname", str(value), {"h": self.original}, None)

    def text(self, name: str, default: str = "") -> str:
        """Return the value of an option as text."""
        return str(self._values.get(name, default))

    def number(self, name: str, default: int) -> int:
        """Return a number, or a time in seconds."""
        value = self._values.get(name, default)
        return value if isinstance(value, int) else default

    def words(self, name: str) -> tuple[str, ...] | None:
        """Return the values of an option that accepts several; None if not set."""
        value = self._lists.get(name, self._values.get(name))
        return (
            None
            if value is None
            else tuple(value)
            if isinstance(value, list | tuple)
            else (str(value),)
        )

    def at(self, name: str) -> str:
        """Return where an option is set, as `` (FILE line N)``; empty if no file sets it."""
        line = self._lines.get(name)
        return f" ({line.place})" if line else ""

    def ignored_options(self, when: str) -> list[str]:
        """Return ignored options, with file and line, that may explain this kind of failure."""
        found = ((OPTIONS[name], line) for name, line in self._lines.items())
        return [
            f"{option.name} ({line.place}): {option.why}"
            for option, line in found
            if option.fate == REPORTED and option.when == when and asks(option, line.value)
        ]

    # -- tokens

    def tokens(self) -> dict[str, str]:
        """Return the current %-tokens."""
        name = socket.gethostname()
        host, user, port = self.hostname, self.user, str(self.number("port", DEFAULT_PORT))
        jump = self.last_jump
        whole = hashlib.sha1(
            f"{name}{host}{port}{user}{jump}".encode(errors="surrogateescape"),
            usedforsecurity=False,
        )
        return {
            "C": whole.hexdigest(),
            "L": name.partition(".")[0],
            "d": str(from_home("~")),
            "h": host,
            "i": str(os.getuid()),
            "j": jump,
            "k": self.text("hostkeyalias") or self.original,
            "l": name,
            "n": self.original,
            "p": port,
            "r": user,
            "u": self.local_user,
        }

    @property
    def user(self) -> str:
        """User name for the login; its tokens are replaced once the files are read."""
        return self.text("user") or self.local_user

    @property
    def last_jump(self) -> str:
        """Host of the last bastion in ProxyJump."""
        jump = self.text("proxyjump").rpartition(",")[2].strip().removeprefix("ssh://")
        if jump.lower() == "none":
            return ""
        host = jump.rpartition("@")[2]
        return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]

    def expand_user(self) -> None:
        """Replace the tokens in User, which tokens of other options may refer to.

        Raises ConfigError.
        """
        if "user" in self._lines:
            known = {name: value for name, value in self.tokens().items() if name not in "rC"}
            self._values["user"] = self._expanded("user", self.user, known, os.environ)

    def path(self, name: str, text: str) -> str:
        """Return a path with ~, tokens and ${NAME} replaced; `name` is its option. Raises
        ConfigError.
        """
        home = str(from_home(text)) if text.startswith("~") else text
        return self._expanded(name, home, self.tokens(), os.environ)

    def file(self, name: str, text: str) -> str:
        """Return the absolute path of a file; `name` is its option. Raises ConfigError."""
        return self.absolute(self.path(name, text))

    def absolute(self, path: str) -> str:
        """Return a path with ~ expanded, relative to `directory`; asyncssh would misread a ~."""
        return str(Path(self.directory or "", from_home(path)).absolute())

    def command(self, name: str) -> str | None:
        """Return ProxyCommand or ProxyJump with tokens replaced; None if not set, or `none`.

        Raises ConfigError.
        """
        text = self.text(name)
        if text.lower() in ("", "none"):
            return None
        return self._expanded(name, text, {key: self.tokens()[key] for key in PROXY_TOKENS}, None)

    def _expanded(
        self, name: str, text: str, tokens: Mapping[str, str], environment: Mapping[str, str] | None
    ) -> str:
        try:
            return expand(text, tokens, environment)
        except ValueError as error:
            raise ConfigError(f"{OPTIONS[name].name}{self.at(name)}: {error}") from None

    # -- Match

    def subject(self, criterion: str) -> str:
        """Return the text that a Match criterion is compared with."""
        return {
            "host": self.hostname,
            "originalhost": self.original,
            "user": self.user,
            "localuser": self.local_user,
            "tagged": self.text("tag"),
            "version": VERSION,
            "sessiontype": "exec",
            "command": COMMAND,
        }[criterion]

    def ends_well(self, command: str) -> bool:
        """Return whether a command of `Match exec` exits with 0. Raises ValueError."""
        return self._files.ends_well(
            expand(command, self.tokens()), lambda text: run_in_shell(text, self.directory)
        )

    # -- files

    def _file(self, path: Path, source: ConfigSource, *, active: bool) -> None:
        if path in self._open:
            raise ConfigError(f"{path} includes itself")
        if len(self._open) > DEEPEST:
            raise ConfigError(f"{path}: files include each other more than {DEEPEST} levels deep")
        self._count += 1
        if self._count > MOST_FILES:
            raise ConfigError(f"{path}: more than {MOST_FILES} files are included")
        if source.checked or self._open:
            check_owner(path)
        self._open.append(path)
        for block in self._files.blocks(path):
            holds = active and self._holds(block)
            for line in block.lines if holds else block.stays:
                self._apply(line, source, active=holds)
        self._open.pop()

    def _holds(self, block: Block) -> bool:
        line = block.condition
        if line is None:
            return True
        if line.keyword == "match":
            holds, wants_final = match_holds(line, self)
            self._wants_final = self._wants_final or wants_final
            return holds
        return (
            self._host in block.names
            if block.names is not None
            else host_holds(self._host, line.arguments)
        )

    def _apply(self, line: SshConfigLine, source: ConfigSource, *, active: bool) -> None:
        if line.unknown:
            if not list_holds(line.keyword, self.text("ignoreunknown"), lower=True):
                raise unknown(line)
        elif line.keyword == "include":
            self._include(line, source, active=active)
        elif OPTIONS[line.keyword].fate != IGNORED:
            self._set(line)

    def _include(self, line: SshConfigLine, source: ConfigSource, *, active: bool) -> None:
        for argument in line.arguments:
            try:
                name = expand(argument, self.tokens(), os.environ)
            except ValueError as error:
                raise line.error(f"Include {argument}: {error}") from None
            if name.startswith("~") and not source.of_user:
                raise line.error(f"Include {name}: not allowed in system files")
            home = from_home(name)
            if name.startswith("~") and str(home).startswith("~"):
                raise line.error(f"Include {name}: no such home directory")
            for path in self._files.matching(str(source.folder / home)):
                self._file(path, source, active=active)

    def _set(self, line: SshConfigLine) -> None:
        name, value = line.keyword, line.value
        option = OPTIONS[name]
        if option.kind == "list":
            kept = self._lists.setdefault(name, [])
            if value not in kept:
                kept.append(str(value))
        elif name in ("proxyjump", "proxycommand"):
            self._set_proxy(line)
            return
        elif name in self._values:
            return
        self._values.setdefault(name, value)
        self._lines.setdefault(name, line)
        if option.fate == REFUSED and asks(option, value):
            raise line.error(f"{option.name} {value} is not supported: {option.why}")
        if name == "refuseconnection":
            raise line.error(f"RefuseConnection: {value}")

    def _set_proxy(self, line: SshConfigLine) -> None:
        """Set ProxyCommand or ProxyJump; whichever comes first disables the other.

        `ProxyJump none` still allows a ProxyCommand.
        """
        name, value = line.keyword, str(line.value)
        if name in self._values:
            return
        if name == "proxyjump" and value.lower() != "none":
            value = value.partition("#")[0].rstrip()
            if "proxycommand" in self._values:
                return
            self._values["proxycommand"] = "none"
        self._values[name] = value
        self._lines.setdefault(name, line)


def asks(option: SshOption, value: Value) -> bool:
    """Return whether an option's value has an effect that benchtui does not support."""
    return option.fate != HONOURED and str(value).lower() not in option.harmless


def local_user() -> str:
    """Return the local user's name by uid, as ssh does, not from the environment."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return getpass.getuser()


def canonical(host: str) -> str:
    """Return a host name in lower case, or an address in its standard form."""
    if "%" not in host and ":" not in host and host.strip("0123456789."):
        return host.lower()
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        return str(socket.getnameinfo(found[0][4], socket.NI_NUMERICHOST)[0])
    except (OSError, UnicodeError):
        return host
