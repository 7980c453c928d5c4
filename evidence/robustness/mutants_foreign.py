"""Changes files of other programs at random, and command lines: none may end in an internal error,
nor leave a scenario that `switchbed scenario check` refuses.

    python -m evidence.robustness.mutants_foreign [--files 20000] [--lines 10000] [--seed N]

Files are config_db.json of SONiC and what `tc -j -d qdisc show` prints. Command lines have nan,
inf, 1e400 and thirty digits where numbers stand. All are tried in this process, by the functions
that the commands call, or by the commands themselves.
"""

import argparse
import collections
import copy
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from evidence.kept import Kept
from switchbed import _native
from switchbed._native import Mistake
from switchbed.cli import cli
from switchbed.sonic import importing as sonic
from switchbed.tc import importing as tc

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests" / "support"))

import sonic_configs

FILES, LINES_TRIED = 20_000, 10_000
"""Files, command lines and seed of the page's figures."""
SLOW_S = 10.0
"""Of the processor: others may use it, too."""
LONGEST = 1000
"""Characters of a message."""
VALUES: list[Any] = [
    *("", "0", "-1", "1", "5", "101", "1e400", "nan", "inf", "9" * 30, "\u0661\u0662", "1_000"),
    *(" 7", "x" * 10_000, "a\nb", "0-2000000000", "Ethernet0,Ethernet4", "[BUFFER_POOL|x]"),
    *("STRICT", "DWRR", "true", "ecn_all", "NULL", "\ud7ff", "{}", "0x10", "+3", "1.5"),
    *(0, 1, -1, 2, 16, 65_536, 2**31, 2**63, 10**30, 0.5, -0.5, 1e308, True, False, None),
    *([], {}, [1], ["a"], {"a": "b"}, [[]]),
]
NUMBERS = [
    "nan",
    "inf",
    "-inf",
    "1e400",
    "9" * 30,
    "0",
    "-1",
    "1e-300",
    "0.5",
    "3",
    "\u0663",
    "1_0",
]
TC: list[list[dict[str, Any]]] = [
    [
        {"kind": "tbf", "handle": "1:", "root": True, "options": {"rate": 1250000, "lat": 5}},
        {
            "kind": "ets",
            "handle": "2:",
            "parent": "1:1",
            "options": {"bands": 2, "strict": 1, "quanta": [1500], "priomap": [1] * 16},
        },
        *(
            {
                "kind": "red",
                "handle": f"{n + 2}:",
                "parent": f"2:{n}",
                "options": {
                    "limit": 600000,
                    "min": 30000,
                    "max": 90000,
                    "ecn": True,
                    "ewma": 2,
                    "probability": 0.1,
                },
            }
            for n in (1, 2)
        ),
    ],
    [
        {"kind": "mq", "handle": "0:", "root": True, "options": {}},
        *(
            {
                "kind": "codel",
                "handle": "0:",
                "parent": f":{n}",
                "options": {"limit": 1000, "target": 4999, "interval": 99999, "ecn": True},
            }
            for n in (1, 2, 3)
        ),
    ],
    [
        {
            "kind": "fq_codel",
            "handle": "1:",
            "root": True,
            "options": {
                "limit": 10240,
                "flows": 1024,
                "quantum": 1514,
                "target": 4999,
                "interval": 99999,
                "memory_limit": 33554432,
                "ecn": True,
                "drop_batch": 64,
            },
        }
    ],
    [{"kind": "pie", "handle": "1:", "root": True, "options": {"limit": 9, "target": 15000}}],
]
LINES = [
    ["theory", "standard", "--rate", "10Gbps", "--rtt", "#us"],
    ["theory", "standard", "--rate", "#Gbps", "--rtt", "85us"],
    ["theory", "cqrd-memory", "--ports", "#"],
    ["theory", "mq-ecn", "--rate", "#", "--rtt", "85us"],
    ["theory", "e-ecn", "--rate", "10Gbps", "--rtt", "#us"],
    ["theory", "cedm", "--rate", "10Gbps", "--rtt", "#us", "--flows", "#"],
    ["run", "@star-dctcp", "--seeds", "#", "--set", "run.until=#us"],
    ["scenario", "check", "#"],
    ["sweep", "@star-dctcp", "--seeds", "#", "--jobs", "#", "--set", "topology.hosts=0"],
    ["tune", "--rate", "#Gbps", "--rtt", "#us", "--buffer", "#KB", "--workload", "web-search:#"],
    ["tune", "--rate", "1Gbps", "--rtt", "1ms", "--target", "#", "--load", "#", "--flows", "#"],
    [
        "tune",
        "--rate",
        "1Gbps",
        "--rtt",
        "1ms",
        "--buffer",
        "#MB",
        "--workload",
        "#",
        "--load",
        "#",
    ],
    ["tune", "@star-dctcp", "--budget", "#", "--delta", "#", "--set", "topology.hosts=0"],
    ["tune", "@star-dctcp", "--weight", "load=0.8:#", "--set", "topology.hosts=0"],
    ["export", "tc", "@star-dctcp", "--rate", "#Gbps", "--partial"],
    ["export", "tc", "@star-dctcp", "--rate", "#", "--partial"],
    ["export", "sonic", "@star-dctcp", "--ramp", "#B", "--partial"],
    ["export", "sonic", "@star-dctcp", "--ramp", "#", "--partial"],
    ["asic", "show", "#"],
    ["asic", "show", "tomahawk-5", "--json", "/dev/null/#"],
    ["host", "show", "#"],
    ["headroom", "--speed", "#Gbps", "--cable", "#m", "--mtu", "#B", "--classes", "#"],
    ["headroom", "--asic", "tomahawk-5", "--speed", "400Gbps", "--cable", "#km", "--ports", "#"],
    ["headroom", "--speed", "1Gbps", "--pool", "#", "--peer-response", "#us", "--pipeline", "#ns"],
    ["topology", "new", "rail", "--servers", "#", "--gpus", "#", "--rate", "#Gbps"],
    ["topology", "new", "dual-plane", "--pairs", "#", "--hosts", "#", "--delay", "#us"],
    ["topology", "show", "@fat-tree", "--set", "topology.k=#"],
    ["topology", "convert", "@star-dctcp", "--to", "#", "--set", "topology.delay=#us"],
    ["traffic", "show", "@all-reduce", "--entry", "#", "--set", "traffic.0.bytes=#"],
    ["scenario", "keys", "#"],
    ["scenario", "check", "@star-dctcp", "--set", "measure.waits.every=#us"],
    ["scenario", "check", "@bbr-pair", "--set", "transport.min_rtt_window=#s"],
    ["scenario", "check", "@star-dctcp", "--set", "scheme={name='fq-pie',params={target='#us'}}"],
    ["scenario", "check", "@fat-tree", "--set", "failures=[{mtbf='#s',mttr='#s',detect='1us'}]"],
    ["host", "show", "@mixed-stacks", "--set", "host.1.share=#"],
    ["host", "show", "@mixed-stacks", "--set", "host.0.delay={kind='uniform',min='#us',max='#us'}"],
    ["tune", "@star-dctcp", "--objective", "#", "--set", "topology.hosts=0"],
    ["tune", "@star-dctcp", "--guard", "drops<=#", "--set", "topology.hosts=0"],
    ["tune", "@star-dctcp", "--param", "threshold=#B,#B", "--set", "topology.hosts=0"],
    ["drill", "#", "--profile", "#"],
    ["drill", "/dev/null", "--set", "transport.rto_min=#ms"],
    ["calibrate", "#", "--watermarks", "#", "--loads", "#,#", "--degrees", "#", "--time", "#us"],
    ["live", "metrics", "--socket", "/dev/null/#", "--listen", "#"],
    ["query", "select # from runs"],
]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container with a key of it."""
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return []
    return [(value, key) for key, _ in items] + [p for _, each in items for p in places(each)]


def mutated(value: Any, rng: random.Random) -> Any:
    """The same with one to four things changed."""
    made = copy.deepcopy(value)
    for _ in range(rng.randint(1, 4)):
        found = places(made)
        if not found:
            break
        holder, key = rng.choice(found)
        what = rng.randrange(5)
        if what == 0:
            del holder[key]
        elif what == 1 and isinstance(holder, dict):
            name = rng.choice([each for each in VALUES if isinstance(each, str)])
            holder[name] = holder.pop(key)
        elif what == 2:
            _, other = rng.choice(found)
            if isinstance(holder, dict) and isinstance(other, str):
                holder[other] = copy.deepcopy(holder[key])
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
    return made


def ends(act: Callable[[], tuple[str, Mapping[str, str]]]) -> str:
    """How it ends: good where it says so in a line. `act` makes a scenario and files beside it."""
    begun = time.process_time()
    try:
        text, files = act()
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                (Path(folder) / name).write_text(content)
            _native.plans_of("x.toml", text, folder, [], lines=True)
        end = "imported"
    except Mistake as mistake:
        said = str(mistake)
        end = "refused"
        if "\n" in said or len(said) > LONGEST:
            end = f"BAD: a message of {len(said)} characters: {said[:80]!r}"
        elif said.startswith("x.toml"):
            end = f"BAD: a scenario that is refused: {said}"
    except Exception as error:
        end = f"BAD: {type(error).__name__}: {error}"[:200]
    if time.process_time() - begun > SLOW_S:
        end = f"BAD: took {time.process_time() - begun:.0f} s"
    return end


def of_file(number: int, seed: int) -> str:
    """A changed file through its import."""
    rng = random.Random(f"{seed} file {number}")
    if number % 2:
        config = mutated(rng.choice(list(CONFIGS.values())), rng)
        if not isinstance(config, dict):
            return "refused"
        return ends(lambda: of_sonic(config))
    shown = mutated(rng.choice(TC), rng)
    if not isinstance(shown, list) or not all(isinstance(each, dict) for each in shown):
        return "refused"
    return ends(lambda: (tc.load(shown, "x.json", 10**10)[0], {}))


def of_sonic(config: dict[str, Any]) -> tuple[str, Mapping[str, str]]:
    """The scenario of a configuration."""
    found = sonic.load(config, "x.json", pool=12_000_000)
    return found.text, found.files


def of_line(number: int, seed: int, place: str) -> str:
    """A command line with numbers that are none."""
    rng = random.Random(f"{seed} line {number}")
    words = [w.replace("#", rng.choice(NUMBERS)) for w in rng.choice(LINES)]
    if words[0] in ("run", "sweep", "tune"):
        words += ["--set", "scheme.name=none-such"] if words[1].startswith("@") else []
    begun = time.process_time()
    os.chdir(place)
    done = CliRunner().invoke(cli, words)
    said = done.output
    if done.exception is not None and not isinstance(done.exception, SystemExit | Mistake):
        return f"BAD: {' '.join(words)}: {type(done.exception).__name__}: {done.exception}"
    if "internal error" in said or "Traceback" in said:
        return f"BAD: {' '.join(words)}: {said[-200:]}"
    if time.process_time() - begun > SLOW_S:
        return f"BAD: {' '.join(words)}: took {time.process_time() - begun:.0f} s"
    return f"ended {done.exit_code}"


CONFIGS = sonic_configs.configs()


def main() -> int:
    """Tries all, and counts how they ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--lines", type=int, default=LINES_TRIED)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        files = collections.Counter(of_file(n, given.seed) for n in range(given.files))
        lines = collections.Counter(of_line(n, given.seed, place) for n in range(given.lines))
    counts = files + lines
    for end, count in counts.most_common():
        print(f"{count:7} {end}")
    bad = sum(count for end, count in counts.items() if end.startswith("BAD"))
    if (given.files, given.lines) == (FILES, LINES_TRIED):
        ends = {end: files[end] for end in ("imported", "refused")}
        found = {"seed": given.seed, "files": given.files, "lines": given.lines, **ends, "bad": bad}
        Kept(Path(__file__).parent, "foreign").write_dated(found)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
