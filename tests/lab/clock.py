"""A clock that is wrong, or that is set while a load runs: every program of a host is shown another
time of day.

What `faketime` does, without touching the monotonic clock, which fio does not survive.
"""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.lab.sshd import SshdLab, set_env

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
  char text[32];
  const char *path = getenv("CLOCK_OFFSET_FILE");
  int file = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
  int size = file < 0 ? 0 : syscall(SYS_read, file, text, sizeof text - 1);
  if (file >= 0) syscall(SYS_close, file);
  if (size <= 0) return 0;
  text[size] = 0;
  return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = syscall(SYS_clock_gettime, clock, now);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += offset();
  return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *now) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now) *now = exact.tv_sec;
  return exact.tv_sec;
}
"""


class WrongClock:
    """The clock of one host of a lab that has not started yet.

    Skips where nothing can be compiled.
    """

    def __init__(self, lab: SshdLab, host: str) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("no C compiler on this machine")
        place = lab.host(host)
        self._offset = place.root / "clock-offset"
        self.set(0)
        source, library = place.root / "clock.c", place.root / "clock.so"
        source.write_text(SOURCE)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
        own = set_env(place.root, f"LD_PRELOAD={library}", f"CLOCK_OFFSET_FILE={self._offset}")
        place.options = [*place.options, own]

    def set(self, offset_s: int) -> None:
        """Set it so many seconds ahead of the real one."""
        self._offset.write_text(f"{offset_s}\n")
