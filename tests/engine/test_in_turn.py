"""Hosts whose output arrives together take turns, and everybody else comes between them."""

from __future__ import annotations

import asyncio

from tui.engine.session.task import in_turn


async def test_between_two_hosts_the_loop_comes_round() -> None:
    lock, seen = asyncio.Lock(), list[str]()

    async def host() -> None:
        async with in_turn(lock):
            seen.append("host")

    async def keepalive() -> None:
        while seen.count("host") < 20:
            seen.append("keepalive")
            await asyncio.sleep(0)

    await asyncio.gather(*(host() for _ in range(20)), keepalive())
    assert "host host" not in " ".join(seen)


async def test_a_host_that_is_given_up_leaves_the_turn_to_the_others() -> None:
    lock, taken = asyncio.Lock(), list[int]()

    async def host(number: int) -> None:
        async with in_turn(lock):
            taken.append(number)

    tasks = [asyncio.create_task(host(number)) for number in range(3)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert taken == [0, 2]
