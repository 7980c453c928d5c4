"""Frames through the live switch between devices in memory: all accounted for, none altered but
those that are trimmed, and in bounded memory, while its scheme changes, trimming and flow control
come and go, offload headers lie and a capture runs (`crates/live/examples/frames.rs`).

    python -m evidence.robustness.live_frames [COUNT]

The figure on docs/reliability.md is for a COUNT of 100000000.
"""

import json
import subprocess
import sys
import time

MOST_MEMORY = 64 << 20
MUST_BE_ZERO = ("unaccounted", "foreign", "left", "uncaptured")
TRIMS_FROM = 1_000_000
"""Half of so many frames meet a switch that trims."""


def main() -> int:
    """Runs it and judges: the exit code."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    # Built as for tests: optimised, with its assertions.
    words = ["cargo", "build", "--locked", "--quiet", "--example", "frames"]
    subprocess.run([*words, "--package", "switchbed-live"], check=True)
    begin = time.monotonic()
    done = subprocess.run(
        ["target/debug/examples/frames", str(count)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    print(json.dumps(found | {"seconds": round(time.monotonic() - begin, 1)}))
    wrong = [name for name in MUST_BE_ZERO if found[name] != 0]
    if found["frames"] != count + found["parts"]:
        wrong.append("frames")
    if found["memory_bytes"] > MOST_MEMORY:
        wrong.append("memory_bytes")
    if count >= TRIMS_FROM:
        wrong += [name for name in ("cut", "lies", "parts", "captured") if found[name] == 0]
    for name in wrong:
        print(f"live_frames: {name} is {found[name]}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
