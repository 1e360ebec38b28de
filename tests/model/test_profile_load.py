"""Every rule of a profile has a broken profile here, with the exact message."""

from __future__ import annotations

import pytest

from tui.model.problem import UsageError
from tui.model.profile import Profile
from tui.model.profile_load import load_profile
from tui.model.profile_model import whole

GOOD = """\
profile: test/x
title: A test
tool: fio
params:
  directory: {default: /mnt/t, kind: directory}
  runtime: {default: 60s, kind: duration}
  size: {default: 4G, kind: size}
fio:
  global: {ioengine: psync, directory: "{directory}/{host}"}
  jobs:
    a: {rw: randread, bs: 4k, time_based: 1, runtime: "{runtime}", size: "{size}"}
prepare: {layout: true}
headline: {metric: iops, direction: read}
"""
JOB = '    a: {rw: randread, bs: 4k, time_based: 1, runtime: "{runtime}", size: "{size}"}\n'


def load(text: str) -> Profile:
    return load_profile(text, "p.yaml")


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        load(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "straggler.rat: 0.7",
            (
                "12: findings: found the key 'straggler.rat'; unknown threshold (did you"
                " mean 'straggler.r"
            ),
        ),
        ("straggler.rate: -1", "28: findings.straggler.rate: found -1; allowed: 0 or more"),
        ("straggler.rate: much", "28: findings.straggler.rate: found 'much'; allowed: a number"),
    ],
)
def test_a_threshold_that_is_none_is_named_with_its_line(given: str, said: str) -> None:
    assert refusal(f"{GOOD}findings: {{{given}}}\n").startswith(
        f"p.yaml:{GOOD.count(chr(10)) + 1}:{said}"
    )


def test_thresholds_of_checks_may_be_changed() -> None:
    assert load(f"{GOOD}findings: {{straggler.rate: 0.7}}\n").findings == {"straggler.rate": 0.7}


def replaced(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def with_option(option: str) -> str:
    """The good profile with one more option in its job, on line 11, column 9."""
    return replaced("a: {rw: randread,", "a: {" + option + ", rw: randread,")


def test_a_good_profile_loads() -> None:
    profile = load(GOOD)
    assert profile.profile == "test/x"
    assert profile.version == 1
    assert list(profile.body.jobs) == ["a"]
    assert profile.prepare.layout is True


@pytest.mark.parametrize(
    ("mode", "direction"), [("randtrim", "trim"), ("trimwrite", "trim"), ("trimwrite", "write")]
)
def test_a_headline_may_be_of_trims(mode: str, direction: str) -> None:
    found = load(
        GOOD.replace("randread", mode).replace("direction: read", f"direction: {direction}")
    )
    assert found.headline.direction == direction


def test_a_headline_may_be_of_syncs_where_a_job_syncs() -> None:
    about = "{metric: latency, direction: sync, percentile: 99}"
    text = GOOD.replace("{metric: iops, direction: read}", about).replace("randread", "write")
    assert load(text.replace("bs: 4k", "bs: 4k, fdatasync: 1")).headline.direction == "sync"
    assert (
        refusal(text)
        == "p.yaml:13:40: direction: found sync, but no job sets fsync, fdatasync, sync_file_range"
    )


def test_what_is_absent_has_the_careful_default() -> None:
    profile = load(replaced("prepare: {layout: true}\n", ""))
    assert (profile.prepare.layout, profile.prepare.cleanup) == (False, False)
    assert (profile.drop_caches, profile.latency, profile.allow_device) == ("no", "clat", False)


@pytest.mark.parametrize("word", ["no", "false", "'no'"])
def test_drop_caches_no_is_the_word_however_yaml_reads_it(word: str) -> None:
    assert load(GOOD + f"drop_caches: {word}\n").drop_caches == "no"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "title: A test", "titel: A test",
            "p.yaml:1:1: missing key 'title'\n"
            "p.yaml:2:1: unknown key 'titel' (did you mean 'title'?); allowed: "
            + ", ".join(field.alias or name for name, field in whole().model_fields.items()),
        ),
        ("title: A test", "title: [A]", "p.yaml:2:8: title: found a list; allowed: text"),
        ("title: A test", 'title: "A\\ntest"', "p.yaml:2:8: title: must be one printable line"),
        (
            "profile: test/x", "profile: Test X",
            "p.yaml:1:10: profile: found 'Test X'; must match family/name in lower case, "
            "such as weka/read-iops",
        ),
        (
            "profile: test/x", "profile: ../x",
            "p.yaml:1:10: profile: found '../x'; must match family/name in lower case, "
            "such as weka/read-iops",
        ),
        (
            "tool: fio",
            "tool: iozone",
            "p.yaml:3:7: tool: found 'iozone'; allowed: 'elbencho', 'fio', 'io500', 'ior', 'mdtest', 'suite'",
        ),
        ("tool: fio", "tool: fio\nversion: 0",
            "p.yaml:4:10: version: found 0; allowed: 1 or more"),
        ("tool: fio", "tool: fio\nversion: x",
            "p.yaml:4:10: version: found 'x'; allowed: a whole number"),
        (
            "tool: fio", "tool: fio\nsource: {section: x}",
            "p.yaml:4:1: missing key 'document' in 'source'",
        ),
        (
            "tool: fio", "tool: fio\nlatency: slat",
            "p.yaml:4:10: latency: found 'slat'; allowed: 'clat', 'lat'",
        ),
        (
            "tool: fio", "tool: fio\ndrop_caches: maybe",
            "p.yaml:4:14: drop_caches: found 'maybe'; allowed: 'no', 'try', 'require'",
        ),
        (
            "tool: fio", "tool: fio\ndrop_caches: true",
            "p.yaml:4:14: drop_caches: found true; allowed: 'no', 'try', 'require'",
        ),
        (
            "tool: fio", "tool: fio\nhosts: {published: 0}",
            "p.yaml:4:20: hosts.published: found 0; allowed: 1 or more",
        ),
        (
            "tool: fio", "tool: fio\ndeviations: [{what: size, kind: other, why: x}]",
            "p.yaml:4:33: deviations.0.kind: found 'other'; allowed: 'defaulted', 'reconstructed', 'deviation'",
        ),
        (
            "{metric: iops, direction: read}", "{metric: iops}",
            "p.yaml:13:1: missing key 'direction' in 'headline'",
        ),
        (
            "{metric: iops, direction: read}", "{metric: speed, direction: read}",
            "p.yaml:13:20: headline.metric: found 'speed'; allowed: 'iops', 'bandwidth', 'latency', 'ops', 'score'",
        ),
        (
            "{metric: iops, direction: read}",
            "{metric: latency, direction: read, percentile: 101}",
            "p.yaml:13:58: headline.percentile: found 101; allowed: 100 or less",
        ),
        (
            "{metric: iops, direction: read}", "{metric: iops, direction: read, percentile: 99}",
            "p.yaml:13:43: a percentile requires metric latency; the metric is iops",
        ),
        (
            "{metric: iops, direction: read}", "{metric: iops, direction: write}",
            "p.yaml:13:37: direction: found write, but the jobs do randread",
        ),
    ],
)  # fmt: skip
def test_a_key_is_checked(old: str, new: str, message: str) -> None:
    assert refusal(replaced(old, new)) == message


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("{kind: size}", "p.yaml:7:3: missing key 'default' in 'params.size'"),
        ("{default: 4G}", "p.yaml:7:3: missing key 'kind' in 'params.size'"),
        (
            "{default: 4G, kind: bytes}",
            (
                "p.yaml:7:29: params.size.kind: found 'bytes'; allowed: 'directory', 'path',"
                " 'device', 'duration', 'size', 'count', 'number', 'text', 'flag', 'choice',"
                " 'secret'"
            ),
        ),
        (
            "{default: 4G, kind: size, hlep: x}",
            (
                "p.yaml:7:35: unknown key 'hlep' (did you mean 'help'?); "
                "allowed: default, kind, help, choices, min, max, spread"
            ),
        ),
        (
            "{default: 4Q, kind: size}",
            (
                "p.yaml:7:19: parameter 'size': '4Q' is not a size; expected bytes as a whole number, "
                "or a number with k, m, g, t or p (powers of 1024), such as 4k, 128G"
            ),
        ),
        (
            "{default: 0, kind: size}",
            "p.yaml:7:19: parameter 'size': 0 is not allowed; must be greater than 0",
        ),
        (
            "{default: soon, kind: duration}",
            (
                "p.yaml:7:19: parameter 'size': 'soon' is not a duration; expected seconds, or a number with"
                " us, ms, s, m, h or d, such as 300s, 15m, 1h30m"
            ),
        ),
        (
            "{default: 0, kind: count}",
            "p.yaml:7:19: parameter 'size': 0 is not a count; expected a whole number of 1 or more",
        ),
        ("{default: many, kind: number}", "p.yaml:7:19: parameter 'size': 'many' is not a number"),
        (
            "{default: maybe, kind: flag}",
            (
                "p.yaml:7:19: parameter 'size': 'maybe' is not a flag; expected yes, no, true,"
                " false, on, off, 1, 0"
            ),
        ),
        (
            "{default: mnt, kind: directory}",
            ("p.yaml:7:19: parameter 'size': 'mnt' is not an absolute path; it must begin with /"),
        ),
        (
            "{default: /mnt/$HOME, kind: directory}",
            (
                "p.yaml:7:19: parameter 'size': '/mnt/$HOME' contains characters that are not allowed in a path: $"
            ),
        ),
        (
            "{default: c, kind: choice, choices: [a, b]}",
            "p.yaml:7:19: parameter 'size': 'c' is not allowed; expected one of a, b",
        ),
        (
            "{default: c, kind: choice}",
            "p.yaml:7:3: parameter 'size': 'choices' belongs to kind choice; set both or neither",
        ),
        (
            "{default: 4G, kind: size, max: 1G}",
            "p.yaml:7:19: parameter 'size': '4G' is not allowed; expected at most 1G",
        ),
        (
            "{default: 4G, kind: size, min: lots}",
            (
                "p.yaml:7:40: parameter 'size': min: 'lots' is not a size; expected bytes as a whole number,"
                " or a number with k, m, g, t or p (powers of 1024), such as 4k, 128G"
            ),
        ),
        (
            "{default: x, kind: text, min: 1}",
            "p.yaml:7:34: 'min' is allowed for the kinds size, duration, count, number, not for text",
        ),
        (
            "{default: /dev/sdb, kind: device}",
            "p.yaml:7:35: kind device requires 'allow_device: true', because the run overwrites the device",
        ),
    ],
)
def test_a_parameter_is_checked(param: str, message: str) -> None:
    lines = refusal(replaced("{default: 4G, kind: size}", param)).splitlines()
    assert lines[0] == message


def test_a_parameter_that_no_option_uses_is_an_error() -> None:
    assert (
        refusal(replaced("  size:", "  depth: {default: 1, kind: count}\n  size:"))
        == "p.yaml:7:3: parameter 'depth' is never used: no option contains {depth}"
    )


def test_a_parameter_may_not_be_named_like_what_every_host_has() -> None:
    assert "p.yaml:7:3: parameter 'host': reserved: {host}" in refusal(
        replaced("  size:", "  host: {default: x, kind: text}\n  size:")
    )


def test_a_parameter_has_a_plain_name() -> None:
    assert (
        refusal(replaced("  size:", "  Max-Size: {default: 1, kind: count}\n  size:")).splitlines()[
            0
        ]
        == "p.yaml:7:3: params: found the key 'Max-Size'; must match a lower-case letter, "
        "then lower-case letters, digits or _"
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("iodpeth: 4", "p.yaml:11:9: unknown fio option 'iodpeth' (did you mean 'iodepth'?)"),
        (
            "stonewall: 1",
            "p.yaml:11:9: 'stonewall' is not allowed in a profile: one fio process runs one step; "
            "write one profile per step",
        ),
        (
            "wait_for: b",
            "p.yaml:11:9: 'wait_for' is not allowed in a profile: one fio process runs one step; "
            "write one profile per step",
        ),
        (
            "status-interval: 1",
            "p.yaml:11:9: 'status-interval' is not allowed in a profile: benchtui requests a status every second",
        ),
        (
            "group_reporting: 0",
            "p.yaml:11:26: group_reporting: found '0'; allowed: 1: benchtui always reports by group",
        ),
        ("blocksize: 8k", "p.yaml:11:38: 'bs' and 'blocksize' are the same fio option; use one of them"),
        (
            "iodepth: deep",
            "p.yaml:11:18: iodepth: found 'deep'; allowed: a whole number, optionally with k, m or g (powers of 1024)",
        ),
        ("rwmixread: 101",
            "p.yaml:11:20: rwmixread: found '101'; the largest allowed value is 100"),
        ("direct: yes",
            "p.yaml:11:17: direct: found 'yes'; allowed: 0 and 1, or true and false"),
        ("ramp_time: 1h30m",
            "p.yaml:11:20: ramp_time: found '1h30m', which fio misreads; write 5400s"),
        ("io_size: 4GiB", "p.yaml:11:18: io_size: found '4GiB', which fio misreads; write 4G"),
        (
            "invalidate: [1]",
            "p.yaml:11:21: fio.jobs.a.invalidate: found a list; allowed: text, true or false, a number",
        ),
        (
            "iodepth: '{depth}'",
            "p.yaml:11:18: unknown placeholder {depth}; allowed: directory, runtime, size, "
            "host, host_index, next_index",
        ),
        (
            "nrfiles: '{sise}'",
            "p.yaml:11:18: unknown placeholder {sise} (did you mean 'size'?); "
            "allowed: directory, runtime, size, host, host_index, next_index",
        ),
        (
            "comm: 'x{size'",
            "p.yaml:11:15: comm: found 'x{size'; unmatched brace; write {{ or }} for a literal brace",
        ),
        ("filename: f;g",
            "p.yaml:11:19: filename: found 'f;g'; fio ignores everything after '#' or ';'"),
        ('comm: "a\\nb"', "p.yaml:11:15: comm: a value must be one line"),
        (
            "filename: /dev/sdb",
            "p.yaml:11:19: filename: /dev/sdb is a device; this requires 'allow_device: true', because"
            " the run overwrites the device",
        ),
    ],
)  # fmt: skip
def test_an_option_is_checked(option: str, message: str) -> None:
    assert refusal(with_option(option)) == message


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (
            "    a: {rw: foo}\n",
            "p.yaml:11:13: rw: found 'foo'; allowed: read, write, trim, randread, randwrite",
        ),
        ("    a: {rw: randread, time_based: 1}\n", "p.yaml:11:23: time_based requires runtime"),
        (
            "    a: {rw: randread, runtime: 0}\n",
            "p.yaml:11:32: runtime: 0 means no limit; expected a time above 0",
        ),
        (
            "    a: {rw: randread, timeout: 0ms}\n",
            "p.yaml:11:32: timeout: 0 means no limit; expected a time above 0",
        ),
        (
            "    a/b: {rw: randread}\n",
            "p.yaml:11:5: found 'a/b'; a job name must be printable, without [ ] ; # / :",
        ),
        (
            "    global: {rw: randread}\n",
            "p.yaml:11:5: found 'global'; a job name must be printable, without [ ] ; # / :",
        ),
        ("    a: 5\n", "p.yaml:11:8: fio.jobs.a: found 5; allowed: a mapping"),
        (
            "    a: {rw: randread, directory: t}\n",
            "p.yaml:11:34: directory: found 't'; expected an absolute path",
        ),
    ],
)
def test_a_job_is_checked(new: str, message: str) -> None:
    assert any(line.startswith(message) for line in refusal(replaced(JOB, new)).splitlines())


def test_a_placeholder_over_two_lines_is_reported_in_one() -> None:
    assert (
        refusal(with_option('comm: "{si\\nze}"'))
        == "p.yaml:11:15: unknown placeholder {si ze} (did you mean 'size'?); "
        "allowed: directory, runtime, size, host, host_index, next_index"
    )


def test_jobs_may_not_be_empty() -> None:
    assert (
        refusal(replaced("  jobs:\n" + JOB, "  jobs: {}\n")).splitlines()[-1]
        == "p.yaml:10:9: fio.jobs: found a mapping; must not be empty"
    )


def test_a_profile_without_jobs_says_so() -> None:
    assert "p.yaml:8:1: missing key 'jobs' in 'fio'" in refusal(replaced("  jobs:\n" + JOB, ""))


def test_files_must_have_a_place() -> None:
    text = replaced('directory: "{directory}/{host}"', 'comm: "{directory}"')
    assert refusal(text) == "p.yaml:8:1: fio: 'directory' or 'filename' is required"


def test_an_engine_without_files_needs_no_place() -> None:
    assert load(
        replaced(
            'psync, directory: "{directory}/{host}"',
            'rbd, pool: x, rbdname: y, comm: "{directory}"',
        )
    )


def test_a_relative_filename_needs_a_directory() -> None:
    text = replaced('directory: "{directory}/{host}"', 'filename: f1, comm: "{directory}"')
    assert (
        refusal(text)
        == "p.yaml:9:39: filename: found 'f1'; expected an absolute path, or set 'directory'"
    )


def test_layout_may_be_left_to_a_flag() -> None:
    text = replaced("{layout: true}", "{layout: '{fill}'}").replace(
        "params:\n", "params:\n  fill: {default: true, kind: flag}\n"
    )
    assert load(text).prepare.layout == "{fill}"


@pytest.mark.parametrize("layout", ["'{size}'", "'{nothing}'", "maybe", "'{}'", "'x{size}'"])
def test_layout_may_be_nothing_else(layout: str) -> None:
    assert "; allowed: true, false, or the name of a flag parameter in braces" in refusal(
        replaced("{layout: true}", f"{{layout: {layout}}}")
    )


def test_unified_reporting_leaves_only_mixed() -> None:
    assert (
        refusal(with_option("unified_rw_reporting: 1"))
        == "p.yaml:13:37: direction: found read, but unified_rw_reporting leaves only mixed"
    )


def test_a_device_may_be_named_where_the_profile_says_so() -> None:
    assert load(with_option("filename: /dev/sdb") + "allow_device: true\n").allow_device


def test_unknown_options_can_be_passed_on() -> None:
    text = with_option("brand_new: 7").replace("  jobs:", "  extra_options: [brand_new]\n  jobs:")
    assert load(text).body.extra_options == ["brand_new"]


def test_an_engine_from_a_file_has_options_of_its_own() -> None:
    text = replaced(
        "ioengine: psync", "ioengine: external:/usr/lib/libfio_vitastor.so, image: testimg"
    )
    assert load(text).body.shared["image"] == "testimg"


def test_an_option_without_a_value_is_set() -> None:
    assert load(with_option("thread: ~")).body.jobs["a"]["thread"] is None


def test_doubled_braces_are_characters() -> None:
    assert load(with_option("comm: 'x{{y}}'"))


def test_all_mistakes_come_at_once_in_the_order_of_the_file() -> None:
    text = """\
profile: Bad
titel: x
title: [a]
tool: iozone
params:
  size: {default: 4Q, kind: size}
  n: {kind: count}
  unused: {default: 1, kind: count}
fio:
  globals: {}
  global: {rw: foo, ioengine: [1], bss: 2}
  jobs:
    a: {bs: "{sze}", size: "{size}", iodepth: "{n}"}
drop_caches: maybe
headline: {metric: iops}
"""
    places = [line.split(": ")[0].removeprefix("p.yaml:") for line in refusal(text).splitlines()]
    assert places == [
        "1:10", "2:1", "3:8", "4:7", "6:19", "7:3", "8:3", "10:3", "11:16", "11:31", "11:36",
        "13:13", "14:14", "15:1",
    ]  # fmt: skip
