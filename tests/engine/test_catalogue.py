from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tui.engine.inputs.profile_files import free_tag
from tui.engine.inputs.profiles import Catalogue, headline_text, retagged
from tui.model.paths import presets_dir
from tui.model.problem import UsageError

PRESET = presets_dir() / "weka" / "read-iops.yaml"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "profiles"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refusal(catalogue: Catalogue, name: str) -> str:
    with pytest.raises(UsageError) as caught:
        catalogue.load(name)
    return str(caught.value)


def test_without_a_folder_of_ones_own_there_are_the_presets(own: Path) -> None:
    entries = Catalogue(own).list()
    assert len(entries) >= 12
    assert all(
        entry.preset and entry.error is None and entry.title and entry.headline for entry in entries
    )


def test_a_list_says_of_every_preset_what_the_whole_profile_says(own: Path) -> None:
    catalogue = Catalogue(own)
    listed = [(entry.tag, entry.title, entry.tool, entry.headline) for entry in catalogue.list()]
    profiles = [catalogue.load(tag).profile for tag in catalogue.names()]
    assert listed == [
        (each.profile, each.title, each.tool, headline_text(each)) for each in profiles
    ]


def test_a_profile_comes_with_its_text_and_its_hash(own: Path) -> None:
    loaded = Catalogue(own).load("weka/read-iops")
    assert (loaded.profile.profile, loaded.path, loaded.preset) == ("weka/read-iops", PRESET, True)
    assert loaded.text == PRESET.read_text()
    assert loaded.sha256 == hashlib.sha256(PRESET.read_bytes()).hexdigest()


def test_ones_own_profile_wins_over_the_preset_of_the_same_tag(own: Path) -> None:
    path = write(own, "x.yaml", PRESET.read_text().replace("WEKA read IOPS", "mine", 1))
    loaded = Catalogue(own).load("weka/read-iops")
    assert (loaded.path, loaded.preset, loaded.profile.title) == (path, False, "mine")
    assert [entry.title for entry in Catalogue(own).list() if entry.tag == "weka/read-iops"] == [
        "mine"
    ]


def test_a_broken_file_is_listed_with_its_error_and_hides_nothing(own: Path) -> None:
    path = write(own, "my/broken.yaml", "profile: my/broken\ntool: [\n")
    write(own, "my/binary.yaml", "x").write_bytes(b"\xff\xfe")
    entries = {entry.tag: entry for entry in Catalogue(own).list()}
    assert str(entries["my/broken"].error).startswith(f"{path}:3:1: broken YAML")
    assert (
        entries["my/binary"].error
        == f"{own}/my/binary.yaml: not UTF-8 text: invalid byte at offset 0"
    )
    assert entries["weka/read-iops"].error is None
    assert "my/broken" not in Catalogue(own).names()


def test_a_folder_with_the_name_of_a_profile_is_listed_with_its_error(own: Path) -> None:
    (own / "odd.yaml").mkdir(parents=True)
    assert {entry.tag: entry.error for entry in Catalogue(own).list()}[
        "odd"
    ] == f"{own}/odd.yaml: cannot be read: Is a directory"


def test_a_broken_copy_is_not_replaced_by_the_preset_behind_ones_back(own: Path) -> None:
    path = write(own, "weka/read-iops.yaml", PRESET.read_text().replace("tool: fio", "tool: foo"))
    told = refusal(Catalogue(own), "weka/read-iops")
    assert (
        told == f"{path}:6:7: tool: found 'foo'; allowed: 'elbencho', 'fio', 'io500', 'ior',"
        " 'mdtest', 'suite'"
    )


def test_two_files_of_ones_own_may_not_share_a_tag(own: Path) -> None:
    first, second = (write(own, name, PRESET.read_text()) for name in ("a.yaml", "b.yaml"))
    assert refusal(Catalogue(own), "weka/read-iops") == f"{second}: has the same tag as {first}"


def test_a_profile_may_be_named_by_its_file(own: Path, tmp_path: Path) -> None:
    path = write(tmp_path, "elsewhere.yaml", PRESET.read_text())
    assert Catalogue(own).load(str(path)).path == path


def test_a_profile_named_by_its_file_finds_its_members_and_bases_beside_it(
    own: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    member = retagged(Catalogue(own).load("demo/quick").text, "lab/one")
    (folder / "one.yaml").write_text(member)
    (folder / "two.yaml").write_text("profile: lab/two\ntitle: Two\nextends: lab/one\n")
    (folder / "all.yaml").write_text(
        "profile: lab/all\ntitle: All\ntool: suite\nsuite: [lab/one, lab/two]\n"
    )
    loaded = Catalogue(own).load(str(folder / "all.yaml"))
    assert [each.path.name for each in loaded.members.values()] == ["one.yaml", "two.yaml"]
    kept = own / "lab" / "one.yaml"
    kept.parent.mkdir(parents=True)
    kept.write_text(member)
    assert Catalogue(own).load(str(folder / "all.yaml")).members["lab/one"].path == kept, (
        "own profiles come first"
    )


def test_an_unknown_name_is_refused_with_the_nearest(own: Path) -> None:
    assert (
        refusal(Catalogue(own), "weka/read-iop")
        == "unknown profile 'weka/read-iop' (did you mean 'weka/read-iops'?); see benchtui profiles"
        " list"
    )


def test_a_missing_file_is_refused(own: Path) -> None:
    assert (
        refusal(Catalogue(own), "./none.yaml")
        == "none.yaml: cannot be read: No such file or directory"
    )


def test_a_preset_is_copied_once_for_editing(own: Path) -> None:
    catalogue = Catalogue(own)
    path = catalogue.copy_to_user("weka/read-iops")
    assert path == own / "weka" / "read-iops.yaml"
    assert path.read_text() == PRESET.read_text()
    path.write_text(path.read_text() + "# changed\n")
    assert catalogue.copy_to_user("weka/read-iops") == path
    assert path.read_text().endswith("# changed\n")


def test_a_broken_file_of_ones_own_can_be_edited(own: Path) -> None:
    path = write(own, "my/x.yaml", "profile: [")
    assert Catalogue(own).copy_to_user("my/x") == path
    assert Catalogue(own).copy_to_user(str(path)) == path


def test_a_folder_that_cannot_be_written_is_refused(own: Path) -> None:
    own.parent.mkdir(exist_ok=True)
    own.write_text("a file, not a folder")
    with pytest.raises(UsageError, match="cannot be written: "):
        Catalogue(own).copy_to_user("weka/read-iops")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# c\nprofile: a/b  # tag\ntitle: x\n", "# c\nprofile: c/d  # tag\ntitle: x\n"),
        ("profile: 'a/b'\n", "profile: c/d\n"),
        ("{title: x, profile: a/b}\n", "{title: x, profile: c/d}\n"),
        ("title: |\n  profile: no\nprofile: a/b\n", "title: |\n  profile: no\nprofile: c/d\n"),
    ],
)
def test_a_tag_is_changed_where_it_stands(text: str, expected: str) -> None:
    assert retagged(text, "c/d") == expected


def test_a_free_name_is_found_however_many_are_taken() -> None:
    taken = {"my/read", *(f"my/read-{number}" for number in range(2, 80))}

    class Taken(Catalogue):
        def own_file(self, name: str) -> Path | None:
            return Path(name) if name in taken else None

    assert free_tag(Taken(Path("/nowhere")), "my/read") == "my/read-80"
    assert free_tag(Taken(Path("/nowhere")), "my/write") == "my/write"
