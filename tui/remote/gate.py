"""Limit parallel handshakes per server: more while it greets, half when it hangs up.

sshd drops connections while too many have not logged in (MaxStartups, by default from the 11th on).
Its limit is unknown and shared with others, so it is probed: additive increase, multiplicative
decrease, as in TCP.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

START = 8.0  # below sshd's default of 10, above which it may drop
# per greeted handshake; measured: larger steps hit the limit more often and gain nothing
STEP = 0.1
BACKOFF = 0.5


class Gate:
    """Parallel handshakes at one server.

    `refused` and `passed` count results; `limit` is the current maximum.
    """

    def __init__(self, widest: int) -> None:
        self.widest = float(widest)
        self.limit = min(START, self.widest)
        self.passed = 0
        self.refused = 0
        self._under_way = 0
        self._round = 0  # counts decreases: handshakes started before the last one are ignored
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """Wait for a slot and hold it; yields the value to pass to `greeted` and `hung_up`."""
        await self._enter()
        try:
            yield self._round
        finally:
            self._under_way -= 1
            self._let_in()

    def greeted(self) -> None:
        """Raise the limit a little: the server has answered."""
        self.passed += 1
        self.limit = min(self.limit + STEP, self.widest)
        self._let_in()

    def hung_up(self, began: int) -> None:
        """Halve the limit, once per group of parallel handshakes: the server hung up before
        greeting.
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
            if place.done() and not place.cancelled():  # it was just admitted
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
