"""Real samples, damaged: bytes, lines, words and numbers are changed, left out, doubled, put
elsewhere.
"""

from __future__ import annotations

import random
import re

NUMBERS = (b"-1", b"0", b"1e30", b"9223372036854775808", b"-9223372036854775809", b"NaN",
    b"Infinity", b"1e-320", b"[]",
           b'"x"', b"null", b"{}", b"00", b"99999999999999999999999999")  # fmt: skip
WORDS = (b"\x1b]0;x\x07", b"\x9b31m", "\u202e".encode(), b"\x00", b"\xff\xfe", b"%s%n", b"../../x",
b"*", b"&a [*a,*a]",
         b"[1-4096]", b"${HOME}", b"\r", b"\n\n", b"'", b'"', b"\\", b"{", b"}", b"]", b",", b":",
         b"=",
         b" " * 3000, b"1" * 3000)  # fmt: skip
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return the sample with one to six changes."""
    for _ in range(chance.randint(1, 6)):
        data = chance.choice((_bytes, _number, _number, _word, _line, _cut, _twice))(data, chance)
    return data


def _bytes(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.randbytes(chance.randint(0, 4)) + data[at + chance.randint(0, 4) :]


def _number(data: bytes, chance: random.Random) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return _word(data, chance)
    match = chance.choice(found)
    return data[: match.start()] + chance.choice(NUMBERS) + data[match.end() :]


def _word(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(WORDS) + data[at:]


def _line(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    line = lines.pop(chance.randrange(len(lines)))
    for _ in range(chance.randint(0, 2)):
        lines.insert(chance.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def _cut(data: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(data) + 1)
    return data[:begin] + data[begin + chance.randint(0, max(1, len(data) // 4)) :]


def _twice(data: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(data) + 1)
    end = min(len(data), begin + chance.randint(1, 200))
    return data[:end] + data[begin:end] * chance.choice((1, 2, 50)) + data[end:]
