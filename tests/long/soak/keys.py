"""`python -m tests.long.soak.keys [--only WORD] [--keys N] [--seed N]`: random keys on every screen,
while the terminal changes its size.

Keys come in bursts, faster than the app paints. A key must never end the app or raise. No engine is
started and no host name is resolved.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import socket
import string
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NoReturn

import textual.app
import textual.pilot

from tests.app.driver import User
from tests.app.quiet import quiet
from tests.long.pictures.__main__ import PICTURES, desk
from tests.long.pictures.looks import LOOKS, Picture, resize, settled
from tui.engine import launch
from tui.model.problem import UsageError

NAMED = (
    *("enter", "escape", "tab", "shift+tab", "space", "backspace", "delete"),
    *("up", "down", "left", "right", "home", "end", "pageup", "pagedown"),
    *("f1", "f2", "f3", "f4", "f5", "ctrl+p", "ctrl+s", "ctrl+u", "ctrl+d", "ctrl+n", "ctrl+v"),
    *(
        "slash",
        "question_mark",
        "left_square_bracket",
        "right_square_bracket",
        "comma",
        "full_stop",
    ),
)
ENDS = "q"  # quits
KEYS = (*(key for key in string.ascii_letters + string.digits if key not in ENDS), *NAMED, *NAMED)
BURST = 20  # keys at most, between changes of the size
SMALLEST, LARGEST = (20, 5), (300, 90)


def refuse(*_: object, **__: object) -> NoReturn:
    """Refuse to start an engine. Raises UsageError."""
    raise UsageError("no runs while random keys are pressed")


def unresolved(*_: object, **__: object) -> NoReturn:
    """Resolve no name. Raises OSError."""
    raise socket.gaierror(socket.EAI_NONAME, "no names while random keys are pressed")


async def turn(*_: object) -> None:
    """Let other tasks go on, without waiting until they have done their work."""
    await asyncio.sleep(0)


async def pound(picture: Picture, home: Path, draw: random.Random, most: int) -> int:
    """Press keys on one screen until there are `most` or the app is left; return their number.

    Raises what the app raises; the last keys are on stderr then.
    """
    app = picture.make(home)(draw.choice(LOOKS))
    pressed: list[str] = []
    keys = 0
    try:
        async with app.run_test(size=(80, 24)) as pilot:
            user = User(app, pilot)
            await settled(user)
            if picture.act is not None:
                await picture.act(user)
            while keys < most and app.is_running and app._exit is False:
                size = tuple(map(draw.randint, SMALLEST, LARGEST))
                burst = draw.choices(KEYS, k=draw.randint(1, BURST))
                pressed += [f"{size[0]}x{size[1]}", *burst]
                keys += len(burst)
                await resize(pilot, size)  # type: ignore[arg-type]
                await app._press_keys(burst)
                await quiet()  # pilot.press would wait for widgets that the keys have removed
    except BaseException:
        print(f"{picture.name}: {' '.join(pressed[-120:])}", file=sys.stderr, flush=True)
        raise
    return keys


def main(argv: list[str]) -> int:
    """Press keys on the chosen screens; return 1 if one of them raised."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.soak.keys", description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD", help="in the name of the picture")
    parser.add_argument("--keys", type=int, default=20_000, metavar="N", help="on each screen")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args(argv)
    patched: Any = launch
    patched.launch_asking = patched.start_program = refuse
    socket.getaddrinfo = unresolved
    modules: tuple[Any, Any] = (textual.app, textual.pilot)
    modules[0].wait_for_idle, modules[1].wait_for_idle = turn, quiet
    failed = 0
    for picture in PICTURES.values():
        if args.only not in picture.name:
            continue
        draw = random.Random(f"{args.seed} {picture.name}")
        begin, keys, starts = time.monotonic(), 0, 0
        with desk(), tempfile.TemporaryDirectory() as user_home:
            patched_home(user_home)
            try:
                while keys < args.keys:
                    starts += 1
                    home = Path(f"{picture.name}-{starts}")
                    home.mkdir()
                    keys += asyncio.run(pound(picture, home, draw, args.keys - keys))
                told = "no failure"
            except Exception as error:
                failed, told = failed + 1, f"{type(error).__name__}: {error}"
        took_s = time.monotonic() - begin
        print(
            f"{picture.name} (seed {args.seed}): {keys} keys in {took_s:.0f} s, {starts} starts,"
            f" {told}",
            flush=True,
        )
    return bool(failed)


def patched_home(user_home: str) -> None:
    """Use an empty home directory and an editor that returns at once."""
    import os

    os.environ |= {"HOME": user_home, "EDITOR": "true", "VISUAL": "true"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
