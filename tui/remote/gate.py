"""How many handshakes are under way at one server: more while it greets, half as many once it hangs
up.

sshd drops connections while too many are not logged in yet (MaxStartups, by default from the 11th
on). Its limit is not known and shared with other people, so it is felt for: additive increase,
multiplicative decrease, as TCP does."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

START = 8.0  # below sshd's default of 10, from where on it may drop
# a handshake that is greeted; measured: larger steps run into the limit more often and gain nothing
STEP = 0.1
BACKOFF = 0.5


class Gate:
    """Handshakes at one server.

    `refused` and `passed` count how they went; `limit` is how many may be under way.
    """

    def __init__(self, widest: int) -> None:
        self.widest = float(widest)
        self.limit = min(START, self.widest)
        self.passed = 0
        self.refused = 0
        self._under_way = 0
        self._round = 0  # counts decreases: those who began before the last one say nothing new
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """Wait for a place and hold it; yields what `greeted` and `hung_up` are told."""
        await self._enter()
        try:
            yield self._round
        finally:
            self._under_way -= 1
            self._let_in()

    def greeted(self) -> None:
        """The server has answered: a little more is possible."""
        self.passed += 1
        self.limit = min(self.limit + STEP, self.widest)
        self._let_in()

    def hung_up(self, began: int) -> None:
        """The server has hung up before it greeted: half as much, once for all that were under way
        together.
        """
        self.refused += 1
        if began == self._round:
            self._round += 1
            self.limit = max(1.0, self.limit * BACKOFF)

    async def _enter(self) -> None:
        if not self._waiting and self._free:
            self._under_way += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it was let in just then
                self._under_way -= 1
                self._let_in()
            raise

    @property
    def _free(self) -> bool:
        return self._under_way < int(self.limit)

    def _let_in(self) -> None:
        while self._waiting and self._free:
            place = self._waiting.popleft()
            if not place.done():
                self._under_way += 1
                place.set_result(None)
