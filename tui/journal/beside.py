"""Steps that run at the same time, each on its own hosts."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct, field


class StepsBeside(Struct):
    """Hosts of the steps that run at the same time; empty while one step runs alone."""

    by_host: dict[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.by_host)

    def __contains__(self, step: int | None) -> bool:
        return step in self.by_host.values()

    @property
    def steps(self) -> list[int]:
        """These steps, in the order of the plan."""
        return sorted(set(self.by_host.values()))

    def begin(self, step: int, hosts: Collection[str]) -> None:
        """Take the hosts of a step that runs beside others."""
        self.by_host |= dict.fromkeys(hosts, step)

    def clear(self) -> None:
        """Forget steps that are over."""
        self.by_host.clear()

    def step_of(self, host: str, alone: int | None) -> int | None:
        """Return the step that a host takes part in.

        `alone`: the one that runs when there is no other.
        """
        return self.by_host.get(host, alone)

    def hosts_of(self, step: int | None) -> list[str]:
        """Return the hosts of a step; none of one that runs alone."""
        return [host for host, each in self.by_host.items() if each == step]
