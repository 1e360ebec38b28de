"""Secrets that only a person knows: asked once, kept in memory, never written or shown.

A password is tried on one host first. The other hosts wait until it is accepted, so that a typo is
refused once, not by every host of a run. After three refusals benchtui neither asks for it nor
tries it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct
from msgspec.structs import force_setattr

from tui.model.operands import Clause, clause
from tui.model.plain import printable

TRIES = 3
CANCELLED = clause("no-input")


class Question(Struct, frozen=True):
    """A question to the user.

    `prompts`: (text, whether input is echoed). `note`: the server's text. `key` identifies the
    answer if it can be reused.
    """

    subject: str
    prompts: tuple[tuple[str, bool], ...]
    note: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        """Make the subject printable, because it contains names from an SSH configuration."""
        force_setattr(self, "subject", printable(self.subject))


Asker = Callable[[Question], Awaitable[Sequence[str] | None]]  # None: the user declined


class Remembering:
    """Asks each question once, although a launch logs in twice; forgets wrong answers."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._known: dict[str, Sequence[str]] = {}

    async def __call__(self, question: Question) -> Sequence[str] | None:
        """Return the earlier answer; ask if there is none or a server refused it. None
        without an answer.
        """
        if not question.note and question.key in self._known:
            return self._known[question.key]
        self._known.pop(question.key, None)
        answers = await self._asker(question)
        if answers and question.key:
            self._known[question.key] = answers
        return answers


class Password:
    """A password for one server, or for all hosts of a run with the same user name."""

    def __init__(self, scope: str, what: str) -> None:
        self.scope = scope
        self.what = what
        self.lock = asyncio.Lock()  # held by the host that tries it for all
        self.value: str | None = None
        self.confirmed = False
        self.tries = 0
        self.note = ""
        self.hopeless: Clause | None = None  # why it is not asked for any more

    def __repr__(self) -> str:
        return f"Password({self.what!r})"  # never its value

    def refused(self, place: str) -> None:
        """Record that a server refused the password."""
        self.value, self.confirmed = None, False
        self.tries += 1
        self.note = f"refused by {place}, {TRIES - self.tries} of {TRIES} tries left"
        if self.tries >= TRIES:
            self.hopeless = clause("password-given-up", what=self.what, tries=TRIES, place=place)


class Vault:
    """Passwords and passphrases of one process. `asker` is None if no user can be asked."""

    def __init__(self, asker: Asker | None = None) -> None:
        self.asker = asker
        self.turn = asyncio.Lock()  # one question at a time
        self._passwords: dict[str, Password] = {}
        self._keys: dict[str, asyncio.Lock] = {}
        self._locked_for_good: dict[str, Clause] = {}

    @property
    def can_ask(self) -> bool:
        """Whether a user can be asked."""
        return self.asker is not None

    def password(self, scope: str, what: str) -> Password:
        """Return the password of a scope; its value may still be unknown."""
        return self._passwords.setdefault(scope, Password(scope, what))

    async def ask(self, question: Question) -> Sequence[str] | None:
        """Ask the user; None if there is no user or no input. The caller must hold `turn`."""
        if self.asker is None:
            return None
        answers = await self.asker(question)
        return answers if answers is not None and len(answers) == len(question.prompts) else None

    async def ask_password(self, password: Password) -> str | None:
        """Ask for an unknown password. Without input, return None and mark it as hopeless."""
        async with self.turn:
            answers = await self.ask(
                Question(password.what, (("Password", False),), password.note, password.scope)
            )
        password.value = answers[0] if answers and answers[0] else None
        if password.value is None:
            password.hopeless = CANCELLED
        return password.value

    async def open_key(
        self, path: str, is_locked: Callable[[], bool], unlock: Callable[[str], bool]
    ) -> Clause | None:
        """Ask for the passphrase of a key file, once for all hosts.

        Returns why the key stays encrypted; None on success.
        """
        async with self._keys.setdefault(path, asyncio.Lock()):
            if not is_locked():
                return None
            if path not in self._locked_for_good:
                why = await self._open_key(path, unlock)
                if why is None:
                    return None
                self._locked_for_good[path] = why
            return self._locked_for_good[path]

    async def _open_key(self, path: str, unlock: Callable[[str], bool]) -> Clause | None:
        note = ""
        for left in reversed(range(TRIES)):
            question = Question(
                f"passphrase for {path}", (("Passphrase", False),), note, f"key {path}"
            )
            async with self.turn:
                answers = await self.ask(question)
            if not answers or not answers[0]:
                return CANCELLED
            if await asyncio.to_thread(unlock, answers[0]):
                return None
            note = f"wrong passphrase, {left} of {TRIES} tries left"
        return clause("wrong-passphrases", tries=TRIES)
