"""Files of networks, schedules, flows, sizes and headroom, changed at random: each is read, or
refused in a line that names it.

    python -m evidence.robustness.mutants_texts [--texts 10000] [--seed N]
"""

import argparse
import collections
import random
import re
import sys
import tempfile
from pathlib import Path

from click.testing import CliRunner

from evidence.kept import Kept
from switchbed import _native
from switchbed._native import Mistake
from switchbed.cli import cli

TRIED = 10_000
"""Texts of the page's figure."""
SCENE = """
switch.buffer = "1MB"
scheme.name = "none"
transport.kind = "dctcp"
run.until = "1ms"
"""
STAR = 'topology = { kind = "star", hosts = 2, rate = "10Gbps", delay = "1us" }' + SCENE
NETWORK = 'topology = { kind = "file", path = "read", format = "FORM" }' + SCENE
FEW = '[[traffic]]\nkind = "poisson"\nfrom = [0]\nto = [1]\nload = 0.1\nflows = 2\nsizes = '
TEXTS = {
    "table": (
        "# x\nnode,tier\nh0,host\nh1,host\nleft,leaf\ntop,spine\nfrom,to,rate,delay,count,mtu\n"
        "h0,left,100Gbps,1us,1,9216B\nh1,left,25Gbps,1us,,\nleft,top,40Gbps,500ns,2,\n",
        NETWORK + FEW + '"64KB"\n',
    ),
    "hpcc": (
        "5 2 4\n3 4\n0 3 100Gbps 0.001ms 0\n1 4 25000000000.0 1us 0\n2 4 100Gbps 1us 0\n"
        "3 4 400Gbps 1us 0\n",
        NETWORK + FEW + '"64KB"\n',
    ),
    "simai": (
        "6 2 1 2 5 H100\n3 4 5\n0 3 100Gbps 0.001ms 0\n1 4 25Gbps 1us 0\n2 4 100Gbps 1us 0\n"
        "3 4 400Gbps 1us 0\n4 5 400Gbps 1us 0\n",
        NETWORK + FEW + '"64KB"\n',
    ),
    "htsim": (
        "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\n"
        "Downlink_Latency_ns 1000\nSwitch_Latency_ns 100\nTier 1\nDownlink_speed_Gbps 100\n"
        "Radix_Down 2\nDownlink_Latency_ns 1000\nBundle 1\n",
        NETWORK + FEW + '"64KB"\n',
    ),
    "goal": (
        "num_ranks 2\nrank 0 {\na: calc 1000 cpu 1\nb: send 100000b to 1 tag 5 nic 0\n"
        "b requires a\nc: recv 8b from 1 tag 6\nc irequires b\n}\nrank 1 {\n"
        "r: recv 100000b from 0 tag 5\ns: send 8b to 0 tag 6\ns requires r\n}\n",
        STAR + '[[traffic]]\nkind = "goal"\nfile = "read"\n',
    ),
    "list": (
        "id,start_s,src,dst,size_bytes,class,connection,path,after,delay_s\n"
        "ask,0,0,1,100,0,,,,\nanswer,,1,0,100000,0,1,0,ask,0.0005\n"
        "last,0.001,0,1,5,,1,,answer ask,\n",
        STAR + '[[traffic]]\nkind = "list"\nfile = "read"\n',
    ),
    "matrix": (
        "Nodes 2\nConnections 3\nTriggers 2\n0->1 id 1 start 0 size 20000 send_done_trigger 1\n"
        "1->0 id 2 trigger 1 size 1000 recv_done_trigger 2 prio 1\n"
        "0->1 id 3 start 100000000 size 1500 msg 2\ntrigger id 1 oneshot\n"
        "trigger id 2 barrier count 1\n",
        STAR + '[[traffic]]\nkind = "list"\nfile = "read"\nformat = "htsim"\n',
    ),
    "flow": (
        "3\n0 1 3 100 20000 0.0001\n1 0 3 101 100 0.0002\n0 1 1 102 1000 0.0002\n",
        STAR + 'switch.classify = "single"\n'
        '[[traffic]]\nkind = "list"\nfile = "read"\nformat = "hpcc"\n',
    ),
    "sizes": (
        "# bytes, percent\n1000 0\n10000 50\n100000 90\n1000000 100\n",
        STAR + FEW + '{ file = "read" }\n',
    ),
    "lookup": (
        "# speed cable size xon xoff threshold xon_offset\n"
        "10000 5m 1248 2288 35776 -3 2288\n100000 40m 1248 2288 46384 -3 2288\n",
        "",
    ),
}
"""A file of each form, and the scenario that reads it as "read"."""
PIECES = [
    *(
        "",
        "0",
        "-1",
        "1",
        "2",
        "3",
        "255",
        "65536",
        "1e400",
        "-1e400",
        "nan",
        "inf",
        "NaN",
        "9" * 30,
    ),
    *("0." + "3" * 30, "1e-300", "0x10", "+3", "1_0", "٣", "½", "x" * 10_000, "\x00", "\ufeff"),
    *(
        " ",
        "\t",
        ",",
        ";",
        "\n",
        "\r\n",
        "\u2028",
        "\xa0",
        '"',
        "{",
        "}",
        "#",
        "//",
        "/*",
        "1048575",
    ),
    *("4294967296", "18446744073709551615", "18446744073709551616", "host", "h0", "a", "-"),
    *(
        "100Gbps",
        "0Gbps",
        "1e30Gbps",
        "nanGbps",
        "1ps",
        "0us",
        "1e30s",
        "-1us",
        "0b",
        "1000000000b",
    ),
]
WORD = re.compile(r"[A-Za-z_0-9.]+|[^A-Za-z_0-9.]")
LONGEST = 1000
"""Characters of a message."""


def mutant(number: int, seed: int) -> tuple[str, str]:
    """The form, and the file with one to three words or lines changed."""
    rng = random.Random(f"{seed} text {number}")
    form = rng.choice(list(TEXTS))
    text = TEXTS[form][0]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        lines = text.split("\n")
        match rng.randrange(6):
            case 0:
                del lines[rng.randrange(len(lines))]
                text = "\n".join(lines)
            case 1:
                lines.insert(rng.randrange(len(lines)), rng.choice(lines))
                text = "\n".join(lines)
            case 2:
                text = text[: rng.randrange(len(text) + 1)]
            case _:
                words = WORD.findall(text) or [""]
                piece = rng.choice(PIECES if rng.random() < 0.5 else [*"01234", *words])
                words[rng.randrange(len(words))] = piece
                text = "".join(words)
    return form, text


def of_text(number: int, seed: int) -> str:
    """How a changed file ends: "read", or "refused" where a line says so."""
    return read(*mutant(number, seed))


def read(form: str, text: str) -> str:
    """How a file of a form ends."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "read"
        place.write_text(text, newline="")
        if form == "lookup":
            return _of_command(["headroom", "--speed", "100Gbps", "--cable", "40m"], place)
        scene = TEXTS[form][1].replace("FORM", form)
        end = _of_scene(scene, folder)
        if end != "read" or "FORM" not in TEXTS[form][1]:
            return end
        shown = _of_command(["topology", "show", "--format", form], place)
        written = _of_command(["topology", "convert", "--format", form, "--to", "hpcc"], place)
        bad = [each for each in (shown, written) if each != "read"]
        return f"BAD: the check takes it: {bad[0]}" if bad else "read"


def _of_scene(scene: str, folder: str) -> str:
    try:
        (plan, *_) = _native.plans_of("x.toml", scene, folder, [], lines=True)
        plan.run(_native.Progress())
    except Mistake as mistake:
        said = str(mistake)
        if "\n" in said or len(said) > LONGEST:
            return f"BAD: a message of {len(said)} characters: {said[:80]!r}"
        return "refused"
    except Exception as error:
        return f"BAD: {type(error).__name__}: {error}"[:200]
    return "read"


def _of_command(words: list[str], place: Path) -> str:
    tail = ["--lookup", str(place)] if words[0] == "headroom" else [str(place)]
    done = CliRunner().invoke(cli, [*words, *tail])
    if isinstance(done.exception, Mistake):
        said = str(done.exception)
        return "refused" if "\n" not in said and len(said) <= LONGEST else f"BAD: {said[:80]!r}"
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"BAD: {words[0]}: {type(done.exception).__name__}: {done.exception}"[:200]
    return "refused" if done.exit_code else "read"


def main() -> int:
    """Tries all, and counts how they ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=TRIED)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    ends = collections.Counter(of_text(number, given.seed) for number in range(given.texts))
    for end, count in ends.most_common():
        print(f"{count:7} {end}")
    bad = sum(count for end, count in ends.items() if end.startswith("BAD"))
    if given.texts == TRIED:
        counts = {"read": ends["read"], "refused": ends["refused"], "bad": bad}
        Kept(Path(__file__).parent, "texts").write_dated(
            {"seed": given.seed, "texts": given.texts, **counts}
        )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
