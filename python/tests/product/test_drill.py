"""`switchbed drill`: scripts of our own by profile, and what a wrong one comes to.

The scripts are in `drill/`, a connection for each rule, with its source. Each names the profiles
that it holds for.
"""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import Program
from hypothesis import given
from hypothesis import strategies as st

from switchbed.drill import parser
from switchbed.drill.asserts import Asserts
from switchbed.drill.command import Outcome, played, played_text
from switchbed.drill.hosts import Profile
from switchbed.drill.script import (
    BadScriptError,
    Call,
    Clock,
    Code,
    DepartsError,
    Packet,
    SkippedError,
    When,
    Word,
)
from switchbed.drill.sysctls import Settings

SCRIPTS = sorted((Path(__file__).parent / "drill").glob("*.pkt"))
PROFILES = re.compile(r"^// profiles: (.*)$", re.M)
OUT = re.compile(r"> ((?:\[\w+\] )?[SFRPU.EW-]+) (\d+):(\d+)\((\d+)\)")
MS = 10**9


def profiles(path: Path) -> list[str]:
    """The profiles that a script names."""
    found = PROFILES.search(path.read_text())
    assert found, path
    return found[1].split()


PLAYED = [(path, profile) for path in SCRIPTS for profile in profiles(path)]


@pytest.mark.parametrize(("path", "profile"), PLAYED, ids=lambda part: getattr(part, "stem", part))
def test_a_rule_holds_for_its_profiles(path: Path, profile: str) -> None:
    outcome = played(path, Profile.of(profile))
    assert outcome.outcome == "passed", "\n".join(outcome.lines())


def test_there_are_forty_scripts() -> None:
    assert len(SCRIPTS) >= 40
    assert sum(len(connections(path.read_text())) for path in SCRIPTS) >= 70
    assert {name for path in SCRIPTS for name in profiles(path)} == {
        "linux-6.x",
        "linux-3.18",
        "linux-2.6.38",
    }


def connections(text: str) -> list[int]:
    """Where each connection of a script that sends anything has its last segment."""
    starts = [found.start() for found in re.finditer(r"^.* socket\(", text, re.M)]
    sent = [list(OUT.finditer(text, *ends)) for ends in pairwise([*starts, len(text)])]
    return [found[-1].start() for found in sent if found]


LAST = [(path, at) for path in SCRIPTS for at in connections(path.read_text())]


@pytest.mark.parametrize(("path", "at"), LAST, ids=lambda part: getattr(part, "stem", part))
def test_a_script_departs_where_the_last_segment_of_a_connection_is_another(
    path: Path, at: int
) -> None:
    text = path.read_text()
    last = OUT.match(text, at)
    assert last
    start, end = int(last[2]) + 7, int(last[3]) + 7
    changed = f"> {last[1]} {start}:{end}({last[4]})"
    outcome = play(text[:at] + changed + text[last.end() :], profiles(path)[0])
    assert (outcome.outcome, outcome.line) == ("departed", text.count("\n", 0, at) + 1)
    assert f"{start}:{end}" in outcome.expected
    assert f"{last[2]}:{last[3]}" in outcome.got or "S" in last[1]


def play(text: str, profile: str = "linux-6.x") -> Outcome:
    """The outcome of a script's text."""
    return played_text(text, Profile.of(profile), "script.pkt", Path())


OPEN = """
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 1024
+0 accept(3, ..., ...) = 4
"""


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1002(1001) ack 1", "sequence numbers differ"),
        ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 2", "acknowledgement numbers"),
        ("+0 write(4, ..., 1000) = 1000\n+0 > F. 1:1001(1000) ack 1", "flags differ"),
        ("+0 write(4, ..., 1000) = 1000\n+0 > [ce] P. 1:1001(1000) ack 1", "ECN codepoints"),
        ("+0 write(4, ..., 1000) = 1000\n+.01 > P. 1:1001(1000) ack 1", "the time differs"),
        ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1 <TS val 1 ecr 1>", "stamps"),
        ("+0 > P. 1:1001(1000) ack 1", "nothing is sent"),
        ("+0 < . 1001:2001(1000) ack 1 win 9\n+0 > . 1:1(0) ack 1 <sack 1001:2002>", "SACK blocks"),
        ("+0 read(4, ..., 100) = 100", "read returns"),
        ("+0 %{ assert tcpi_snd_cwnd == 11, tcpi_snd_cwnd }%", "an assertion does not hold"),
        ("+0 read(3, ..., 9) = -1 ECONNRESET", "read has another error"),
        ("+0 < R. 1:1(0) ack 1 win 9\n+0 write(4, ..., 9) = 9", "write fails"),
        ("+0 write(4, NULL, 9) = -1 EPIPE", "write has another error"),
        ("+0 send(4, ..., 9, MSG_OOB) = 9\n+0 > P. 1:10(9) ack 1", "flags differ"),
        ("+0 send(4, ..., 9, 0x1) = 9\n+0 > P. 1:10(9) ack 1", "flags differ"),
        ("+0 send(4, ..., 9, MSG_OOB) = 9\n+0 > PU. 1:10(9) ack 1 urg 8", "urgent pointers"),
    ],
)
def test_a_departure_says_what_differs(more: str, problem: str) -> None:
    outcome = play(OPEN + more)
    assert outcome.outcome == "departed"
    assert problem in outcome.problem
    assert outcome.line == (OPEN + more).count("\n") + 1
    lines = outcome.lines()
    assert lines[0].startswith(f"departed script.pkt:{outcome.line}: ")
    assert [line.split()[1] for line in lines[1:]] == ["expected", "got"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("0 sendto(3, ..., 0, MSG_FASTOPEN, ..., ...) = 0", "Fast Open"),
        ("0 sendto(3, ..., 9, 0x20000000, ..., ...) = 9", "Fast Open"),
        ("0 sendmsg(3, {}, 0x4000000|MSG_DONTWAIT) = 9", "zero-copy"),
        ("0 setsockopt(3, SOL_TCP, TCP_KEEPIDLE, [5], 4) = 0", "keep-alive probes"),
        ("0 setsockopt(3, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0", "zero-copy"),
        ("0 setsockopt(3, SOL_TCP, TCP_DEFER_ACCEPT, [9], 4) = 0", "deferred accepts"),
        (
            "0 setsockopt(3, SOL_TCP, TCP_WINDOW_CLAMP, [9000], 4) = 0",
            "a socket's own bound of its window",
        ),
        ("0 < S 0:0(0) win 9 <mss 1000,md5 000102>", "MD5 signatures"),
        ("0 < S 0:0(0) win 9 <FO abcd>", "Fast Open"),
        ("0 < icmp unreachable [1:1001(1000)]", "ICMP"),
        ("0 < icmp unreachable frag_needed mtu 999999 [1:1001(1000)]", "ICMP"),
        ("0 > icmp unreachable frag_needed mtu 1200 [1:1001(1000)]", "ICMP"),
        ("0 > udp (1000)", "UDP"),
        ("0 < [ect0] udp (1000)", "UDP"),
        ("0 < [tos 0x10, flowlabel 0x1] icmp unreachable", "ICMP"),
        ("0 < [1:1001(1000)] icmp unreachable net_unreachable", "ICMP"),
        ("0 < S 0:0(0) win 9 sock(3)", "segments that name a socket"),
        (
            "0 < [flowlabel 0x9] S 0:0(0) win 9 +0 > (flowlabel 0x1) S. 0:0(0) "
            "+0 > (flowlabel 0x1) . 1:1(0) +0 > (flowlabel 0x2) . 1:1(0)",
            "flow labels that change",
        ),
        ("0 < P. 1:2(1) ack 1 win 9 urg 1", "urgent data that arrives"),
        ("0 < PU. 1:2(1) ack 1 win 9", "urgent data that arrives"),
        ("0 > S 0:0(0) <FO>", "Fast Open"),
        ("+0 < encap psp spi 12 . 1:1001(1000) ack 1", "encapsulation"),
        ("0 %{ assert SK_MEMINFO_RCVBUF }%", "SK_MEMINFO_RCVBUF of a socket's memory"),
        ("0 bind(3, ..., ...) = -1 EINVAL (Invalid argument)", "bind's error EINVAL"),
        ("0 socket(..., SOCK_STREAM, IPPROTO_MPTCP) = 3", "MPTCP"),
        ("0 socket(..., SOCK_DGRAM, IPPROTO_UDP) = 3", "sockets that are not TCP's"),
        ("0 < SEWA 0:0(0) win 9", "accurate ECN"),
        ("0 < S 0:0(0) win 9 <mpcapable v1 flags[flag_h] nokey>", "MPTCP"),
        ("0 > S. 0:0(0) ack 1 <nocheck> +0 < icmp echo_reply", "ICMP"),
        ("0 > . 1:1(0) ack 3 <add_address addr[saddr] hmac=auto>", "MPTCP"),
        ("0 > S. 0:0(0) ack 1 <mss MSS,nop,wscale 8>", "value of MSS"),
        ("`sysctl -q net.ipv4.tcp_congestion_control=vegas`", "congestion control vegas"),
        ("`echo 1 > /proc/sys/net/ipv4/tcp_mtu_probing`", "MTU probing"),
        ("0 splice(3, NULL, 4, NULL, 5, 0) = 5", "the system call splice"),
        ("0 %{ assert tcpi_delivered == 0 }%", "tcpi_delivered of tcp_info"),
        ("0 %{ while True: pass }%", "Python's while in code"),
    ],
)
def test_a_script_is_skipped_by_the_name_of_what_is_missing(text: str, what: str) -> None:
    outcome = play(text)
    assert (outcome.outcome, outcome.problem) == ("skipped", what)
    assert outcome.lines() == [f"skipped  script.pkt:1: the model has no {what}"]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("0 foo", 1, "'(' is needed at the end"),
        ("", 1, "a script has one event at least"),
        ("// a comment\n`sysctl -q net.ipv4.tcp_ecn=1`\n", 1, "a script has one event at least"),
        ("// a\n\n0 < S 0:1(0) win 9", 3, "0:1(0): the numbers' difference is 1, not 0"),
        ("0 < S 0:0(0) win 65536", 1, "a number is from 0 to 65535"),
        ("0 < S 99999999999:0(0)", 1, "a sequence number has 32 bits"),
        ("0 < S 0:0(0) win 9 <mss 1000,wscale -1>", 1, "a number is from 0 to 255"),
        ("0 < . 1:1(0) ack -5", 1, "a number is from 0 to 4294967295"),
        ("+0.2~+0.1 > . 1:1(0)", 1, "a range ends before it begins"),
        ("+0.1~+0.2 < . 1:1(0)", 1, "a range of times is for a segment that is to be sent"),
        ("+0.1~+0.2 close(4) = 0", 1, "a range of times is for a segment that is to be sent"),
        ("0 %{ assert 1 == }%", 1, "the code is no Python"),
        ("0 %{\n\nassert nothing == 1\n}%", 3, "nothing has no value"),
        ("`sysctl", 1, "a command has no '`'"),
        ("--tolerance_usecs=many\n", 1, "a whole number is needed"),
        ("0 %{ assert 9 ** 9 }%", 1, None),
        ("0 write(3, ..., 10) = x", 1, "no number of bytes"),
        ("x" * (parser.LONGEST + 1), 1, "characters at most"),
    ],
)
def test_a_wrong_script_says_where(text: str, line: int, problem: str | None) -> None:
    outcome = play(text)
    if problem is None:
        assert outcome.outcome == "skipped"
    else:
        assert (outcome.outcome, outcome.line) == ("bad", line)
        assert problem in outcome.problem


def test_the_echo_of_a_time_stamp_and_the_end_of_a_call_are_compared() -> None:
    stamped = OPEN.replace("<mss 1000,sackOK,nop,nop,nop,wscale 7>", "<mss 1012,TS val 5 ecr 0>")
    stamped = stamped.replace("<...>", "<mss 1460,TS val 1 ecr 5>")
    stamped = stamped.replace("ack 1 win 1024", "ack 1 win 1024 <TS val 7 ecr 1>")
    sent = "+0 write(4, ..., 9) = 9\n+0 > P. 1:10(9) ack 1 <TS val 2 ecr {}>"
    assert play(stamped + sent.format(7)).outcome == "passed"
    assert play(stamped + sent.format(5)).problem == "echoed time stamps differ"
    call = """0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
    +0...3 connect(3, ..., ...) = -1 ETIMEDOUT (too late)
    +0 > S 0:0(0) <...>
    """
    late = play("`sysctl -q net.ipv4.tcp_syn_retries=1`\n" + call)
    assert (late.outcome, late.line, late.got) == ("departed", 3, "it waits")
    few = "`sysctl -q net.ipv4.tcp_syn_retries=1 net.ipv4.tcp_syn_linear_timeouts=0`\n"
    assert play(few + call).outcome == "passed"
    early = play(few + call.replace("...3", "...4"))
    assert (early.outcome, early.line) == ("departed", 3)
    assert (early.expected, early.got) == ("ETIMEDOUT at 4.000000 s", "ETIMEDOUT at 3.996000 s")


@pytest.mark.parametrize(
    ("more", "got"),
    [
        ("+0....1 read(4, ..., 9) = 5\n+.1 < P. 1:6(5) ack 1 win 9\n", None),
        ("+0....1 read(4, ..., 9) = 5\n+.1 < P. 1:10(9) ack 1 win 9\n", "9 at 0.200000 s"),
        ("+0....1 read(4, ..., 9) = 5\n+.05 < P. 1:6(5) ack 1 win 9\n", "5 at 0.150000 s"),
        ("+0....1 read(4, ..., 9) = 5\n+.2 < P. 1:6(5) ack 1 win 9\n", "it waits"),
        ("+0....1 read(4, ..., 9) = 5\n", "it waits"),
        ("+0....1 read(4, ..., 9) = 0\n+.1 < F. 1:1(0) ack 1 win 9\n", None),
        ("+0....1 read(4, ..., 9) = -1 ECONNRESET\n+.1 < R. 1:1(0) ack 1 win 9\n", None),
        ("+0....1 read(4, ..., 9) = 5\n+.1 < R. 1:1(0) ack 1 win 9\n", "ECONNRESET at 0.200000 s"),
        (
            "+0....1 recv(4, ..., 9, MSG_WAITALL) = 9\n"
            "+.05 < P. 1:6(5) ack 1 win 9\n+.05 < P. 6:10(4) ack 1 win 9\n",
            None,
        ),
        (
            "+0 setsockopt(4, SOL_SOCKET, SO_RCVLOWAT, [7], 4) = 0\n+0....1 read(4, ..., 9) = 8\n"
            "+.05 < P. 1:6(5) ack 1 win 9\n+.05 < P. 6:9(3) ack 1 win 9\n",
            None,
        ),
        # By the script's clock: a time without + counts from its start.
        ("0.1...0.2 read(4, ..., 9) = 5\n0.2 < P. 1:6(5) ack 1 win 9\n", None),
    ],
)
def test_a_blocking_call_ends_with_what_it_waits_for(more: str, got: str | None) -> None:
    outcome = play(OPEN + more)
    if got is None:
        assert outcome.outcome == "passed", outcome.lines()
    else:
        assert (outcome.outcome, outcome.got) == ("departed", got)
        assert outcome.line == OPEN.count("\n") + 1


def test_data_that_is_peeked_at_stays() -> None:
    came = OPEN + "+0 < P. 1:6(5) ack 1 win 9\n+0 > . 1:1(0) ack 6\n"
    for flag in ("MSG_PEEK", "0x2", "MSG_PEEK|MSG_DONTWAIT"):
        peeked = came + f"+0 recv(4, ..., 9, {flag}) = 5\n+0 recv(4, ..., 9, 0) = 5\n"
        assert play(peeked).lines() == ["passed   script.pkt"]
    assert play(came + "+0 recv(4, ..., 9, 0) = 5\n+0 recv(4, ..., 9, 0) = 5\n").got == "0"


def test_accept_and_connect_end_as_the_connection_opens() -> None:
    accepts = OPEN.replace("+0 accept(3, ..., ...) = 4\n", "")
    accepts = accepts.replace("listen(3, 1) = 0\n", "listen(3, 1) = 0\n+0...{} accept(3) = 4\n")
    connects = (
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0...{} connect(3, ..., ...) = 0\n"
        "+0 > S 0:0(0) <...>\n+.1 < S. 0:0(0) ack 1 win 9000 <mss 1000>\n+0 > . 1:1(0) ack 1\n"
    )
    for text in (accepts, connects):
        assert play(text.format(0.1)).lines() == ["passed   script.pkt"]
        assert "0.100000 s" in play(text.format(0.2)).got
        assert play(text.format(0.09)).got == "it waits"
    never = connects[: connects.index("+.1")].format(1)
    assert play(never).got == "it waits"


def test_the_parts_of_an_event() -> None:
    script = parser.parse(
        """--tolerance_usecs=10000
        `sysctl -q a=1`
        /* a
        comment */ +.1~+.2 > [ect0] PE. 1:1001(1000) ack 9 win 5 <nop,TS val 1 ecr 2,sack 3:4 5:6>
        0.5...0.7 sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 3}, {..., 4}],
                              msg_flags=0}, MSG_MORE|MSG_DONTWAIT) = -1 EAGAIN (not now)
        * %{ assert 1 }% # more
        """
    )
    assert script.options == {"tolerance_usecs": "10000"}
    assert script.commands == [(2, "sysctl -q a=1")]
    segment, call, code = script.events
    assert (segment.line, segment.when) == (4, When(Clock.BEFORE, 100 * MS, 200 * MS))
    assert isinstance(segment.what, Packet)
    assert not segment.what.inbound
    assert str(segment.what.segment) == (
        "[ect0] PE. 1:1001(1000) ack 9 win 5 <TS val 1 ecr 2,sack 3:4 5:6>"
    )
    assert isinstance(call.what, Call)
    assert (call.what.result, call.what.errno, call.what.until) == (-1, "EAGAIN", 700 * MS)
    assert call.what.arguments[2] == (Word("MSG_MORE"), Word("MSG_DONTWAIT"))
    assert (code.when.clock, code.what) == (Clock.ANY, Code(" assert 1 "))


def test_the_grammars_rarer_forms() -> None:
    # Blanks between tokens, definitions, strings over lines, escapes: all of `lexer.l`.
    text = (
        '--tolerance_usecs = 5000 --define=CC="reno" --define=CALL=close\n'
        "`echo \\`true\\``\n"
        '0 f("two\nlines", CC, CALL) = 0\n'
        "+0 < P . 1 : 1001 (1000) ack 1 win 9\n"
        "+0 > GREv0: . 1:1(0)\n"
    )
    with pytest.raises(SkippedError, match="encapsulation"):
        parser.parse(text)
    script = parser.parse(text[: text.index("+0 > GREv0")])
    assert script.options == {"tolerance_usecs": "5000"}
    assert script.commands == [(2, "echo \\`true\\`")]
    call, packet = (event.what for event in script.events)
    assert isinstance(call, Call)
    assert call.arguments == ("two\nlines", "reno", Word("close"))
    assert isinstance(packet, Packet)
    assert (packet.segment.flags, packet.segment.start, packet.segment.length) == ("P.", 1, 1000)


def test_a_word_may_stand_for_a_number() -> None:
    defined = "--define=MSS=1000 --define=CC=reno\n" + OPEN.replace("mss 1000", "mss MSS")
    assert play(defined).outcome == "passed"
    assert play(defined.replace("mss MSS", "mss CC")).outcome == "bad"


def test_words_may_be_defined_beside_the_script(switchbed: Program, tmp_path: Path) -> None:
    text = '--define=CC="reno"\n' + OPEN.replace("mss 1000", "mss MSS")
    text += "+0 setsockopt(4, SOL_TCP, TCP_CONGESTION, CC, 4) = 0\n"
    (tmp_path / "words.pkt").write_text(text)
    assert "no value of MSS" in switchbed("drill", "words.pkt", code=77).stdout
    assert "passed" in switchbed("drill", "words.pkt", "-D", "MSS=1000").stdout
    # As packetdrill's options do, they go before the script's own.
    words = ("--define", "MSS=1000", "-D", 'CC="westwood"')
    assert "westwood" in switchbed("drill", "words.pkt", *words, code=77).stdout
    # A shell takes quotes off.
    assert (
        "no congestion control hybla"
        in switchbed("drill", "words.pkt", "-D", "MSS=1000", "-D", "CC=hybla", code=77).stdout
    )
    for wrong in ("MSS", "=9", "a b=9"):
        ran = switchbed("drill", "words.pkt", "-D", wrong, code=2)
        assert f"'{wrong}': write WORD=VALUE" in ran.stderr


def test_what_follows_a_new_socket_is_about_its_connection() -> None:
    # run_syscall_socket: "any later packets in the test script will now be mapped here"
    state = "+0 %{{ assert tcpi_state == {}, tcpi_state }}%\n"
    text = OPEN + "+0 write(4, ..., 500) = 500\n+0 > P. 1:501(500) ack 1\n+0 close(3) = 0\n"
    again = OPEN.lstrip().replace("\n+0 bind", "\n" + state.format("TCP_CLOSE") + "+0 bind", 1)
    again = again.replace("listen(3, 1) = 0\n", "listen(3, 1) = 0\n" + state.format("TCP_LISTEN"))
    again = "+0" + again[1:].replace("accept(3, ..., ...) = 4", "accept(3, ..., ...) = 5")
    sent = "+0 write(5, ..., 900) = 900\n+0 > P. 1:901(900) ack 1\n+0 close(4) = 0\n"
    assert play(text + again + sent).lines() == ["passed   script.pkt"]
    before = play(text + again + "+0 write(4, ..., 9) = 9\n")
    assert (before.outcome, before.problem) == ("skipped", "second connection")


LISTENS = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n"
ASKS = "< S 0:0(0) win 9000 <mss 1000>\n"
ANSWERS = "> S. 0:0(0) ack 1 <mss 1460>\n"


def test_syn_acks_are_sent_as_often_as_they_may_be() -> None:
    # reqsk_timer_handler: the sixth expiry drops the request, whose ACK is refused then.
    begin = LISTENS + f"+0 {ASKS}+0 {ANSWERS}"
    again = begin + "".join(f"+{wait} {ANSWERS}" for wait in (1, 2, 4, 8, 16))
    gone = "+{} < . 1:1(0) ack 1 win 9000\n+0 > R 1:1(0)\n"
    assert play(again + gone.format(33)).lines() == ["passed   script.pkt"]
    assert play(again + gone.format(31)).outcome == "departed"
    # A new SYN finds the socket listening.
    assert play(again + f"+40 {ASKS}+0 {ANSWERS}").outcome == "passed"
    assert play(begin + f"+.1 < R 1:1(0) win 0\n+0 {ASKS}+0 {ANSWERS}").outcome == "passed"
    once = "`sysctl net.ipv4.tcp_synack_retries=1`\n" + begin + f"+1 {ANSWERS}"
    assert play(once + gone.format(3)).outcome == "passed"
    asked = once.replace("=1`", "=5`").replace(
        "listen(3, 1) = 0\n",
        "listen(3, 1) = 0\n+0 setsockopt(3, SOL_TCP, TCP_SYNCNT, [1], 4) = 0\n",
    )
    assert play(asked + gone.format(3)).outcome == "passed"
    # tcp_rto_max bounds the wait (tcp_reqsk_timeout).
    most = "setsockopt(3, SOL_TCP, TCP_RTO_MAX_MS, [1500], 4) = 0\n+0 listen(3"
    short = begin.replace("listen(3", most) + f"+1 {ANSWERS}+1.5 {ANSWERS}+1.5 {ANSWERS}"
    assert play(short).outcome == "passed"


SYNS = """
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 connect(3, ..., ...) = -1 EINPROGRESS (as usual)
+0 > S 0:0(0) <...>
"""


@pytest.mark.parametrize("profile", ["linux-6.x", "linux-2.6.38", "ns-2-sack", "ns-3", "ideal"])
def test_the_most_of_a_timeout_bounds_the_first_one(profile: str) -> None:
    # tcp_timeout_init; profiles of 3 s had none for such a script.
    waits = 0.01 if profile == "ideal" else 1
    most = "`sysctl -q net.ipv4.tcp_rto_max_ms=1000`" + SYNS
    assert play(most + f"+{waits} > S 0:0(0) <...>\n", profile).lines() == ["passed   script.pkt"]
    # tcp_bound_rto: and the least one.
    assert play("`sysctl -q net.ipv4.tcp_rto_min_us=900000000`" + OPEN, profile).lines() == [
        "passed   script.pkt"
    ]


@pytest.mark.parametrize(
    ("key", "outside", "beyond"),
    [
        ("tcp_syn_retries", (0, 128), 101),
        ("tcp_retries2", (256,), None),
        ("tcp_rto_max_ms", (999, 120_001), None),
        ("tcp_syn_linear_timeouts", (128,), 101),
        ("tcp_rto_min_us", (0,), None),
    ],
)
def test_a_number_that_the_kernel_refuses_sets_nothing(
    key: str, outside: tuple[int, ...], beyond: int | None
) -> None:
    # proc_dointvec_minmax: EINVAL, and the value before stays.
    for number in outside:
        settings = Settings()
        settings.run(f"sysctl -q net.ipv4.{key}={number}", 1)
        assert settings == Settings(ignored=[f"{key}={number}"])
    if beyond is not None:
        text = OPEN + f"+0 `sysctl -q net.ipv4.{key}={beyond}`\n"
        assert play(text).problem == f"{key}={beyond}"


def test_a_repeated_syn_is_answered_at_once_but_not_too_often() -> None:
    # tcp_check_req: the timer begins anew and is not doubled; tcp_oow_rate_limited: 500 ms apart.
    text = LISTENS + f"+0 {ASKS}+0 {ANSWERS}+.5 {ASKS}+0 {ANSWERS}+.2 {ASKS}+.8 {ANSWERS}"
    assert play(text + f"+2 {ANSWERS}").lines() == ["passed   script.pkt"]


def test_what_is_left_in_time_wait_knows_no_sack() -> None:
    # tcp_timewait_state_process, tcp_v4_timewait_ack
    fin, ack = "< F. 1:1(0) ack {} win 9\n", "+0 > . 2:2(0) ack 2\n"
    ends = OPEN + "+0 close(3) = 0\n+0 close(4) = 0\n+0 > F. 1:1(0) ack 1\n"
    last = "+0 < . 2:2(0) ack 2 win 9\n"
    orderly = f"+.1 {fin.format(2)}{ack}+.1 {fin.format(2)}{ack}{last}"
    crossing = f"+.1 {fin.format(1)}{ack}+.1 < . 2:2(0) ack 2 win 9\n+.1 {fin.format(2)}{ack}"
    # After close(), once the FIN is acknowledged, the same holds but for new data.
    early = "+.1 < . 1:101(100) ack 1 win 9\n+0 > . 1:1(0) ack 101\n+0 read(4, ..., 9999) = 100\n"
    half = OPEN + early + ends[len(OPEN) :].replace("ack 1", "ack 101")
    half += "+.1 < . 101:101(0) ack 2 win 9\n" * 2 + "+.1 < . 1:101(100) ack 2 win 9\n"
    half += "+0 > . 2:2(0) ack 101\n+.1 < F. 101:101(0) ack 2 win 9\n+0 > . 2:2(0) ack 102\n"
    assert play(half).lines() == ["passed   script.pkt"]
    for text in (orderly, crossing):
        assert play(ends + text).lines() == ["passed   script.pkt"]
    syn = ends + orderly + "+.1 < . 1:1(0) ack 2 win 9\n" + ack + "+.6 < S 9:9(0) win 9\n" + ack
    assert play(syn).lines() == ["passed   script.pkt"]
    assert play(syn.replace("+.6 < S", "+.4 < S")).outcome == "departed"
    assert play(syn.replace("+0 close(3) = 0\n", "")).problem == "SYNs in TIME-WAIT"


def test_a_socket_has_timeouts_of_its_own() -> None:
    own = "+0 setsockopt(4, SOL_TCP, {}, [{}], 4) = 0\n"
    near = OPEN.replace("+.1 <", "+0 <") + "+0 %{{ assert tcpi_rto == {}, tcpi_rto }}%\n"
    assert play(near.format(200_000)).outcome == "passed"
    low = own.format("TCP_RTO_MIN_US", 50_000) + "+0 %"
    assert play(near.replace("+0 %", low).format(50_000)).outcome == "passed"
    # The timeouts after the tail loss probe: 300 ms, doubled, and 1 s at most.
    again = "> P. 1:1001(1000) ack 1\n"
    late = own.format("TCP_RTO_MAX_MS", 1000) + f"+0 write(4, ..., 1000) = 1000\n+0 {again}"
    late += f"+.3 {again}" * 2 + f"+.6 {again}+1 {again}+1 {again}"
    assert play(OPEN + late).lines() == ["passed   script.pkt"]
    # A number that the kernel refuses (EINVAL) sets nothing.
    for name, number in (("TCP_RTO_MIN_US", 200_001), ("TCP_RTO_MAX_MS", 10), ("TCP_SYNCNT", 128)):
        refused = own.format(name, number) + "+0 %"
        assert play(near.replace("+0 %", refused).format(200_000)).outcome == "passed"
    assert play(OPEN + own.format("TCP_SYNCNT", 101)).problem == "TCP_SYNCNT 101"


def test_the_window_grows_with_sacks_where_the_network_reorders_much() -> None:
    # tcp_may_raise_cwnd: beyond tcp_reordering all that arrives counts, else what is in order.
    asked = "+0 %{{ assert (tcpi_reordering, tcpi_snd_cwnd) == ({}, {}), tcpi_snd_cwnd }}%\n"
    sacked = "+0 < . 1:1(0) ack 1 win 1024 <sack {}>\n"
    text = OPEN + "+0 write(4, ..., 10000) = 10000\n+0 > P. 1:10001(10000) ack 1\n+.1" + "{}"
    near = sacked.format("2001:3001")[2:] + asked.format(3, 10)
    near += sacked.format("1001:3001") + asked.format(3, 10)
    near += "+0 < . 1:1(0) ack 3001 win 1024\n" + asked.format(3, 11)
    far = sacked.format("9001:10001")[2:] + asked.format(3, 10)
    far += sacked.format("3001:4001 9001:10001") + asked.format(7, 11)
    far += sacked.format("3001:5001 9001:10001") + asked.format(7, 12)
    # An ACK counts what it SACKs, too: three packets below it and one above.
    far += "+0 < . 1:1(0) ack 5001 win 1024 <sack 6001:7001 9001:10001>\n" + asked.format(10, 16)
    for steps in (near, far):
        assert play(text.format(steps)).lines() == ["passed   script.pkt"]


def test_an_active_open_counts_its_syn() -> None:
    # tcp_snd_una_update and __tcp_transmit_skb; a SYN-ACK has no socket that counts.
    fields = "(tcpi_bytes_acked, tcpi_segs_out, tcpi_data_segs_out, tcpi_bytes_sent)"
    active = (
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
        "+0 connect(3, ..., ...) = -1 EINPROGRESS\n"
        "+0 > S 0:0(0) <...>\n"
        "+.1 < S. 0:0(0) ack 1 win 9000 <mss 1000>\n"
        "+0 > . 1:1(0) ack 1\n"
        "+0 write(3, ..., 2000) = 2000\n"
        "+0 > P. 1:2001(2000) ack 1\n"
        "+.1 < . 1:1(0) ack 2001 win 9000\n"
    )
    passive = OPEN + active[active.index("+0 write") :].replace("(3,", "(4,")
    for text, expected in ((active, "(2001, 4, 2, 2000)"), (passive, "(2000, 2, 2, 2000)")):
        outcome = play(f"{text}+0 %{{ assert {fields} == {expected} }}%")
        assert outcome.outcome == "passed", outcome.lines()


def test_numbers_count_from_the_syn_whatever_it_begins_with() -> None:
    # Absolute in a segment with SYN and relative in others, as tcpdump has them (socket.h).
    passive = (
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
        "+0 listen(3, 1) = 0\n"
        "+0 < S 999000:999040(40) win 9000 <mss 1000,sackOK,nop,wscale 7>\n"
        "+0 > S. 1234:1234(0) ack 999001 <...>\n"
        "+.1 < . 1:1(0) ack 1 win 9000\n"
        "+0 accept(3, ..., ...) = 4\n"
        "+0 write(4, ..., 3000) = 3000\n"
        "+0 > P. 1:3001(3000) ack 1\n"
        "+.1 < . 1:1(0) ack 1 win 9000 <sack 1001:2001>\n"
        "+0 < . 1001:2001(1000) ack 3001 win 9000\n"
        "+0 > . 3001:3001(0) ack 1 <sack 1001:2001>\n"
        "+0 < S 999000:999000(0) win 9000\n"
        "+0 > . 3001:3001(0) ack 1 <sack 1001:2001>\n"
        "+0 < R. 1:1(0) ack 3001 win 0\n"
        "+0 read(4, ..., 9) = -1 ECONNRESET\n"
    )
    assert play(passive).lines() == ["passed   script.pkt"]
    # The numbers of both sides end in the handshake.
    last = passive.replace("999000", "4294967295").replace("999040(40)", "4294967295(0)")
    last = last.replace("1234", "4294967295").replace("999001", "0")
    last = last.replace("4294967295:4294967295(40)", "4294967295:4294967295(0)")
    assert play(last).lines() == ["passed   script.pkt"]
    active = (
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
        "+0 connect(3, ..., ...) = -1 EINPROGRESS\n"
        "+0 > S 77:77(0) <...>\n"
        "+.1 < S. 123:123(0) ack 77 win 9000 <mss 1000>\n"
        "+0 > R 0:0(0)\n"
        "+.1 < S. 123:123(0) ack 78 win 9000 <mss 1000>\n"
        "+0 > . 1:1(0) ack 1\n"
        "+.1 < P. 1:501(500) ack 1 win 9000\n"
        "+0 > . 1:1(0) ack 501\n"
        "+0 close(3) = 0\n"
        "+0 > R. 1:1(0) ack 501\n"
        "+0 < . 501:501(0) ack 9 win 9000\n"
        "+0 > R 9:9(0)\n"
    )
    assert play(active).lines() == ["passed   script.pkt"]
    assert play(active.replace("> . 1:1(0) ack 1\n", "> . 78:78(0) ack 124\n")).line == 7


def test_the_segment_that_was_too_big_may_come_before_the_message() -> None:
    # The first versions of packetdrill have it so.
    later = "0 < icmp unreachable frag_needed mtu 1200 [1:1001(1000)]"
    before = "0 < [1:1001(1000)] icmp unreachable frag_needed mtu 1200"
    assert parser.parse(before).events == parser.parse(later).events


def test_a_command_behind_all_events_changes_nothing() -> None:
    sent = "+0 write(4, ..., 20000) = 20000\n+0 > P. 1:10001(10000) ack 1\n"
    asked = "+0 %{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%\n"
    text = OPEN + sent + asked
    assert play(text).outcome == "passed"
    # Restored settings, as scripts' last lines have them.
    restore = "`sysctl -q net.ipv4.tcp_window_scaling=0; ip route change default initcwnd 3`\n"
    assert play(text + restore).outcome == "passed"
    assert play(restore + text).outcome == "departed"
    wrong = play(OPEN + sent + restore + asked)
    assert (wrong.outcome, wrong.line) == ("bad", text.count("\n") + 1)


def test_packetdrills_own_defaults_are_known() -> None:
    settings = Settings()
    settings.run("../common/defaults.sh", 1)
    # gtests/net/common/defaults.sh
    assert (settings.idle_restart, settings.ecn, settings.wscale) == (False, 0, 8)
    assert (settings.syn_retries, settings.early_retrans, settings.fack) == (5, 4, False)
    asked = (
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n"
        "+0 < S 0:10(10) win 9000 <mss 1000,FOEXP COOKIE>\n+0 > S. 0:0(0) ack 11 <mss 1460>\n"
    )
    assert play("`../common/defaults.sh`\n" + asked).problem == "Fast Open"
    plain = "`defaults.sh; sysctl tcp_fastopen=2`\n" + asked.replace("ack 11", "ack 1")
    assert play(plain).outcome == "passed"


def test_settings_come_from_commands_that_are_never_run(tmp_path: Path) -> None:
    settings = Settings(folder=tmp_path)
    marker = tmp_path / "ran"
    settings.run(
        f"touch {marker}\nsysctl -q net.ipv4.tcp_ecn=1 net.ipv4.tcp_sack=0 # both\n"
        "echo 0 > /proc/sys/net/ipv4/tcp_timestamps; ./set_sysctls.py "
        "/proc/sys/net/ipv4/tcp_recovery=0 \\\n /proc/sys/net/ipv4/tcp_early_retrans=0\n"
        'sysctl -q net.ipv4.tcp_rmem="4096 540000 $((15*1024*1024))"\n'
        "tc qdisc replace dev tun0 root fq\nsysctl net/ipv4/tcp_slow_start_after_idle=0",
        1,
    )
    assert not marker.exists()
    assert (settings.ecn, settings.sack, settings.timestamps) == (1, False, False)
    assert (settings.rack, settings.early_retrans, settings.idle_restart) == (False, 0, False)
    # 15 MiB are 23 bits and more: a shift of 8 leaves 16 bits.
    assert (settings.wscale, settings.pacing) == (8, True)
    (tmp_path / "defaults.sh").write_text("sysctl -q net.ipv4.tcp_congestion_control=reno\n")
    settings.run("./defaults.sh", 1)
    assert settings.control == "reno"


@pytest.mark.parametrize(
    ("words", "initcwnd", "rto_min_us"),
    [
        ("initcwnd 7 rto_min 300ms", 7, 300_000),
        ("initcwnd lock 7 rto_min lock 5msecs", 7, 5_000),
        ("rto_min 40", None, 40_000),
        ("rto_min 0.05s", None, 50_000),
        ("rto_min 2secs", None, 2_000_000),
        (".0015s", None, None),
        ("rto_min .0015s", None, 2_000),
    ],
)
def test_a_routes_values_are_as_iproute2_reads_them(
    words: str, initcwnd: int | None, rto_min_us: int | None
) -> None:
    settings = Settings()
    settings.run(f"ip -4 route change default via 10.0.0.1 {words}", 1)
    assert (settings.initial_window, settings.rto_min_us) == (initcwnd, rto_min_us)
    # A route's value goes before the host's own.
    settings.run("sysctl -q net.ipv4.tcp_rto_min_us=9000", 2)
    assert settings.rto_min_us == (rto_min_us or 9000)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("rto_min x", "a route's rto_min x"),
        ("rto_min 5us", "a route's rto_min 5us"),
        ("initcwnd lock many", "a route's initcwnd many"),
        ("initrwnd lock 9", "a route's initrwnd"),
        ("features tcp_usec_ts", "a route's features tcp_usec_ts"),
        ("congctl lock vegas", "congestion control vegas"),
    ],
)
def test_what_a_route_cannot_have_is_named(words: str, what: str) -> None:
    outcome = play(f"`ip route replace default dev tun0 {words}`")
    assert (outcome.outcome, outcome.problem) == ("skipped", what)


def test_a_routes_control_goes_before_the_hosts_and_a_sockets_before_both() -> None:
    settings = Settings()
    settings.run("ip ro change default congctl lock reno; ip route show table all", 1)
    settings.run("sysctl -q net.ipv4.tcp_congestion_control=dctcp", 2)
    assert settings.control == "reno"


def test_code_is_evaluated_and_never_run(tmp_path: Path) -> None:
    asserts = Asserts()
    asserts.run("limit = 3; limit += 4\nprint 'a=%d' % limit", 1, {})
    asserts.run("assert 5 <= tcpi_snd_cwnd <= limit or False, 'x'", 1, {"tcpi_snd_cwnd": 7})
    assert asserts.printed == ["a=7"]
    with pytest.raises(DepartsError, match="does not hold"):
        asserts.run("assert tcpi_snd_cwnd > limit", 1, {"tcpi_snd_cwnd": 7})
    marker = tmp_path / "ran"
    for code in (
        f"open({str(marker)!r}, 'w')",
        "__import__('os').system('true')",
        "(1).__class__",
        "[x for x in (1,)]",
        "lambda: 1",
    ):
        with pytest.raises(SkippedError):
            asserts.run(code, 1, {})
    for code in ("1 << 65", "'%9999d' % 1", "'a' * 9", "1 / 0", "1" + " + 1" * 50_000):
        with pytest.raises(BadScriptError):
            asserts.run(code, 1, {})
    assert not marker.exists()


@pytest.mark.parametrize("kind", ["udp", "dcqcn", "nscc"])
def test_a_transport_that_is_no_tcp_is_refused(
    switchbed: Program, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "open.pkt").write_text(OPEN)
    ran = switchbed("drill", tmp_path / "open.pkt", "--set", f"transport.kind={kind}", code=2)
    assert f'transport.kind is "{kind}", which is no TCP' in ran.stderr


def test_the_exit_code_and_the_line_of_each_file(switchbed: Program, tmp_path: Path) -> None:
    passes, departs = OPEN, OPEN + "+0 > P. 1:2(1) ack 1\n"
    skips, wrong = "0 < icmp echo_request", "0 <"
    for name, text in (("a", passes), ("b", departs), ("c", skips), ("d", wrong)):
        (tmp_path / f"{name}.pkt").write_text(text)

    for names, code in (
        (("a",), 0),
        (("b",), 1),
        (("c",), 77),
        (("d",), 2),
        (("a", "c"), 0),
        (("a", "b", "c"), 1),
        (("b", "d"), 2),
    ):
        done = switchbed("drill", *(f"{name}.pkt" for name in names), code=code)
        assert all(f"{name}.pkt" in done.stdout for name in names)
    done = switchbed("drill", ".", "--json", code=2)
    found = json.loads(done.stdout)
    assert [row["outcome"] for row in found] == ["passed", "departed", "skipped", "bad"]
    assert found[1]["line"] == departs.count("\n")
    done = switchbed("drill", ".", code=2)
    assert done.stdout.splitlines()[-1] == "1 passed, 1 departed, 1 skipped, 1 bad"
    (tmp_path / "none").mkdir()
    assert "no scripts" in switchbed("drill", "none", code=2).stderr
    assert "no such host profile" in switchbed("drill", "a.pkt", "--profile", "x", code=2).stderr


def words(text: str) -> st.SearchStrategy[str]:
    """Parts of a script in any order, and text of any kind between."""
    parts = [part for part in re.split(r"(\s+|[<>(),:%`{}\[\]])", text) if part]
    return st.lists(st.sampled_from(parts) | st.text(max_size=4), max_size=60).map("".join)


EXAMPLE = "\n".join(path.read_text() for path in SCRIPTS)


@given(st.text(max_size=200) | words(EXAMPLE))
def test_any_text_is_a_script_or_says_why_not(text: str) -> None:
    line = 1
    try:
        parser.parse(text)
    except (BadScriptError, SkippedError) as error:
        line = error.line
    assert 1 <= line <= text.count("\n") + 1


@given(st.sampled_from(SCRIPTS), st.data())
def test_a_changed_script_has_an_outcome(path: Path, data: st.DataObject) -> None:
    text = path.read_text()
    numbers = list(re.finditer(r"\d+", text))
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.sampled_from(numbers))
        value = data.draw(st.integers(0, 70_000))
        text = text[: number.start()] + str(value) + text[number.end() :]
    outcome = play(text, data.draw(st.sampled_from(profiles(path))))
    assert outcome.outcome in {"passed", "departed", "skipped", "bad"}
    json.dumps(outcome.document())
