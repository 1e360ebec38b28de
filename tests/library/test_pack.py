"""A run in one file: it comes back as it was, or it is refused by the name of what was changed."""

from __future__ import annotations

import errno
import gzip
import io
import os
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.agent import ssh_agent
from tests.library.test_verify import RAW, WHOLE
from tui.cli.main import main
from tui.library.archives import HEADER, OLD_HEADER, SUM_BYTES
from tui.library.build import write_record
from tui.library.pack import pack, put_in_place, read_pack
from tui.library.unfinished import unfinished_runs
from tui.library.verify import unpack
from tui.model.problem import BenchtuiError, UsageError

RUN_ID = "20261122T121716Z-demo-quick-f5fa"
needs_ssh_keygen = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="no ssh-keygen on this machine"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_dir = tmp_path_factory.mktemp("made") / RUN_ID
    shutil.copytree(WHOLE, run_dir)
    write_record(run_dir)
    (run_dir / "engine.pid").write_text("1 2 3\n")
    return run_dir


@pytest.fixture(scope="module")
def packed(made: Path) -> Path:
    file = made.parent / "run.tar.gz"
    pack(made, file)
    return file


def contents(run_dir: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(run_dir)): path.read_bytes()
        for path in run_dir.rglob("*")
        if path.is_file()
    }


def test_an_unpacked_run_is_what_was_packed_and_is_private(
    made: Path, packed: Path, tmp_path: Path
) -> None:
    run_dir, signed = unpack(packed, tmp_path / "runs")
    assert (run_dir.name, signed) == (RUN_ID, "")
    found, before = contents(run_dir), contents(made)
    del found["origin.json"], before["engine.pid"], before["summary.json"]
    assert found == before
    assert {path.stat().st_mode & 0o077 for path in (run_dir, *run_dir.rglob("*"))} == {0}


@pytest.mark.parametrize(
    "words",
    [["clean"], ["stop"], ["runs", "resume"], ["runs", "recover"], ["runs", "prove"]],
    ids=" ".join,
)
def test_nothing_is_done_to_hosts_by_the_plan_of_an_unpacked_run(
    packed: Path, home: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir, _ = unpack(packed, home / "runs")
    (run_dir / "journal.jsonl").write_bytes(b"")  # as if it had been cut off
    assert main([*words, RUN_ID]) == 2
    assert (
        "was unpacked from a file; benchtui does not run its plan on hosts"
        in capsys.readouterr().err
    )
    assert unfinished_runs(home / "runs") == []


def test_an_unpacked_run_takes_notes_and_marks(packed: Path, home: Path) -> None:
    unpack(packed, home / "runs")
    assert main(["runs", "note", RUN_ID, "from the other site"]) == 0
    assert main(["runs", "star", RUN_ID]) == 0
    assert main(["runs", "verify", RUN_ID]) == 0


def test_packing_never_writes_over_a_file(made: Path, packed: Path) -> None:
    with pytest.raises(UsageError, match="already exists"):
        pack(made, packed)


@pytest.mark.parametrize(
    "refusal", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EXDEV], ids=errno.errorcode.get
)
def test_a_file_system_needs_no_hard_links(
    refusal: int, made: Path, packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As vfat and sshfs refuse them: no file system without them can be made on every machine."""

    def link(*names: str | Path) -> None:
        raise OSError(refusal, os.strerror(refusal), *map(str, names))

    monkeypatch.setattr(os, "link", link)
    file = tmp_path / "run.tar.gz"
    pack(made, file)
    assert read_pack(file).manifest.files == read_pack(packed).manifest.files
    assert file.stat().st_mode == packed.stat().st_mode
    other = tmp_path / "theirs"
    other.write_text("came meanwhile")
    with pytest.raises(FileExistsError):
        put_in_place(file, other)
    assert other.read_text() == "came meanwhile"
    assert sorted(tmp_path.iterdir()) == [file, other]


def test_a_place_that_cannot_be_written_is_named_as_it_was_given(
    made: Path, tmp_path: Path
) -> None:
    with pytest.raises(BenchtuiError) as caught:
        pack(made, tmp_path / "gone" / "x.tar.gz")
    assert (
        str(caught.value)
        == f"{tmp_path}/gone/x.tar.gz: cannot be written: No such file or directory"
    )


def test_unpacking_never_writes_over_a_run(packed: Path, tmp_path: Path) -> None:
    unpack(packed, tmp_path)
    (tmp_path / RUN_ID / "mine").write_text("x")
    with pytest.raises(UsageError, match="a run of this name exists"):
        unpack(packed, tmp_path)
    assert (tmp_path / RUN_ID / "mine").exists()
    assert [path.name for path in tmp_path.iterdir()] == [RUN_ID]


def test_a_link_in_a_run_is_not_packed(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / RUN_ID)
    (tmp_path / RUN_ID / "raw" / "link").symlink_to("/etc/passwd")
    with pytest.raises(UsageError, match="raw/link: is not a regular file"):
        pack(tmp_path / RUN_ID, tmp_path / "x.tar.gz")
    assert not (tmp_path / "x.tar.gz").exists()


def test_any_byte_that_is_changed_is_noticed(packed: Path, tmp_path: Path) -> None:
    data = packed.read_bytes()
    file = tmp_path / "changed"
    for place in {*range(64), *range(64, len(data) - 24, 499), *range(len(data) - 24, len(data))}:
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(BenchtuiError, match=f"{file}: "):
            read_pack(file)


def test_the_same_files_deflated_in_another_way_are_not_what_was_packed(
    packed: Path, tmp_path: Path
) -> None:
    data, file = packed.read_bytes(), tmp_path / "deflated-again"
    start = len(HEADER) + SUM_BYTES
    file.write_bytes(data[:start] + gzip.compress(gzip.decompress(data), 1)[10:])
    assert [data for _, data in members_of(file)] == [data for _, data in members_of(packed)]
    with pytest.raises(
        BenchtuiError, match="the end: damaged: the files are intact, but the archive was changed"
    ):
        read_pack(file)


def test_a_run_that_was_packed_before_there_was_a_sum_of_the_file_is_read(
    packed: Path, tmp_path: Path
) -> None:
    old, data = tmp_path / "old.tar.gz", packed.read_bytes()
    old.write_bytes(OLD_HEADER + data[len(HEADER) + SUM_BYTES :])
    assert read_pack(old) == read_pack(packed)


def test_a_byte_that_was_changed_on_the_way_is_reported_and_no_file_before_it_is_blamed(
    packed: Path, tmp_path: Path
) -> None:
    data, file, told = packed.read_bytes(), tmp_path / "changed", []
    ends = [
        (each.name.partition("/")[2], each.offset_data + each.size)
        for each, _ in members_of(packed)
    ]
    # behind the manifest, by which the others are judged
    for place in range(len(data) // 4, len(data) - 600, 997):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(BenchtuiError) as raised:
            read_pack(file)
        told.append(str(raised.value).removeprefix(f"{file}: ").partition(": ")[0])
        untouched = len(zlib.decompressobj(31).decompress(data[:place]))
        # the last: it was not left yet
        assert told[-1] not in [name for name, end in ends if end <= untouched][:-1]
    assert {"run.json", RAW} <= set(told)


@pytest.mark.parametrize(
    "more", [b"\0", b"x", gzip.compress(b"more")], ids=["nul", "byte", "stream"]
)
def test_nothing_may_follow(packed: Path, tmp_path: Path, more: bytes) -> None:
    (tmp_path / "longer").write_bytes(packed.read_bytes() + more)
    with pytest.raises(BenchtuiError, match="data after"):
        read_pack(tmp_path / "longer")


def test_a_file_that_was_cut_is_refused(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(packed.read_bytes()[:-5000])
    with pytest.raises(BenchtuiError, match=r"raw/0\.measure\.local\.out\.gz: damaged: "):
        read_pack(tmp_path / "cut")


# -- archives that somebody made by hand


def members_of(file: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    with tarfile.open(file) as archive:
        return [(member, archive.extractfile(member).read()) for member in archive]  # type: ignore[union-attr]


def archive_of(file: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with (
        file.open("wb") as stored,
        gzip.GzipFile("", "wb", 6, stored, 0) as inner,
        tarfile.open(fileobj=inner, mode="w|") as archive,
    ):
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


def test_one_byte_of_one_file_is_refused_by_the_name_of_the_file(
    packed: Path, tmp_path: Path
) -> None:
    members = members_of(packed)
    place = next(n for n, (each, _) in enumerate(members) if each.name.endswith(RAW))
    data = bytearray(members[place][1])
    data[100] ^= 1
    members[place] = (members[place][0], bytes(data))
    with pytest.raises(BenchtuiError, match=f"{RAW}: SHA-256 does not match the manifest"):
        unpack(archive_of(tmp_path / "x", members), tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.parametrize(
    "extra",
    [
        member("../../evil"),
        member("/tmp/evil"),
        member(f"{RUN_ID}/../evil"),
        member(f"{RUN_ID}/raw/evil"),
        member(f"{RUN_ID}/run.json"),
        member(f"{RUN_ID}/raw/link", tarfile.SYMTYPE, "/etc/passwd"),
        member(f"{RUN_ID}/raw/hard", tarfile.LNKTYPE, f"{RUN_ID}/run.json"),
        member(f"{RUN_ID}/raw/dev", tarfile.CHRTYPE),
        member(f"{RUN_ID}/raw/pipe", tarfile.FIFOTYPE),
        member(f"{RUN_ID}/dir", tarfile.DIRTYPE),
    ],
    ids=lambda each: f"{each.name} {each.type.decode()}",
)
def test_what_the_manifest_does_not_name_is_refused(
    packed: Path, tmp_path: Path, extra: tarfile.TarInfo
) -> None:
    file = archive_of(tmp_path / "x", [*members_of(packed), (extra, b"")])
    with pytest.raises(BenchtuiError, match=r"refused: .*is not in the manifest"):
        unpack(file, tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE,
        tarfile.DIRTYPE,
     tarfile.GNUTYPE_SPARSE],
)  # fmt: skip
def test_what_the_manifest_names_must_be_a_plain_file(
    packed: Path, tmp_path: Path, kind: bytes
) -> None:
    members = members_of(packed)
    place = next(n for n, (each, _) in enumerate(members) if each.name.endswith("plan.json"))
    members[place] = (member(members[place][0].name, kind, "/etc/passwd"), b"")
    with pytest.raises(BenchtuiError, match=r"plan\.json"):
        unpack(archive_of(tmp_path / "x", members), tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_file_that_is_larger_than_the_manifest_says_is_refused(
    packed: Path, tmp_path: Path
) -> None:
    members = [
        (each, data + b"\0" * (each.name.endswith("plan.json") << 20))
        for each, data in members_of(packed)
    ]
    with pytest.raises(
        BenchtuiError, match=r"plan\.json: has \d+ bytes; expected \d+, as in the manifest"
    ):
        unpack(archive_of(tmp_path / "x", members), tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda text: text.replace(old, new)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            replaced(b'"plan.json"', b'"../plan.json"'),
            "'../plan.json': not allowed in a packed run",
        ),
        (replaced(b'"plan.json"', b'"/plan.json"'), "'/plan.json': not allowed in a packed run"),
        (replaced(b'"plan.json"', b'"engine.pid"'), "'engine.pid': not allowed in a packed run"),
        (replaced(b'"plan.json"', b'"raw//x"'), "'raw//x': not allowed in a packed run"),
        (replaced(b'"plan.json"', b'".profile"'), "'.profile': not allowed in a packed run"),
        (replaced(b'"plan.json"', b'"run.json"'), "lists files twice"),
        (replaced(RUN_ID.encode(), b".."), "'..' is not a run ID"),
        (replaced(b"pack/1", b"pack/9"), "has schema 'benchtui.pack/9'"),
        (lambda _: b"[]", "not a manifest:"),
    ],
)
def test_a_manifest_with_what_no_run_has_is_refused(
    packed: Path, tmp_path: Path, change: Callable[[bytes], bytes], said: str
) -> None:
    (head, text), *rest = members_of(packed)
    with pytest.raises(BenchtuiError, match=said.replace("..", r"\.\.")):
        unpack(archive_of(tmp_path / "x", [(head, change(text)), *rest]), tmp_path / "runs")


def test_a_run_that_is_larger_than_the_room_is_refused_before_it_is_unpacked(
    packed: Path, tmp_path: Path
) -> None:
    (head, text), *rest = members_of(packed)
    size = next(len(data) for each, data in rest if each.name.endswith("plan.json"))
    huge = text.replace(f'"bytes": {size},'.encode(), f'"bytes": {1 << 60},'.encode())
    assert huge != text
    with pytest.raises(BenchtuiError, match="free in"):
        unpack(archive_of(tmp_path / "x", [(head, huge), *rest]), tmp_path / "runs")


@pytest.mark.parametrize(
    "data", [b"", b"x" * 100, gzip.compress(b"no archive")], ids=["empty", "bytes", "gzip"]
)
def test_any_other_file_is_no_packed_run(
    tmp_path: Path, home: Path, data: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").write_bytes(data)
    assert main(["runs", "verify", str(tmp_path / "other")]) == 1
    assert main(["runs", "unpack", str(tmp_path / "other")]) == 1
    assert f"benchtui: {tmp_path / 'other'}: " in capsys.readouterr().err


# -- signatures


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the keys of mine, a stranger, and one with a passphrase."""
    folder = tmp_path_factory.mktemp("keys")
    for name, passphrase in (("mine", ""), ("stranger", ""), ("locked", "secret")):
        words = [
            "ssh-keygen",
            "-q",
            "-t",
            "ed25519",
            "-N",
            passphrase,
            "-C",
            f"{name}@here",
            "-f",
            str(folder / name),
        ]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return folder


@pytest.fixture
def signed(made: Path, keys: Path, home: Path, tmp_path: Path) -> Path:
    pack(made, tmp_path / "signed.tar.gz", keys / "mine")
    return tmp_path / "signed.tar.gz"


@needs_ssh_keygen
def test_a_signed_run_is_verified_by_anybody_with_the_public_key(
    signed: Path, keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "verify", str(signed), "--signer", str(keys / "mine.pub")]) == 0
    out = capsys.readouterr().out
    assert f"{RUN_ID}: verified: 4 checksums" in out and "signed by ED25519 key SHA256:" in out
    assert main(["runs", "verify", str(signed)]) == 0
    assert "not checked against any --signer" in capsys.readouterr().out


@needs_ssh_keygen
def test_allowed_signers_are_named(
    signed: Path, keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    allowed = tmp_path / "allowed"
    allowed.write_text(
        f'# the team\nme@team namespaces="benchtui,git" {(keys / "mine.pub").read_text()}'
    )
    assert main(["runs", "verify", str(signed), "--signer", str(allowed)]) == 0
    assert "signed by me@team (ED25519 key SHA256:" in capsys.readouterr().out
    allowed.write_text(f'me@team namespaces="git" {(keys / "mine.pub").read_text()}')
    assert main(["runs", "verify", str(signed), "--signer", str(allowed)]) == 1
    assert "signature rejected by" in capsys.readouterr().out


@needs_ssh_keygen
def test_a_stranger_is_refused(
    signed: Path, keys: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "verify", str(signed), "--signer", str(keys / "stranger.pub")]) == 1
    assert "unknown signer: ED25519 key SHA256:" in capsys.readouterr().out
    assert main(["runs", "unpack", str(signed), "--signer", str(keys / "stranger.pub")]) == 1
    assert list((home / "runs").iterdir()) == []


@needs_ssh_keygen
def test_a_run_that_is_not_signed_is_refused_where_a_signer_is_asked_for(
    packed: Path, keys: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "verify", str(packed), "--signer", str(keys / "mine.pub")]) == 1
    assert f"{packed}: not signed" in capsys.readouterr().out


@needs_ssh_keygen
def test_a_signature_of_another_manifest_is_refused(
    signed: Path, keys: Path, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (head, text), *rest = members_of(signed)
    later = text.replace(b'"packed_utc": "2', b'"packed_utc": "3')
    assert later != text
    file = archive_of(tmp_path / "x", [(head, later), *rest])
    for more in ([], ["--signer", str(keys / "mine.pub")]):
        assert main(["runs", "verify", str(file), *more]) == 1
        assert "signature" in capsys.readouterr().out


@needs_ssh_keygen
def test_a_key_with_a_passphrase_that_cannot_be_asked_for_says_what_to_do(
    made: Path, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SSH_AUTH_SOCK", "DISPLAY", "SSH_ASKPASS", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match=r"locked: cannot sign: .*add it to the agent \(ssh-add\)"):
        pack(made, tmp_path / "x", keys / "locked")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def agent(keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An agent that holds the key with the passphrase."""
    askpass = tmp_path / "askpass"
    askpass.write_text("#!/bin/sh\necho secret\n")
    askpass.chmod(0o700)
    asked = {"SSH_ASKPASS": str(askpass), "SSH_ASKPASS_REQUIRE": "force"}
    with ssh_agent(tmp_path / "agent.sock", [keys / "locked"], asked) as path:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        yield


@needs_ssh_keygen
@pytest.mark.parametrize("name", ["locked", "locked.pub"])
def test_a_key_that_the_agent_holds_signs(
    agent: None, made: Path, keys: Path, home: Path, tmp_path: Path, name: str
) -> None:
    pack(made, tmp_path / "signed", keys / name)
    assert (
        main(["runs", "verify", str(tmp_path / "signed"), "--signer", str(keys / "locked.pub")])
        == 0
    )


@needs_ssh_keygen
@pytest.mark.parametrize(
    ("name", "said"), [("nowhere", "cannot be read: No such file"), ("mine", "is a private key")]
)
def test_a_signer_that_is_no_public_key(
    signed: Path, keys: Path, name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "verify", str(signed), "--signer", str(keys / name)]) == 2
    assert said in capsys.readouterr().err


def test_a_report_goes_with_the_run_and_is_proved_like_its_files(
    made: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir, file, plain = (
        home / "runs" / RUN_ID,
        tmp_path / "run.tar.gz",
        tmp_path / "plain.tar.gz",
    )
    shutil.copytree(made, run_dir)
    (run_dir / "report.html").write_text("of another time")
    assert main(["runs", "pack", RUN_ID, "-o", str(file)]) == 0
    assert main(["runs", "pack", RUN_ID, "-o", str(plain), "--no-report"]) == 0
    assert not [member.name for member, _ in members_of(plain) if "report" in member.name]
    unpacked, _ = unpack(file, tmp_path / "runs")
    text = (unpacked / "report.html").read_text()
    assert "<h1>" in text and RUN_ID in text
    was, now = b"Storage benchmark", b"storage benchmark"
    forged = [
        (member, data.replace(was, now) if member.name.endswith("report.html") else data)
        for member, data in members_of(file)
    ]
    capsys.readouterr()
    assert main(["runs", "verify", str(archive_of(tmp_path / "forged", forged))]) == 1
    assert "report.html: SHA-256 does not match the manifest" in capsys.readouterr().out
