"""Pattern and mix of a fio job in words: ``random read``, ``70/30``, ``30% write sequential``.

A part is the normal form of one such word: aspects (``random``, ``random read``, ``mixed``), a list
of them with commas, or the percentage of reads (``70%``). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from tui.workloads.fio.options import DIRECTIONS

ASPECTS = {
    "random": ("random", "rand", "rnd"),
    "sequential": ("sequential", "seq", "linear"),
    "read": ("read", "reads"),
    "write": ("write", "writes"),
    "trim": ("trim", "trims"),
    "mixed": ("mixed", "mix", "read/write", "reads/writes", "r/w"),
}
ACCESSES = ("random", "sequential")
NORMAL = {word: aspect for aspect, words in ASPECTS.items() for word in words}
SHORT = {
    "rr": "random read", "sr": "sequential read", "sw": "sequential write",
    "randrw": "random mixed", "rw": "rw", "readwrite": "rw",
}  # fmt: skip
"""Abbreviations. ``rw`` is fio's sequential mix, unless ``random`` is said too."""
_TWO = re.compile(
    rf"({'|'.join(word for each in ACCESSES for word in ASPECTS[each])})[-_]?([a-z/]+)"
)
_RATIO = re.compile(r"(\d{1,3})[%r]?[/:]?(\d{1,3})[%w]?")
_SHARE = re.compile(r"(\d{1,3}) ?% ?([a-z]+)|([a-z]+) ?(\d{1,3}) ?%")
NAMES = {
    ("random", "read"): "randread", ("random", "write"): "randwrite",
    ("random", "mixed"): "randrw", ("random", "trim"): "randtrim",
    ("sequential", "read"): "read", ("sequential", "write"): "write",
    ("sequential", "mixed"): "rw", ("sequential", "trim"): "trim",
}  # fmt: skip
SAID = {name: f"{access} {direction}" for (access, direction), name in NAMES.items()}


def part_of(words: str) -> str:
    """Return the part that words mean; empty if they are not about pattern or mix."""
    text = words.lower().strip()
    parts = [_single(each) for each in text.split(",")]
    if not all(parts):
        return ""
    shares = [each for each in parts if each.endswith("%")]
    if len(parts) == 1:
        return {"100%": "read", "0%": "write"}.get(parts[0], parts[0])
    return ",".join(parts) if len(shares) in (0, len(parts)) else ""


def _single(text: str) -> str:
    if found := SHORT.get(text) or NORMAL.get(text):
        return found
    if text in DIRECTIONS and text not in NAMES.values():
        return f"={text}"
    if two := _TWO.fullmatch(text):
        direction = SHORT.get(two[2]) or NORMAL.get(two[2], "")
        return {"rw": f"{NORMAL[two[1]]} mixed"}.get(direction) or (
            f"{NORMAL[two[1]]} {direction}" if (NORMAL[two[1]], direction) in NAMES else ""
        )
    if (ratio := _RATIO.fullmatch(text)) and re.search(r"[/:r]", text):
        return f"{int(ratio[1])}%" if int(ratio[1]) + int(ratio[2]) == 100 else ""
    return _share(text)


def _share(text: str) -> str:
    """Return the part of a percentage with what it is of; empty if it is none."""
    if (found := _SHARE.fullmatch(text)) is None:
        return ""
    percent, of = int(found[1] or found[4]), NORMAL.get(found[2] or found[3], "")
    if percent > 100:
        return ""
    if of in ACCESSES:
        one, other = ACCESSES if of == "random" else ACCESSES[::-1]
        return {100: one, 0: other}.get(percent, "")
    return {"read": f"{percent}%", "write": f"{100 - percent}%"}.get(of, "")


def terms_of(parts: Sequence[str]) -> Mapping[str, str]:
    """Return ``rw`` and ``rwmixread`` as all parts of a job mean; empty for a contradiction."""
    shares = {each.replace("%", "") for each in parts if each.endswith("%")}
    lists = {each for each in parts if "," in each and not each.endswith("%")}
    singles = {each for each in parts if "," not in each and not each.endswith("%")}
    if len(shares) > 1 or len(lists) > 1:
        return {}
    listed = [each.split(",") for each in lists]
    found = [
        _pattern({*singles, each} - {""}, mixed=bool(shares and not listed))
        for each in (listed[0] if listed else [""])
    ]
    if not all(found) or (shares and not any(name in ("rw", "randrw") for name in found)):
        return {}
    return {"rw": ",".join(found)} | ({"rwmixread": shares.pop()} if shares else {})


def _pattern(parts: Collection[str], *, mixed: bool) -> str:
    """Return fio's name of a pattern; empty for a contradiction. `mixed`: it has a mix."""
    own = [each.removeprefix("=") for each in parts if each.startswith("=")]
    if own:
        return own[0] if len(parts) == 1 and not mixed else ""
    aspects = {aspect for each in parts for aspect in each.split()}
    accesses = aspects & set(ACCESSES)
    directions = aspects - accesses
    whole = {each for each in parts if " " in each}
    if len(accesses) > 1 or (len(directions) > 1 and whole):
        return ""
    # fio's own word for the pattern, not one that is said of a mix
    access = next(iter(accesses), "sequential" if directions - {"mixed"} else "random")
    directions = {"mixed"} if "rw" in directions else directions
    if {"read", "write"} <= directions:
        directions -= {"read", "write"}
        directions |= {"mixed"}
        access = access if accesses else "random"
    if mixed:
        directions |= {"mixed"}
    if not directions:
        directions = {"read"}
    return NAMES.get((access, next(iter(directions))), "") if len(directions) == 1 else ""


def words_of(terms: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """Return words for the pattern, with its mix, and the keys that each says."""
    pattern, mix = terms.get("rw", ""), terms.get("rwmixread", "")
    if not pattern:
        return {}
    said = SAID.get(pattern)
    if said and said.endswith("mixed") and mix:
        ratios = [f"{each}/{100 - int(each)}" for each in mix.split(",") if each.isdecimal()]
        return {f"{','.join(ratios)} {said.partition(' ')[0]}": ("rw", "rwmixread")}
    return {said or pattern: ("rw",)}
