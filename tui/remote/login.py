"""Log in to one server in rounds: first with known secrets, then with the user's answers.

Handshakes do not wait for the user, except for prompts of the server itself (keyboard-interactive).
A round ends if an answer is missing; benchtui asks the user and starts the next round.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tui.model.operands import Clause, clause
from tui.model.plain import printable
from tui.remote.ssh_library import Listener, asyncssh
from tui.remote.transport import DeniedError, HostError
from tui.remote.vault import CANCELLED, TRIES, Question, Vault

if TYPE_CHECKING:
    from tui.remote.keys import AgentKeyPair, LockedKeyPair
    from tui.remote.sshconfig import Keyring, Resolved

Connection = asyncssh.SSHClientConnection

ROUNDS = 12  # more than any honest server asks: key, password and code, three times each
PASSWORD_LIKE = re.compile(r"pass ?(word|phrase)", re.IGNORECASE)
ONE_TIME = re.compile(r"one.?time|\botp\b|token|code|verification", re.IGNORECASE)


class Entered(Struct, frozen=True):
    """A connection after login.

    `one_time`: prompts whose answers cannot be reused.
    """

    connection: Connection
    by_agent: bool
    one_time: tuple[str, ...]


class LoginAttempt(Listener):
    """One handshake that uses known answers, and records what else the server would accept."""

    def __init__(self, log_in: LogIn, *, interview: bool) -> None:
        super().__init__()
        self.interview = interview
        self.locked: list[LockedKeyPair] = []
        self.agent_keys: list[AgentKeyPair] = []
        self.clock: asyncio.Timeout | None = None
        self.time_limit_s = 0.0
        self.offered = False  # the password
        self.refused = False
        self.cancelled = False
        self.wants_password = False
        self.wants_answers: tuple[str, ...] = ()
        self.one_time: list[str] = []
        self.tries = 0
        self._log_in = log_in
        self._answered = False
        self._note = ""

    def password_auth_requested(self) -> str | None:
        """Return the password, once; None without a usable one.

        A second request means that the server refused it.
        """
        if self.offered:
            self.refused = not self.wants_answers
            return None
        value = self._log_in.usable_password
        self.wants_password = value is None
        self.offered = value is not None
        return value

    def kbdint_auth_requested(self) -> str | None:
        """Start keyboard-interactive authentication; return None to give it up.

        A second request means that the answers were refused.
        """
        if not self._answered:
            return ""
        self._answered = False
        self.tries += 1
        if not self.interview:
            self.refused = self.offered
            return None
        if self._log_in.pilot:
            self._log_in.password.value = None
        self.offered, self.one_time = False, []
        self._note = f"refused, {TRIES - self.tries} of {TRIES} tries left"
        return "" if self.tries < TRIES and not self.cancelled else None

    async def kbdint_challenge_received(
        self, name: str, instructions: str, _lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        """Answer a server's prompts with known answers.

        In an interview, benchtui asks the user for the others. None if an answer is missing or the
        user cancels.
        """
        if not prompts:
            return []
        self._answered = True
        value = None if self.offered else self._log_in.usable_password
        known = [value if is_password(text) else None for text, _ in prompts]
        if None in known and not self.interview:
            self._note_wish(
                [text for (text, _), answer in zip(prompts, known, strict=True) if answer is None]
            )
            return None
        self.offered = self.offered or any(known)
        return await self._interview(" ".join((name, instructions)), prompts, known)

    def _note_wish(self, prompts: list[str]) -> None:
        texts = tuple(visible(text) for text in prompts)
        if len(texts) == 1 and is_password(texts[0]):
            self.refused, self.wants_password = self.offered, not self.offered
        else:
            self.wants_answers = texts

    async def _interview(
        self, instructions: str, prompts: Sequence[tuple[str, bool]], known: list[str | None]
    ) -> list[str] | None:
        missing = [prompt for prompt, answer in zip(prompts, known, strict=True) if answer is None]
        typed = await self._ask(instructions, missing) if missing else []
        if typed is None:
            self.cancelled = True
            return None
        for (text, _), answer in zip(missing, typed, strict=True):
            self._remember(text, answer)
        rest = iter(typed)
        return [next(rest) if answer is None else answer for answer in known]

    async def _ask(
        self, instructions: str, missing: Sequence[tuple[str, bool]]
    ) -> Sequence[str] | None:
        shown = tuple((visible(text), echo) for text, echo in missing)
        note = " ".join(filter(None, (self._note, visible(instructions))))
        self._stop_clock()
        typed = await self._log_in.vault.ask(
            Question(f"login to {self._log_in.place}", shown, note)
        )
        self._start_clock()
        return typed

    def _remember(self, prompt: str, answer: str) -> None:
        if is_password(prompt):
            self._log_in.password_typed(answer)
            self.offered = True
        else:
            self.one_time.append(visible(prompt))

    def _stop_clock(self) -> None:
        """Suspend the time limit while the user answers, for as long as the server allows."""
        if self.clock is not None:
            self.clock.reschedule(None)

    def _start_clock(self) -> None:
        if self.clock is not None:
            self.clock.reschedule(asyncio.get_running_loop().time() + self.time_limit_s)


class LogIn:
    """Login to one server.

    `shared`: the password may be the same on all hosts with this user name.
    """

    def __init__(self, target: Resolved, vault: Vault, keyring: Keyring, *, shared: bool) -> None:
        self.target = target
        self.vault = vault
        self.keyring = keyring
        self.place = target.place
        self.pilot = False  # whether this host tries the password for all
        scope = f"hosts {target.user}" if shared else f"server {self.place}"
        others = f"{target.user} on {target.name} and the other hosts" if shared else self.place
        self.password = vault.password(scope, f"password for {others}")

    @property
    def usable_password(self) -> str | None:
        """The password, if a host has already accepted it or this host is to try it; else None."""
        return self.password.value if self.password.confirmed or self.pilot else None

    def password_typed(self, answer: str) -> None:
        """Keep a password typed at a server's own prompt, until a server refuses it.

        It is not kept while another host is trying a password for all.
        """
        if self.pilot or not self.password.lock.locked():
            self.password.value = answer

    async def through(self, handshake: Callable[[LoginAttempt], Awaitable[Connection]]) -> Entered:
        """Log in with this handshake. Raises HostError."""
        interview = False
        try:
            for _ in range(ROUNDS):
                attempt = LoginAttempt(self, interview=interview)
                try:
                    connection = await self._knock(handshake, attempt)
                except DeniedError as denied:
                    interview = await self._prepare(attempt, denied)
                else:
                    return self._entered(connection, attempt)
            told = clause("too-many-questions", place=self.place, rounds=ROUNDS)
            raise HostError("auth-failed", self.target.name, told)
        finally:
            self._let_others_try()

    async def _knock(
        self, handshake: Callable[[LoginAttempt], Awaitable[Connection]], attempt: LoginAttempt
    ) -> Connection:
        if not attempt.interview:
            return await handshake(attempt)
        async with self.vault.turn:
            return await handshake(attempt)

    def _entered(self, connection: Connection, attempt: LoginAttempt) -> Entered:
        if attempt.offered and self.password.value is not None:
            self.password.confirmed = True
        by_agent = any(key.signed for key in attempt.agent_keys)
        return Entered(connection, by_agent, tuple(attempt.one_time))

    def _let_others_try(self) -> None:
        if self.pilot:
            self.pilot = False
            self.password.lock.release()

    async def _prepare(self, attempt: LoginAttempt, denied: DeniedError) -> bool:
        """Get the secrets that the last round was missing; return whether the next round is an
        interview.

        Raises HostError.
        """
        if attempt.cancelled:
            raise self._failed(CANCELLED)
        if attempt.refused:
            return await self._after_refusal(attempt)
        if attempt.interview:
            raise self._failed(clause("answers-refused", tries=TRIES)) from denied
        if not self.vault.can_ask:
            raise self._unattended(attempt, denied)
        refused = await self._open_keys(attempt)
        if refused is None:
            return False
        if attempt.wants_password:
            await self._get_password()
        elif not attempt.wants_answers:
            raise self._failed(refused, "key-encrypted") if refused else denied
        return bool(attempt.wants_answers)

    async def _open_keys(self, attempt: LoginAttempt) -> Clause | Literal[""] | None:
        """Ask the user to unlock encrypted keys that the server accepts, until one is decrypted.

        Returns None on success, else the reason why no key is usable; empty if there is none to
        decrypt.
        """
        paths = [key.path for key in attempt.locked if key.accepted]
        if not (paths or attempt.wants_password or attempt.wants_answers):
            # servers cannot be asked about those
            paths = (await asyncio.to_thread(self.keyring.locked, self.target))[1]
        why: Clause | Literal[""] = ""
        for path in dict.fromkeys(paths):
            is_locked, unlock = (
                partial(self.keyring.is_locked, path),
                partial(self.keyring.unlock, path),
            )
            locked = await self.vault.open_key(path, is_locked, unlock)
            if locked is None:
                return None
            why = clause("stays-encrypted", path=path, why=locked)
        return why

    async def _get_password(self) -> None:
        """Wait for the host that tries the password for all hosts, or become that host and ask for
        the password if it is unknown. Raises HostError.
        """
        if not self.pilot:
            await self.password.lock.acquire()
            self.pilot = True
        if self.password.confirmed:
            self._let_others_try()
            return
        if self.password.hopeless or not self.vault.can_ask:
            raise self._failed(self.password.hopeless or clause("password-refused"))
        if self.password.value is None and await self.vault.ask_password(self.password) is None:
            raise self._failed(CANCELLED)

    async def _after_refusal(self, attempt: LoginAttempt) -> bool:
        if not self.pilot:  # accepted by others: this host has one of its own
            note = f"{self.place} refused the password that other hosts accept"
            if not self.vault.can_ask:
                raise self._failed(clause("password-refused"))
            self.password = self.vault.password(
                f"server {self.place}", f"password for {self.place}"
            )
            self.password.tries, self.password.note = self.password.tries + 1, note
        else:
            self.password.refused(self.place)
        await self._get_password()
        return bool(attempt.wants_answers)

    def _failed(self, why: Clause, code: str = "auth-failed") -> HostError:
        return HostError(code, self.target.name, clause("denied", place=self.place, why=why))

    def _unattended(self, attempt: LoginAttempt, denied: DeniedError) -> HostError:
        """Return the error for a login that needs answers when there is no user to ask."""
        locked = next((key.path for key in attempt.locked if key.accepted), None)
        if attempt.wants_answers:
            asked = [repr(text) for text in attempt.wants_answers]
            return self._failed(clause("asked-at-every-login", asked=asked), "one-time-code")
        if locked is not None:
            return self._failed(clause("encrypted-key-unasked", path=locked), "key-encrypted")
        if attempt.wants_password:
            return self._failed(clause("password-wanted", why=denied.reason), "password-needed")
        return denied


def is_password(prompt: str) -> bool:
    """Return whether a prompt asks for the account's password, which can be reused."""
    return bool(PASSWORD_LIKE.search(prompt)) and not ONE_TIME.search(prompt)


def visible(text: str) -> str:
    """Return a server's text as one line without control characters, for a terminal."""
    return " ".join(printable(text).split())
