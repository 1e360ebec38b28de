"""Options by which a job would reach files, devices and commands that no plan names."""

from __future__ import annotations

from tui.model.quantities import shown

# Never with any value, by fio's own name.
UNSEEN = {
    "read_iolog": "what it replays, and on which files, is not known before the run",
    "replay_redirect": "what is replayed is not known before the run",
    "merge_blktrace_file": "fio would write a file that no plan names",
    "profile": "fio would run jobs of its own; write them under 'jobs'",
    "libblkio_path": "nobody looks at that device before the run; name it with 'filename'",
}


def reach_problem(name: str, text: str) -> str | None:
    """Return why an option, by fio's own name, reaches what the safety rules do not see, or None."""
    if reason := UNSEEN.get(name):
        return f"found {shown(text)}; it is not allowed: {reason}"
    if name == "ioengine" and text == "exec":
        return "found 'exec': no command of a profile runs on a host"
    if _is_log(name) and ("/" in text or "$" in text):
        return f"found {shown(text)}; a log is given by its plain name: fio overwrites what stands at a path"
    if name in ("iomem", "mem") and text.startswith("mmap") and ":" in text:
        return f"found {shown(text)}; memory from a file is not allowed: fio overwrites that file"
    if name == "cgroup" and ".." in text.split("/"):
        return f"found {shown(text)}; the name of a control group has no '..'"
    return None


def _is_log(name: str) -> bool:
    return name.startswith("write_") and name.endswith("log")
