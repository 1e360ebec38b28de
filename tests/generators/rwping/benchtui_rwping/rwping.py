"""The load: writes and reads of a file in turns; a line a second, and what it counted at the end.

It measures reads and writes with one clock and one list, as some tools do, and prints percentiles
of each second.
"""

import os
import sys
import time

BLOCK, BLOCKS, PAUSE_S = 4096, 16, 0.002


def percentile(waits: list[int], share: int) -> int:
    return sorted(waits)[max(0, -(-len(waits) * share // 100) - 1)]


def told(word: str, now: float, reads: int, writes: int, waits: list[int]) -> None:
    counts = " ".join(str(each) for each in (reads, writes, *waits))
    tail = f"p99={percentile(waits, 99)} p50={percentile(waits, 50)}" if waits else "p99=- p50=-"
    print(word, round(now * 1000), tail, counts, flush=True)


def main(path: str, seconds: float) -> None:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.truncate(path, BLOCK * BLOCKS)
    begin = second = time.time()
    print("begin", round(begin * 1000), flush=True)
    reads = writes = number = 0
    waits: list[int] = []
    while time.time() < begin + seconds:
        before = time.perf_counter_ns()
        if number % 3:
            os.pread(file, BLOCK, number % BLOCKS * BLOCK)
            reads += 1
        else:
            os.pwrite(file, bytes(BLOCK), number % BLOCKS * BLOCK)
            writes += 1
        waits.append(time.perf_counter_ns() - before)
        number += 1
        time.sleep(PAUSE_S)
        if (now := time.time()) >= second + 1:
            told("second", now, reads, writes, waits)
            second, reads, writes, waits = now, 0, 0, []
    told("last", time.time(), reads, writes, waits)
    print("end", flush=True)


main(sys.argv[1], float(sys.argv[2]))
