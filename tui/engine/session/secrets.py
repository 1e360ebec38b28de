"""Secrets of a run: read from the environment or asked for, handed to hosts as environment variables, kept off disks.

A plan knows their names alone: its job files hold ``${NAME}``, which fio replaces. fio prints what it has replaced in
the options of its results, so its output is masked before anything of it is written here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui.model.plan import HostTask, Plan

if TYPE_CHECKING:
    from tui.remote.vault import Asker

MASK = b"*"
NO_SECRET = "no value for the secret {0}: set it in the environment, or start where there is a terminal to ask on"
SHORTEST_WORD = 6  # a shorter value, or a number, may be a part of a figure: it is masked in options alone
REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class Secrets:
    """Names of environment variables, and the values that are known. The values are never part of a repr."""

    names: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def missing(self) -> list[str]:
        """The names that have no value."""
        return [name for name in self.names if name not in self.values]

    def mask(self, task: HostTask) -> Mask | None:
        """Return what makes the output of a command fit to be written; None when it holds no secret."""
        return Mask(_options(task.job_file, self.names), list(self.values.values())) if self.names else None


async def secrets_of(plan: Plan, environ: Mapping[str, str], asker: Asker | None) -> Secrets:
    """Return the secrets of a run: from the environment, else from whoever can be asked."""
    from tui.remote.vault import Question

    values = {name: environ[name] for name in plan.secrets if environ.get(name)}
    for name in plan.secrets:
        if name not in values and asker is not None:
            answers = await asker(Question(f"secret of this run: {name}", ((name, False),), "", f"secret {name}"))
            if answers and answers[0]:
                values[name] = answers[0]
    return Secrets(tuple(plan.secrets), values)


def _options(job_file: str, names: Sequence[str]) -> list[str]:
    """Return the options of a job file whose values hold a secret, and what fio repeats `description` as."""
    lines = (line.partition("=") for line in job_file.splitlines())
    found = {option for option, _, value in lines if set(REFERENCE.findall(value)) & set(names)}
    return sorted(found | ({"desc"} if "description" in found else set()))


class Mask:
    """Puts as many stars in the place of secrets as they have bytes: offsets in a stream stay what they are.

    An incomplete last line is held back, for it may end inside of a secret. What is held back counts as not taken.
    """

    def __init__(self, options: Sequence[str], values: Sequence[str]) -> None:
        known = {text.encode() for value in values for text in (value, value.replace("\\", "\\\\").replace('"', '\\"'))}
        words = [text for text in known if len(text) >= SHORTEST_WORD and not text.isdigit()]
        patterns = [re.escape(word) for word in sorted(words, key=len, reverse=True)]
        if options:
            either = b"|".join(re.escape(option.encode()) for option in options)
            patterns.append(rb'(?<=")(?P<option>' + either + rb')(?P<sign>" : ")(?P<value>(?:[^"\\\n]|\\.)*)')
        self._pattern = re.compile(b"|".join(patterns)) if patterns else None
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """Return the lines that are complete, masked."""
        lines, end, rest = (self._rest + data).rpartition(b"\n")
        self._rest = rest
        return self._masked(lines + end)

    def flush(self) -> bytes:
        """Return what was held back: nothing more follows."""
        rest, self._rest = self._rest, b""
        return self._masked(rest)

    def drop(self) -> None:
        """Forget what was held back: it is sent again."""
        self._rest = b""

    def _masked(self, text: bytes) -> bytes:
        return self._pattern.sub(_stars, text) if self._pattern else text


def _stars(match: re.Match[bytes]) -> bytes:
    groups = match.groupdict()
    if groups.get("value") is None:
        return MASK * len(match[0])
    return groups["option"] + groups["sign"] + MASK * len(groups["value"])
