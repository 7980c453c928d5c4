"""`switchbed headroom`: sums worked out by hand, and a switch's table beside them."""

import json
from pathlib import Path

import pytest
from conftest import Program

from switchbed import asic, headroom
from switchbed._native import Mistake
from switchbed.headroom import Link

LINK = Link(100 * 10**9, 40)


def test_the_terms_by_hand() -> None:
    # 100 Gbps are 12.5 bytes a nanosecond; 40 m are 200 ns; 394 quanta of 64 bytes.
    assert headroom.ieee(LINK).terms == {
        "crossing": 9100,
        "waiting": 9100,
        "pause_frame": 64,
        "cable": 5000,
        "pipeline": 0,
        "response": 25_216,
        "under_way": 9100,
    }
    # 57,580 bytes in packets of 64, each in a cell of 208: 900 cells.
    found = headroom.ieee(LINK, 208)
    assert (found.sum, found.taken) == (57_580, 900 * 208)
    far = headroom.ieee(Link(100 * 10**9, 80_000, response_ps=1_000_000, pipeline_ps=500_000))
    assert far.terms["cable"] == 10_000_000
    assert (far.terms["response"], far.terms["pipeline"]) == (12_500, 6_250)


def test_nvidias_rule_by_hand() -> None:
    # 1024 + (9100 + 4932.1 + 819.2 + 25,216) x 2*96/97 = 80,332: 79 KiB.
    assert headroom.nvidia(LINK, 96).taken == 79 * 1024
    # No small packets: 1024 + 40,067.3: 41 KiB.
    assert headroom.nvidia(LINK, 96, 0.0).taken == 41 * 1024
    # 1024 + (9216 + 5050.5 + 819.2 + 3891.2) x 2*96/97 = 38,587: 38 KiB.
    assert headroom.nvidia_shipped(LINK, 96).taken == 38 * 1024


def test_a_pool_holds_the_groups_of_its_partitions() -> None:
    # Tomahawk: 4,194,112 bytes in four parts of 16 groups; five of 187,200 bytes fit in each.
    chip = asic.named("tomahawk")
    pool = headroom.pool_of(chip, None)
    assert pool is not None
    assert pool.groups(187_200, 64) == 20
    assert pool.groups(1, 64) == 64
    of = headroom.described(LINK, headroom.ieee(LINK, 208), pool, 2, 32)
    assert (of["groups"], of["pool_holds_groups"], of["pool_holds_ports"]) == (64, 20, 10)
    assert of["over_subscription"] == pytest.approx(64 * 187_200 / 4_194_112)


def test_ports_of_several_speeds_share_the_pool(switchbed: Program) -> None:
    words = ("--speed", "100Gbps", "--ports", "2", "--speed", "400Gbps", "--ports", "1")
    ran = switchbed("headroom", *words, "--classes", "1", "--pool", "300KB", "--json")
    told = json.loads(ran.stdout)
    # 905 quanta of 64 bytes, 40 m both ways, four packets; without cells bytes are bytes.
    far = headroom.ieee(Link(400 * 10**9, 40))
    assert far.taken == 3 * 9100 + 64 + 905 * 64 + 20_000
    needs = [headroom.ieee(LINK).taken, far.taken]
    assert [of["taken_bytes"] for of in told["links"]] == needs
    every = 2 * needs[0] + needs[1]
    assert told["together"]["all_bytes"] == every
    # The fast port and both slow ones are 220,424 bytes.
    assert told["together"]["pool_holds_largest_ports"] == 3
    little = headroom.together([(needs[0], 2), (needs[1], 1)], headroom.Pool(170_000), 1)
    assert little["pool_holds_largest_ports"] == 2
    # Two partitions of 85,000: the fast port does not fit into one.
    little = headroom.together([(needs[0], 2), (needs[1], 1)], headroom.Pool(170_000, 2), 1)
    assert little["pool_holds_largest_ports"] == 1
    shown = switchbed("headroom", *words, "--pool", "300KB").stdout
    assert "All 3 ports, 6 groups" in shown
    assert "over-subscribed" in shown
    assert shown.count("headroom pool") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--speed", "10Gbps", "--ports", "1", "--ports", "2"),
        ("--speed", "10Gbps", "--speed", "25Gbps", "--ports", "2"),
        ("--speed", "10Gbps", "--speed", "25Gbps"),
        (
            *("--speed", "10Gbps", "--speed", "25Gbps", "--ports", "2", "--ports", "1"),
            *("--cable", "1m", "--cable", "2m", "--cable", "3m"),
        ),
    ],
)
def test_what_does_not_pair_with_speeds_is_named(
    switchbed: Program, words: tuple[str, ...]
) -> None:
    ran = switchbed("headroom", *words, code=2)
    assert "one for each" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_table_is_explained_row_by_row(tmp_path: Path) -> None:
    table = tmp_path / "pg_profile_lookup.ini"
    table.write_text(
        "# PG lossless profiles.\n# speed cable size xon xoff threshold xon_offset\n"
        "100000 40m 1248 2288 38912 0 2288\n100000 40m 1248 2288 187000 0\n"
        "100000 40m 1248 2288 900000 0 2288\n"
    )
    rows = headroom.lookup(table)
    assert (rows[0].mbps, rows[0].metres, rows[0].xoff) == (100_000, 40, 38_912)
    first, second, third = (headroom.compared(row, LINK, 96) for row in rows)
    assert first["next_to"] == "that of the script that made Nvidia's tables"
    assert "+0.0 %" in first["reason"]
    cells = headroom.compared(rows[1], LINK, 208)
    assert cells["next_to"] == "ieee's, where packets of 64 B fill the cells"
    assert "no rule here within 10 %" in third["reason"]
    assert second["shipped_bytes"] == 187_000
    huge = "9" * 30
    for text in (
        *("100000 40m 1 2", "fast 40m 1 2 3 4", "0 40m 1 2 3 4", "1 -4m 1 2 3 4", "# x"),
        *(f"{huge} 40m 1 2 3 4", f"1 {huge}m 1 2 3 4", f"1 40m 1 2 {huge} 4"),
    ):
        table.write_text(text)
        with pytest.raises(Mistake, match=r"pg_profile_lookup\.ini"):
            headroom.lookup(table)


def test_a_switchs_own_table_is_a_rule(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "lookup.ini").write_text(
        "100000 5m 1248 2288 60000 0 2288\n100000 40m 1248 2288 99264 0 2288\n"
    )
    words = ("headroom", "--asic", "tomahawk", "--speed", "100Gbps", "--rule", "measured")
    shown = switchbed(*words, "--lookup", "lookup.ini").stdout
    assert "by the switch's own table                            99,264 B" in shown
    # Of 4,194,112 bytes in four partitions: 10 groups each.
    assert "holds 40 groups at once" in shown
    done = switchbed(*words, code=2)
    assert "--rule measured: takes a switch's own sums: name its table by --lookup" in done.stderr
    done = switchbed(*words, "--lookup", "lookup.ini", "--cable", "300m", code=2)
    assert "has no row of 100Gbps and 300 m; its cables of that speed: 5 m, 40 m" in done.stderr


def test_the_command(switchbed: Program) -> None:
    done = switchbed(
        *("headroom", "--asic", "tomahawk", "--speed", "100Gbps", "--cable", "40m"),
        *("--cable", "80km"),
    )
    assert "57,580 B" in done.stdout
    assert "holds 20 groups at once, all classes of 10 ports" in done.stdout
    assert "80 km" in done.stdout
    done = switchbed("headroom", "--speed", "25Gbps", "--ports", "4", "--classes", "1", "--json")
    (link,) = json.loads(done.stdout)["links"]
    assert link["groups"] == 4
    assert link["pool_holds_groups"] is None


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--speed", "fast"), "--speed fast"),
        (("--speed", "2000Gbps"), "from 1Mbps to 1600Gbps"),
        (("--speed", "1Gbps", "--cable", "1.5m"), "--cable 1.5m: is no length"),
        (("--speed", "1Gbps", "--cable", "9999km"), "up to 1000 km"),
        (("--speed", "1Gbps", "--mtu", "1B"), "--mtu 1B: from 64B"),
        (("--speed", "1Gbps", "--peer-response", "1s"), "at most 10 ms"),
        (("--speed", "1Gbps", "--rule", "nvidia"), "name one by --asic"),
        (("--speed", "1Gbps", "--asic", "tomahawq"), "did you mean tomahawk"),
        (("--speed", "1Gbps", "--asic", ""), "'': is no chip; switchbed asic list names them"),
        (("--speed", "1Gbps", "--lookup", "none.ini"), "none.ini"),
    ],
)
def test_a_wrong_option_is_named(switchbed: Program, args: tuple[str, ...], says: str) -> None:
    done = switchbed("headroom", *args, code=2)
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


PFC = """
[topology]
kind = "star"
hosts = 5
rate = "100Gbps"
delay = "1us"
[switch]
queues = 4
pool = "1MB"
[switch.pfc]
priorities = [2, 3]
response = "0us"
alpha = 0.05
[scheme]
name = "none"
[host]
mtu = "1048B"
[transport]
kind = "udp"
header = "48B"
mss = "1000B"
[[traffic]]
kind = "long-lived"
from = "0-3"
to = 4
classes = [3]
[run]
until = "100us"
"""


def test_a_check_prints_what_is_needed_and_what_the_pool_holds(
    switchbed: Program, tmp_path: Path
) -> None:
    (tmp_path / "pfc.toml").write_text(PFC)
    # 64 bytes of the frame, 25,000 of the cable and three packets of 1,048: 28,208.
    said = switchbed("scenario", "check", tmp_path / "pfc.toml").stdout
    assert (
        "5 links of 100Gbps and 1 us need 28,208 B, which they have, as the file gives none "
        in said
    )
    # The host's delay is no cable's, though pauses wait for it: 50,000 bytes for 2 us, both ways.
    behind = switchbed("scenario", "check", tmp_path / "pfc.toml", "--set", "host.delay=2us").stdout
    assert "and 1 us with host.delay 2 us (pauses wait for it here" in behind
    assert "need 78,208 B, which they have" in behind
    sets = ("--set", "switch.pfc.headroom=28208B")
    given = switchbed("scenario", "check", tmp_path / "pfc.toml", *sets).stdout
    assert "need 28,208 B, and have 28,208 B\n" in given
    assert "holds all 10 groups at once" in said
    # 282,080 bytes over 3 are 94,027: three groups of 28,208, so both classes of one port.
    text = PFC.replace("alpha", "over_subscription = 3\nheadroom = '28207B'\nalpha")
    (tmp_path / "pfc.toml").write_text(text)
    said = switchbed("scenario", "check", tmp_path / "pfc.toml").stdout
    assert "need 28,208 B, and have 28,207 B: too little" in said
    assert "3 times over-subscribed" in said
    assert "those of the 1 largest of 5 ports" in said
    found = json.loads(switchbed("scenario", "check", tmp_path / "pfc.toml", "--json", "-").stdout)
    (of,) = found[0]["headroom"]
    assert of["switches"][0]["holds_ports"] == 1
    assert not of["switches"][0]["holds_all"]


def test_a_lossless_class_that_loses_is_the_first_line(switchbed: Program, tmp_path: Path) -> None:
    file = tmp_path / "pfc.toml"
    file.write_text(PFC)
    kept = switchbed("run", file).stdout
    assert "lost packets" not in kept
    file.write_text(PFC.replace("alpha", "over_subscription = 8\nalpha"))
    first = switchbed("run", file).stdout.splitlines()[0]
    assert first.startswith("lossless classes lost packets: ")
    assert "for want of headroom, most at switch:" in first
    both = switchbed("run", file, "--set", "compare.switch.pfc.over_subscription=[1, 8]").stdout
    line = both.splitlines()[0]
    assert line.startswith("switch.pfc.over_subscription 8: lossless classes lost packets: ")
    out = tmp_path / "out"
    switchbed("run", file, "--out", out)
    switchbed("report", out, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    short = page.index("In short")
    assert 0 < page.index("lossless classes lost packets") - short < 60
