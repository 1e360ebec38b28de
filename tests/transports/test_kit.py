"""The test kit for transports of other packages: ours keep the contract, broken ones are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.containers import Container, missing
from tui.model.address import HostAddress
from tui.remote.transport import Transport
from tui.remote.way_base import HostLimits, HostTransport, SshOpener
from tui.remote.way_command import ByCommand
from tui.remote.way_plain import ThisMachine
from tui.testing.transports import TransportContractError, check_transport


async def test_this_machine_keeps_the_contract() -> None:
    await check_transport(ThisMachine(), HostAddress("local", transport="local"))


@pytest.mark.skipif(bool(missing()), reason=missing())
async def test_a_command_that_gives_a_shell_keeps_the_contract(tmp_path: Path) -> None:
    with Container(tmp_path, "c1") as container:
        there = HostAddress("c1", transport="exec", through=container.shell)
        await check_transport(
            ByCommand(), there, HostAddress("c2", transport="exec", through="false")
        )


class Careless(HostTransport):
    """Gives a shell on this machine whatever the host, and says nonsense of its time."""

    async def open(self, address: HostAddress, ssh: SshOpener) -> Transport:
        return await ByCommand().open(
            HostAddress(address.name, transport="exec", through="/bin/sh"), ssh
        )

    async def limits(self, address: HostAddress) -> HostLimits:
        return HostLimits(left_s=-1.0)


async def test_each_mistake_of_a_transport_is_a_line() -> None:
    with pytest.raises(TransportContractError) as caught:
        await check_transport(Careless(), HostAddress("c"), HostAddress("gone"))
    lines = str(caught.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["limits are valid", "an unreachable host"]
