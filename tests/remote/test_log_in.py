"""Logging in with what only a person knows: passphrases, passwords, codes.

Asked once, tried on one host first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import asyncssh
import pytest

from tests.lab.accounts import BY_PAM, BY_PASSWORD, with_password
from tests.lab.sshd import SshdLab
from tests.remote.helpers import until
from tests.remote.test_ssh_connect import config, uname
from tui.model.address import HostAddress
from tui.remote.connections import Connections, Timeouts
from tui.remote.transport import HostError
from tui.remote.vault import Question
from tui.text.problem_texts import problem_text

# quick, and keys of nobody
pytestmark = pytest.mark.filterwarnings("ignore:.*bcrypt.kdf.. called with only 1 round")
PASSWORD = "correct horse"
Challenge = tuple[str, str, str, Sequence[tuple[str, bool]]]


class Person:
    """Answers questions by what is known of each prompt, and remembers what was asked."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []
        self.busy = False

    async def __call__(self, question: Question) -> Sequence[str] | None:
        assert not self.busy, "two questions at a time"
        self.busy = True
        self.asked.append(question)
        await asyncio.sleep(0)
        answers = [self.answers.pop(0) for _ in question.prompts]
        self.busy = False
        return None if None in answers else [answer or "" for answer in answers]


async def all_in(connections: Connections, addresses: Sequence[HostAddress]) -> list[str]:
    return list(await asyncio.gather(*(uname(connections, address) for address in addresses)))


async def failures(connections: Connections, addresses: Sequence[HostAddress]) -> list[HostError]:
    found = await asyncio.gather(
        *(connections.connect(address) for address in addresses), return_exceptions=True
    )
    assert all(isinstance(error, HostError) for error in found), found
    return [error for error in found if isinstance(error, HostError)]


# ---- key files behind a passphrase


def locked(lab: SshdLab, passphrase: str, form: str = "openssh") -> bytes:
    """The lab's client key behind a passphrase."""
    return asyncssh.read_private_key(lab.client_key).export_private_key(
        form, passphrase=passphrase, rounds=1
    )


@pytest.fixture
def locked_key(lab: SshdLab, tmp_path: Path, alone: Path) -> Path:
    """The lab's client key behind the passphrase `open sesame`."""
    path = tmp_path / "locked"
    path.write_bytes(locked(lab, "open sesame"))
    path.chmod(0o600)
    return path


def with_key(lab: SshdLab, key: Path, names: Sequence[str] | None = None) -> list[HostAddress]:
    chosen = names or lab.names
    return [
        HostAddress(name=name, ssh_config=str(lab.ssh_config), identity=str(key)) for name in chosen
    ]


async def test_passphrase_is_asked_once_for_all_hosts(lab: SshdLab, locked_key: Path) -> None:
    person = Person("open sesame")
    async with Connections(asker=person) as connections:
        assert len(await all_in(connections, with_key(lab, locked_key))) == 4
    assert [question.subject for question in person.asked] == [f"passphrase for {locked_key}"]


async def test_wrong_passphrase_is_asked_again_and_no_server_hears_of_it(
    lab: SshdLab, locked_key: Path
) -> None:
    failed = lab.host("h1").log.count("Failed")
    person = Person("open barley", "open sesame")
    async with Connections(asker=person) as connections:
        assert (await uname(connections, with_key(lab, locked_key)[0])).startswith("Linux ")
    assert "wrong passphrase, 2 of 3 tries left" in person.asked[1].note
    assert lab.host("h1").log.count("Failed") == failed


async def test_three_wrong_passphrases_end_it_for_all_hosts(lab: SshdLab, locked_key: Path) -> None:
    person = Person("a", "b", "c")
    async with Connections(asker=person) as connections:
        errors = await failures(connections, with_key(lab, locked_key))
    assert {error.code for error in errors} == {"key-encrypted"}
    assert f"{locked_key} is encrypted: 3 wrong passphrases" in errors[0].message
    assert len(person.asked) == 3


async def test_no_passphrase_is_asked_for_a_key_that_the_host_does_not_take(
    lab: SshdLab, alone: Path
) -> None:
    useless = alone / "useless"
    useless.write_bytes(
        asyncssh.generate_private_key("ssh-ed25519").export_private_key(passphrase="x", rounds=1)
    )
    person = Person()
    async with Connections(asker=person) as connections:
        (error,) = await failures(connections, with_key(lab, useless, ["h1"]))
    assert error.code == "key-encrypted" and person.asked == []


async def test_passphrase_of_an_old_pem_key_is_asked_for(
    lab: SshdLab, tmp_path: Path, alone: Path
) -> None:
    """Its public half cannot be read, so no server can be asked about it."""
    path = tmp_path / "pem"
    path.write_bytes(locked(lab, "sesame", "pkcs8-pem"))
    person = Person("sesame")
    async with Connections(asker=person) as connections:
        assert (await uname(connections, with_key(lab, path)[0])).startswith("Linux ")


async def test_reconnecting_needs_nobody(lab: SshdLab, locked_key: Path) -> None:
    person = Person("open sesame")
    async with Connections(asker=person) as connections:
        first = await connections.connect(with_key(lab, locked_key)[0])
        await first.close()
        connections.stop_asking()
        assert (await uname(connections, with_key(lab, locked_key)[0])).startswith("Linux ")


# ---- passwords


@pytest.fixture(scope="module")
def walled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshdLab]:
    """Three hosts that take a password and nothing else."""
    root = tmp_path_factory.mktemp("walled")
    with SshdLab(
        root / "lab",
        hosts=3,
        prefix="p",
        extra_config=BY_PASSWORD,
        wrapper=with_password(root, PASSWORD),
    ) as lab:
        yield lab


def refusals(lab: SshdLab) -> list[int]:
    return [host.log.count("Failed password") for host in lab.hosts]


async def refused_since(lab: SshdLab, before: list[int], count: int) -> list[int]:
    """How often each host has refused a password since then, once all logs together tell of
    `count`: sshd is late.
    """

    async def told() -> bool:
        return sum(refusals(lab)) >= sum(before) + count

    await until(told, f"{count} refusals in the logs")
    return sorted(now - then for now, then in zip(refusals(lab), before, strict=True))


async def test_password_is_asked_once_for_all_hosts(walled: SshdLab) -> None:
    person, before = Person(PASSWORD), refusals(walled)
    async with Connections(asker=person) as connections:
        assert len(await all_in(connections, walled.addresses())) == 3
    assert len(person.asked) == 1
    assert walled.user in person.asked[0].subject
    assert refusals(walled) == before


async def test_wrong_password_is_tried_on_one_host_only(walled: SshdLab) -> None:
    person, before = Person("wrong", PASSWORD), refusals(walled)
    async with Connections(asker=person) as connections:
        assert len(await all_in(connections, walled.addresses())) == 3
    assert "2 of 3 tries left" in person.asked[1].note
    assert await refused_since(walled, before, 1) == [0, 0, 1]


async def test_password_that_is_refused_three_times_is_not_tried_elsewhere(walled: SshdLab) -> None:
    person, before = Person("a", "b", "c"), refusals(walled)
    async with Connections(asker=person) as connections:
        errors = await failures(connections, walled.addresses())
    assert {error.code for error in errors} == {"auth-failed"}
    assert all("was refused 3 times" in error.message for error in errors)
    assert await refused_since(walled, before, 3) == [0, 0, 3]


async def test_nothing_typed_gives_up(walled: SshdLab) -> None:
    person, before = Person(None), refusals(walled)
    async with Connections(asker=person) as connections:
        errors = await failures(connections, walled.addresses())
    assert all("no input" in error.message for error in errors)
    assert refusals(walled) == before and len(person.asked) == 1


async def test_without_anybody_to_ask_each_host_says_what_it_wants(
    walled: SshdLab, alone: Path
) -> None:
    async with Connections() as connections:
        errors = await failures(connections, walled.addresses())
    assert {error.code for error in errors} == {"password-needed"}
    assert "accepts a password" in errors[0].message and "ssh-copy-id" in errors[0].message


async def test_password_is_used_again_for_reconnecting(walled: SshdLab) -> None:
    async with Connections(asker=Person(PASSWORD)) as connections:
        await (await connections.connect(walled.address("p1"))).close()
        connections.stop_asking()
        assert (await uname(connections, walled.address("p1"))).startswith("Linux ")


async def test_host_with_a_password_of_its_own_is_asked_about_alone(
    walled: SshdLab, tmp_path: Path
) -> None:
    wrapper = with_password(tmp_path / "etc", "another")
    person = Person(PASSWORD, "another")
    with SshdLab(
        tmp_path / "lab", hosts=1, prefix="q", extra_config=BY_PASSWORD, wrapper=wrapper
    ) as other:
        async with Connections(asker=person) as connections:
            assert (await uname(connections, walled.address("p1"))).startswith("Linux ")
            assert (await uname(connections, other.address("q1"))).startswith("Linux ")
        assert await refused_since(other, [0], 1) == [1]
    assert "refused the password that other hosts accept" in person.asked[1].note


async def test_bastion_and_hosts_have_passwords_of_their_own(
    walled: SshdLab, tmp_path: Path
) -> None:
    """What was typed for one server is not sent to another kind of server."""
    path = tmp_path / "config"
    inner = walled.ssh_config.read_text().replace("Host p2\n", "Host p2\n  ProxyJump p1\n")
    path.write_text(inner.replace("Host p3\n", "Host p3\n  ProxyJump p1\n"))
    person = Person(PASSWORD, PASSWORD)
    async with Connections(ssh_config=path, asker=person) as connections:
        assert len(await all_in(connections, [HostAddress(name="p2"), HostAddress(name="p3")])) == 2
    assert len(person.asked) == 2
    assert str(walled.host("p1").port) in person.asked[0].subject
    assert "p2" in person.asked[1].subject or "p3" in person.asked[1].subject


async def test_pam_conversation_takes_the_password(tmp_path: Path) -> None:
    wrapper = with_password(tmp_path / "etc", PASSWORD, pam=True)
    person = Person("wrong", PASSWORD)
    with SshdLab(tmp_path / "lab", hosts=2, extra_config=BY_PAM, wrapper=wrapper) as lab:
        async with Connections(asker=person) as connections:
            assert len(await all_in(connections, lab.addresses())) == 2
            assert len(person.asked) == 2
            connections.stop_asking()
            assert (await uname(connections, lab.address("h1"))).startswith("Linux ")


async def test_key_and_password_one_after_the_other(tmp_path: Path, alone: Path) -> None:
    wrapper = with_password(tmp_path / "etc", PASSWORD)
    methods = ("PasswordAuthentication yes", "AuthenticationMethods publickey,password")
    person = Person("open sesame", PASSWORD)
    with SshdLab(tmp_path / "lab", hosts=1, extra_config=methods, wrapper=wrapper) as lab:
        key = tmp_path / "key"
        key.write_bytes(locked(lab, "open sesame"))
        async with Connections(asker=person) as connections:
            assert (await uname(connections, with_key(lab, key)[0])).startswith("Linux ")
    assert [question.prompts[0][0] for question in person.asked] == ["Passphrase", "Password"]


# ---- conversations with several prompts: no sshd without a second factor has them, asyncssh's server does


class Doorkeeper(asyncssh.SSHServer):
    """Asks for a password and a code, as one challenge or as two; a code holds once."""

    challenges: tuple[tuple[tuple[str, bool], ...], ...] = (
        (("Password: ", False), ("Verification code: ", True)),
    )
    codes: ClassVar[set[str]] = set()
    log: ClassVar[list[list[str]]] = []

    def __init__(self) -> None:
        self.step = 0

    def begin_auth(self, username: str) -> bool:
        return True

    def kbdint_auth_supported(self) -> bool:
        return True

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> Challenge:
        self.step = 0
        return self._challenge()

    def _challenge(self) -> Challenge:
        return "", "Your token shows a code\x1b[31m", "", list(self.challenges[self.step])

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> bool | Challenge:
        self.log.append(list(responses))
        for (prompt, _), answer in zip(self.challenges[self.step], responses, strict=True):
            if answer not in ({PASSWORD} if "Password" in prompt else self.codes):
                return False
            self.codes.discard(answer)
        self.step += 1
        return True if self.step == len(self.challenges) else self._challenge()


async def answer(process: asyncssh.SSHServerProcess[bytes]) -> None:
    """Run what comes over stdin, as sshd does."""
    shell = await asyncio.create_subprocess_exec("/bin/sh", stdin=-1, stdout=-1, stderr=-1)
    out, err = await shell.communicate(await process.stdin.read())
    process.stdout.write(out)
    process.stderr.write(err)
    process.exit(shell.returncode or 0)


@pytest.fixture(params=["at once", "one by one"])
async def guarded(
    request: pytest.FixtureRequest, tmp_path: Path, alone: Path
) -> AsyncIterator[tuple[Callable[[str], HostAddress], type[Doorkeeper], Path]]:
    """(address of a name for it, the doorkeeper, its known_hosts) of a server that wants password
    and code.
    """

    class Keeper(Doorkeeper):
        codes: ClassVar[set[str]] = {"111111", "222222", "333333"}
        log: ClassVar[list[list[str]]] = []

    if request.param == "one by one":
        Keeper.challenges = tuple((prompt,) for prompt in Doorkeeper.challenges[0])
    key = asyncssh.generate_private_key("ssh-ed25519")
    server = await asyncssh.create_server(
        Keeper,
        "127.0.0.1",
        0,
        server_host_keys=[key],
        process_factory=answer,
        encoding=None,
        gss_host=None,
    )
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{server.get_port()} {key.export_public_key().decode()}")

    def address(name: str) -> HostAddress:
        return HostAddress(name=name, address="127.0.0.1", port=server.get_port(), user="bench")

    yield address, Keeper, known
    server.close()
    await server.wait_closed()


Guarded = tuple[Callable[[str], HostAddress], type[Doorkeeper], Path]


async def test_password_and_code_are_asked_for(guarded: Guarded) -> None:
    address, _, known = guarded
    person = Person(PASSWORD, "111111")
    async with Connections(known_hosts=[known], asker=person) as connections:
        assert (await uname(connections, address("box"))).startswith("Linux ")
    assert [text for question in person.asked for text, _ in question.prompts] in (
        ["Password:", "Verification code:"],
        ["Password", "Verification code:"],
    )
    assert not any("\x1b" in question.note for question in person.asked)


async def test_wrong_code_can_be_typed_again(guarded: Guarded) -> None:
    address, keeper, known = guarded
    person = Person(PASSWORD, "000000", PASSWORD, "222222")
    async with Connections(known_hosts=[known], asker=person) as connections:
        assert (await uname(connections, address("box"))).startswith("Linux ")
    assert any("refused, 2 of 3 tries left" in question.note for question in person.asked)
    assert keeper.log[-1][-1] == "222222"


async def test_three_wrong_codes_are_enough(guarded: Guarded) -> None:
    address, _, known = guarded
    person = Person(*[PASSWORD, "0"] * 3)
    async with Connections(known_hosts=[known], asker=person) as connections:
        (error,) = await failures(connections, [address("box")])
    assert error.code == "auth-failed" and "answers refused 3 times" in error.message


async def test_each_host_gets_a_code_of_its_own(guarded: Guarded) -> None:
    address, keeper, known = guarded
    person = Person(PASSWORD, "111111", "222222", "333333")
    async with Connections(known_hosts=[known], asker=person) as connections:
        assert len(await all_in(connections, [address(name) for name in ("a", "b", "c")])) == 3
    assert keeper.codes == set()


async def test_code_that_cannot_be_used_again_is_warned_of_and_named(guarded: Guarded) -> None:
    address, _, known = guarded
    warnings: list[tuple[str | None, str]] = []
    async with Connections(known_hosts=[known], asker=Person(PASSWORD, "111111")) as connections:
        connections.warn = lambda host, told: warnings.append((host, problem_text(told)))
        await (await connections.connect(address("box"))).close()
        connections.stop_asking()
        (error,) = await failures(connections, [address("box")])
    assert warnings[0][0] == "box"
    assert "'Verification code:'" in warnings[0][1] and "cannot be re-established" in warnings[0][1]
    assert error.code == "one-time-code" and "'Verification code:'" in error.message


async def test_slow_typist_is_waited_for(guarded: Guarded) -> None:
    address, _, known = guarded
    person = Person(PASSWORD, "111111")

    async def slowly(question: Question) -> Sequence[str] | None:
        await asyncio.sleep(3)  # longer than a connection may take
        return await person(question)

    async with Connections(
        known_hosts=[known], asker=slowly, timeouts=Timeouts(2.5)
    ) as connections:
        assert (await uname(connections, address("box"))).startswith("Linux ")


# ---- certificates


async def test_user_certificate_beside_the_key_is_used(
    lab: SshdLab, tmp_path: Path, alone: Path
) -> None:
    authority, key = (
        asyncssh.generate_private_key("ssh-ed25519"),
        asyncssh.generate_private_key("ssh-ed25519"),
    )
    ca, path = tmp_path / "ca.pub", tmp_path / "id"
    ca.write_bytes(authority.export_public_key())
    path.write_bytes(key.export_private_key(passphrase="locked", rounds=1))
    certificate = authority.generate_user_certificate(key, "bench", principals=[lab.user])
    Path(f"{path}-cert.pub").write_bytes(certificate.export_certificate())
    options = (f"TrustedUserCAKeys {ca}", "AuthorizedKeysFile none")
    person = Person("locked")
    with SshdLab(tmp_path / "lab", hosts=1, extra_config=options) as certified:
        path.chmod(0o600)
        async with Connections(asker=person) as connections:
            assert (await uname(connections, with_key(certified, path)[0])).startswith("Linux ")
        assert (
            "Accepted publickey" in certified.hosts[0].log
            and "ED25519-CERT" in certified.hosts[0].log
        )
    assert len(person.asked) == 1


async def test_host_certificate_of_a_known_authority_is_trusted(tmp_path: Path) -> None:
    authority = asyncssh.generate_private_key("ssh-ed25519")
    with SshdLab(tmp_path / "lab", hosts=1) as lab:
        host = lab.hosts[0]
        certificate = authority.generate_host_certificate(host.key, "h1", principals=["127.0.0.1"])
        (host.root / "host_key-cert.pub").write_bytes(certificate.export_certificate())
        host.options = [f"HostCertificate {host.root / 'host_key-cert.pub'}"]
        host.stop()
        host.start()
        pins = tmp_path / "pins"
        pins.write_text(f"@cert-authority * {authority.export_public_key().decode()}")
        path = config(tmp_path / "config", host, lab, f"UserKnownHostsFile {pins}")
        async with Connections(ssh_config=path) as connections:
            assert (await uname(connections, HostAddress(name="h1"))).startswith("Linux ")
