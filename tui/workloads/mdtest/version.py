"""Versions of mdtest: what they call themselves, and what differs between them."""

from __future__ import annotations

import re

OLD_NAME = "1.9.3"  # 3.2.x prints it too
MULTIPLIES_STRIDE = (3, 3)  # from here on -N is multiplied by the ranks of the first node (hpc/ior pull request 162)
HONEST_SUMMARY = (4, 0)  # from here on Max and Min are over iterations (hpc/ior pull request 336)


def number(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: "4.1.0+dev" is (4, 1, 0); empty when there are none."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def at_least(version: str, wanted: tuple[int, int]) -> bool:
    """Tell whether a version is this one or newer; an unknown one is not."""
    return number(version)[:2] >= wanted


def told_version(version: str, command_line: str) -> str:
    """Return the version that is meant: 3.2.x calls itself 1.9.3, but quotes the words of its command line."""
    return "3.2" if version == OLD_NAME and ' "-' in command_line else version


def summary_meaning(version: str) -> str:
    """Return what this version's Max and Min are, for people."""
    if at_least(version, HONEST_SUMMARY):
        return "max and min are of iterations, each by its slowest rank"
    if at_least(version, (3, 0)):
        return "max and min are of single ranks over all iterations: not comparable with other versions"
    return "max and min are of iterations, each by its fastest rank: not comparable with newer versions"


def iterations_meaning(version: str) -> str:
    """Return what figures made of the iterations that ended are: there is no summary of this tool to stand for them."""
    if at_least(version, HONEST_SUMMARY):
        return "max and min are of iterations by the clock of rank 0 alone: slower ranks would make them lower"
    return "max and min are of iterations as rank 0 saw them; the tool gave no summary"
