"""Transports by name: the entry points of the group `benchtui.transports`."""

from __future__ import annotations

from tui.model.address import HostAddress
from tui.model.problem import UsageError
from tui.model.tool import load_from
from tui.remote.transport import HostError
from tui.remote.way_base import HostTransport

GROUP = "benchtui.transports"


def load_transport(address: HostAddress) -> HostTransport:
    """Return the transport of a host. Raises HostError if it is not installed."""
    name = address.transport
    told = (f"unknown transport '{name}'", "transports are")
    try:
        found: HostTransport = load_from(GROUP, name, "transport", told, made=True)
    except UsageError as error:
        raise HostError("config", address.name, error.problems[0].message) from error
    return found


def is_over_ssh(address: HostAddress) -> bool:
    """Return whether a host is reached by SSH, with a host key and a log-in."""
    return load_transport(address).over_ssh
