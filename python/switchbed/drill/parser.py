"""The text of a script to its events (packetdrill's `parser.y` and `lexer.l`).

Comments are `//`, `#` and `/* */`. Text that is well formed but unknown to the model (ICMP, UDP,
encapsulation, other TCP options) raises `SkippedError`. Anything else that does not fit raises
`BadScriptError` with its line.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from switchbed.drill.script import (
    Anything,
    BadScriptError,
    Call,
    Clock,
    Code,
    Command,
    Event,
    Packet,
    Script,
    Segment,
    SkippedError,
    TooBig,
    Value,
    When,
    Word,
)

PS_PER_S = 10**12
BLANK = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*|/\*.*?\*/)+", re.S)
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NAME = re.compile(r"[A-Z][A-Z0-9_]*\b")
"""A word that stands for another, as scripts write them."""
INTEGER = re.compile(r"0[xX][0-9a-fA-F]+|-?[0-9]+")
OPTION = re.compile(r"--([A-Za-z_0-9]+)")
OPTIONS_VALUE = re.compile(r'(?:[A-Za-z_]\w*=)?(?:"[^"]*"|`[^`]*`|[^\s"`]+)')
DEFINE = re.compile(r"-D\s*\S+")
FLAGS = re.compile(r"[SFRPEWUCA]+\s+\.(?=[\s(])|[SFRPEWUCA]*\.?[0-9]?(?=[\s(])|-(?=\s)")
SEQUENCE = re.compile(r"([0-9]+)\s*:\s*([0-9]+)\s*\(\s*([0-9]+)\s*\)")
TOO_BIG = re.compile(
    r"icmp\s+(?:unreachable\s+frag_needed|packet_too_big)\s+mtu\s+([0-9]{1,5})(?![0-9])"
)
ECHOED = re.compile(r"\[\s*([0-9]{1,10})\s*:\s*[0-9]{1,10}\s*\(\s*[0-9]{1,10}\s*\)\s*\]")
"""The segment that an ICMP message is about."""
SOCKET = re.compile(r"sock\s*\(\s*[0-9]+\s*\)")
"""The socket of a segment, in versions of packetdrill for several connections."""
UNCHECKED = re.compile(r"nocheck\b")
COOKIE = re.compile(r"[0-9A-Za-z_]+")
PORTS = re.compile(r"[0-9]+\s*>\s*[0-9]+")
ERRNO = re.compile(r"E[A-Z0-9]+\b")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
QUOTED = re.compile(r"`((?:[^`\\]|\\.)*)`", re.S)
MARKS = ("noecn", "ect01", "ect0", "ect1", "ce")
LONGEST = 1 << 20
"""Characters of a script at most."""
LONGEST_NUMBER = 24
"""Characters of a number at most."""
DEEPEST = 40
"""Nested values at most."""
LATEST = 10**7
"""Seconds of a time at most."""
RANGED = "a range of times is for a segment that is to be sent"
OTHERS = {
    "icmp": "ICMP",
    "udp": "UDP",
    "ipv4": "encapsulation",
    "ipv6": "encapsulation",
    "gre": "encapsulation",
    "GREv0": "encapsulation",
    "mpls": "encapsulation",
    "raw": "raw packets",
    "encap": "encapsulation",
    "sctp": "SCTP",
}
"""Packets that are not TCP's."""
FOREIGN = {
    "md5": "MD5 signatures",
    "tcp_ao": "TCP-AO",
    "AccECN": "accurate ECN",
    "ECN": "accurate ECN",
}
"""TCP options that the model has not."""
MULTIPATH = re.compile(r"mp_?[a-z]\w*|dss|(?:add|rm|remove)_?addr\w*")
"""TCP options of MPTCP, in the versions of packetdrill that have them."""


class Reader:
    """A script's text and the place that has been read to."""

    def __init__(self, text: str, given: Mapping[str, str]) -> None:
        self.text = text
        self.at = 0
        self.given = given
        """Definitions from beside the script, which go before its own."""
        self.defined = dict(given)
        """Words that stand for others (`--define=CC="reno"`)."""
        self.labels: list[int] = []
        """Flow labels of the segments that are to be sent."""
        self._counted = (0, 1)

    @property
    def line(self) -> int:
        """Number of the line."""
        # Lines are counted from the last place asked for: from the beginning they would cost the
        # square.
        at, line = self._counted
        if self.at < at:
            at, line = 0, 1
        self._counted = (self.at, line + self.text.count("\n", at, self.at))
        return self._counted[1]

    def bad(self, message: str) -> BadScriptError:
        """An error here."""
        rest = self.text[self.at : self.at + 24].split("\n", 1)[0]
        return BadScriptError(
            self.line, f"{message} at {rest!r}" if rest else f"{message} at the end"
        )

    def blank(self) -> None:
        """Passes blanks and comments."""
        if found := BLANK.match(self.text, self.at):
            self.at = found.end()

    def sees(self, text: str) -> bool:
        """Whether `text` comes next."""
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        """Reads `text` after blanks, if it comes next."""
        self.blank()
        if not self.sees(text):
            return False
        self.at += len(text)
        return True

    def need(self, text: str) -> None:
        """Reads `text` after blanks."""
        if not self.take(text):
            raise self.bad(f"{text!r} is needed")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Reads what fits `pattern` after blanks."""
        self.blank()
        # A pattern that fits nothing is no match: callers loop as long as there is one.
        if (found := pattern.match(self.text, self.at)) and found.end() > self.at:
            self.at = found.end()
            return found
        return None

    def word(self) -> str | None:
        """Reads a word."""
        found = self.match(WORD)
        return found[0] if found else None

    def command(self) -> str | None:
        """Reads a command in backquotes."""
        self.blank()
        if not self.sees("`"):
            return None
        if found := self.match(QUOTED):
            return found[1]
        raise self.bad("a command has no '`'")

    def until(self, end: str, what: str) -> str:
        """Reads up to `end`."""
        stop = self.text.find(end, self.at)
        if stop < 0:
            raise self.bad(f"{what} has no {end!r}")
        text, self.at = self.text[self.at : stop], stop + len(end)
        return text

    def integer(self, most: int = 2**32 - 1, least: int = 0) -> int:
        """Reads a whole number from `least` to `most`."""
        found = self.match(INTEGER) or self._stand_in()
        if not found:
            raise self.bad("a whole number is needed")
        # Base 0 reads 0x10, but refuses 010, which scripts have as ten.
        base = 0 if "x" in found[0].lower() else 10
        if len(found[0]) > LONGEST_NUMBER or not least <= int(found[0], base) <= most:
            raise self.bad(f"a number is from {least} to {most}; the one before it is not,")
        return int(found[0], base)

    def _stand_in(self) -> re.Match[str] | None:
        """Reads a word that is defined as a number."""
        found = NAME.match(self.text, self.at)
        if found and found[0] not in self.defined:
            # Runners of scripts define such words on packetdrill's command line.
            raise SkippedError(self.line, f"value of {found[0]}")
        number = found and INTEGER.fullmatch(self.defined[found[0]])
        if found and number:
            self.at = found.end()
        return number

    def seconds(self) -> int:
        """Reads a time in seconds, as picoseconds."""
        found = self.match(NUMBER)
        if not found:
            raise self.bad("a time in seconds is needed")
        whole, _, part = found[0].partition(".")
        if len(whole) > 9 or int(whole or 0) > LATEST:
            raise self.bad(f"a time is {LATEST} s at most; the one before it is longer,")
        # By digits, since a float has no exact picoseconds.
        return int(whole or 0) * PS_PER_S + int(part[:12].ljust(12, "0"))


def definition(text: str) -> tuple[str, str] | None:
    """A word and what it stands for, of `WORD=VALUE`."""
    word, equals, stands = text.partition("=")
    return (word, stands) if equals and WORD.fullmatch(word) else None


def parse(text: str, given: Mapping[str, str] = MappingProxyType({})) -> Script:
    """The script with this text; `given` are definitions that its own do not change."""
    if len(text) > LONGEST:
        raise BadScriptError(1, f"a script has {LONGEST} characters at most")
    reader, script = Reader(text, given), Script()
    while True:
        reader.blank()
        if reader.at >= len(text):
            break
        line = reader.line
        if found := reader.match(OPTION):
            _option(reader, script, found[1])
        elif reader.match(DEFINE):
            pass
        elif (command := reader.command()) is not None:
            # A command without a time behind all events cleans up, when nothing is played any more.
            (script.cleanup if script.events else script.commands).append((line, command))
        elif script.cleanup:
            raise reader.bad("a command without a time comes before all events or behind them;")
        else:
            script.events.append(_event(reader))
    return script


def _option(reader: Reader, script: Script, name: str) -> None:
    """Reads an option's value, if it has one; a definition is for the rest of the script."""
    value = ""
    if reader.take("="):
        found = reader.match(OPTIONS_VALUE)
        if not found:
            raise reader.bad(f"--{name} has no value")
        value = found[0]
    if name in ("define", "D"):
        if not (defined := definition(value)):
            raise reader.bad(f"--{name} is {value!r}: write --{name}=WORD=value;")
        word, stands = defined
        reader.defined[word] = reader.given.get(word, stands)
        return
    script.options[name] = value.strip('"`')


def _event(reader: Reader) -> Event:
    when = _when(reader)
    ranged = when.last != when.first
    until = None
    if reader.take("..."):
        reader.take("+")
        until = reader.seconds()
    reader.blank()
    line = reader.line
    if ranged and not (reader.sees("<") or reader.sees(">")):
        raise BadScriptError(line, RANGED)
    if reader.take("%{"):
        return Event(line, when, Code(reader.until("}%", "code")))
    if (command := reader.command()) is not None:
        return Event(line, when, Command(command))
    if (word := WORD.match(reader.text, reader.at)) and (
        quoted := QUOTED.fullmatch(reader.defined.get(word[0], ""))
    ):
        reader.at = word.end()
        return Event(line, when, Command(quoted[1]))
    if reader.sees("<") or reader.sees(">"):
        if until is not None:
            when = When(when.clock, when.first, until)
        inbound = reader.take("<")
        if not inbound:
            reader.need(">")
        if (ranged or until is not None) and inbound:
            raise BadScriptError(line, RANGED)
        if inbound and (big := _too_big(reader)):
            return Event(line, when, big)
        before = len(reader.labels)
        segment = _segment(reader, line)
        if inbound:
            del reader.labels[before:]
        elif len(set(reader.labels)) > 1:
            # One label is any label: a script's numbers stand for those that the kernel draws.
            raise SkippedError(line, "flow labels that change")
        if inbound and segment.any_options:
            raise BadScriptError(line, "<...>: options of a segment that arrives are needed")
        if inbound and segment.ecn == "ect01":
            raise BadScriptError(line, "[ect01]: a segment that arrives has ect0 or ect1")
        if inbound and when.clock is Clock.ANY:
            raise BadScriptError(line, "*: a segment that arrives needs a time")
        if inbound and segment.urgent is not None:
            raise SkippedError(line, "urgent data that arrives")
        if segment.fast_open and not inbound:
            raise SkippedError(line, "Fast Open")
        return Event(line, when, Packet(segment, inbound))
    if when.clock is Clock.ANY:
        raise BadScriptError(line, "*: a system call needs a time")
    return Event(line, when, _call(reader, until))


def _when(reader: Reader) -> When:
    if reader.take("*"):
        return When(Clock.ANY)
    clock = Clock.BEFORE if reader.take("+") else Clock.START
    first = last = reader.seconds()
    if reader.take("~"):
        reader.take("+")
        last = reader.seconds()
        if last < first:
            raise reader.bad("a range ends before it begins")
    return When(clock, first, last)


def _too_big(reader: Reader) -> TooBig | None:
    """Reads ICMP's message on the path MTU, with its segment behind it or, as once, before it."""
    begin = reader.at
    echoed = reader.match(ECHOED)
    message = reader.match(TOO_BIG)
    if message and (echoed := echoed or reader.match(ECHOED)):
        return TooBig(int(message[1]), int(echoed[1]))
    reader.at = begin
    return None


def _refuse_others(reader: Reader, line: int) -> None:
    """Skips packets that are not TCP's."""
    reader.blank()
    for name, what in OTHERS.items():
        if re.match(rf"{name}\b", reader.text[reader.at : reader.at + 8]):
            raise SkippedError(line, what)


def _segment(reader: Reader, line: int) -> Segment:
    given: dict[str, Any] = {}
    _refuse_others(reader, line)
    if reader.match(ECHOED):
        _refuse_others(reader, line)
        raise reader.bad("icmp is needed behind its segment")
    if reader.take("[") or reader.take("("):
        _ip(reader, given, line)
        _refuse_others(reader, line)
    reader.match(PORTS)
    flags = reader.match(FLAGS)
    if not flags:
        raise reader.bad("TCP's flags are needed, as S, P. or .")
    # `C` is CWR in tcpdump's letters, `W` in packetdrill's; a dash stands for none.
    letters = re.sub(r"[\s-]", "", flags[0]).replace("C", "W")
    if letters[-1:].isdigit() or "A" in letters:
        raise SkippedError(line, "accurate ECN")
    place = reader.match(SEQUENCE)
    if not place:
        raise reader.bad("sequence numbers are needed, as 1:1001(1000),")
    if any(len(number) > 10 or int(number) > 2**32 - 1 for number in place.groups()):
        raise reader.bad("a sequence number has 32 bits; one before this is larger,")
    start, end, length = (int(number) for number in place.groups())
    # The length is redundant in the grammar; where they differ the script is wrong.
    if end != start + length:
        raise BadScriptError(
            line, f"{place[0]}: the numbers' difference is {end - start}, not {length}"
        )
    if length > 2**16 - 1:
        raise BadScriptError(line, f"{length} bytes of payload: a segment has 65535 at most")
    given |= {"flags": letters, "start": start, "length": length}
    if _named(reader, "ack"):
        given["ack"] = reader.integer()
    if _named(reader, "win"):
        given["window"] = reader.integer(2**16 - 1)
    if _named(reader, "urg"):
        given["urgent"] = reader.integer(2**16 - 1)
    elif "U" in letters:
        given["urgent"] = 0
    if reader.take("<"):
        _options(reader, given, line)
    reader.blank()
    if reader.sees("{"):
        raise SkippedError(line, "fuzzing")
    if reader.match(SOCKET):
        raise SkippedError(line, "segments that name a socket")
    return Segment(**given)


def _named(reader: Reader, name: str) -> bool:
    reader.blank()
    if re.match(rf"{name}\b", reader.text[reader.at : reader.at + 8]):
        reader.at += len(name)
        return True
    return False


def _ip(reader: Reader, given: dict[str, Any], line: int) -> None:
    """Reads what is said of the IP header."""
    while True:
        name = reader.word()
        if name in MARKS:
            given["ecn"] = name
        elif name == "tos":
            # ECN has the two low bits of the octet; the others are the DSCP.
            given["ecn"] = ("noecn", "ect1", "ect0", "ce")[reader.integer(255) & 3]
        elif name == "ttl":
            reader.integer(255)
        elif name == "flowlabel":
            reader.labels.append(reader.integer(2**20 - 1))
        else:
            raise reader.bad("an ECN codepoint, tos, ttl or flowlabel is needed")
        if reader.take("]") or reader.take(")"):
            return
        reader.need(",")


def _options(reader: Reader, given: dict[str, Any], line: int) -> None:
    """Reads TCP's options up to `>`."""
    # `<nocheck>` is how some older scripts have it.
    if reader.take("...") or reader.match(UNCHECKED):
        reader.need(">")
        given["any_options"] = True
        return
    while True:
        name = reader.word()
        if name == "mss":
            given["mss"] = reader.integer(2**16 - 1)
        elif name == "wscale":
            given["wscale"] = reader.integer(255)
        elif name in ("sackOK", "nop", "eol"):
            given["sack_ok"] = given.get("sack_ok", False) or name == "sackOK"
        elif name == "TS":
            reader.need("val")
            value = reader.integer()
            reader.need("ecr")
            given["stamp"] = (value, reader.integer())
        elif name == "sack":
            given["sacks"] = _blocks(reader)
        elif name in ("FO", "FOEXP"):
            reader.match(COOKIE)
            given["fast_open"] = True
        elif name in FOREIGN:
            raise SkippedError(line, FOREIGN[name])
        elif name and MULTIPATH.fullmatch(name):
            raise SkippedError(line, "MPTCP")
        elif name:
            raise SkippedError(line, f"TCP option {name}")
        else:
            raise reader.bad("a TCP option is needed, as mss 1460,")
        if reader.take(">"):
            return
        reader.need(",")


def _blocks(reader: Reader) -> tuple[tuple[int, int], ...]:
    blocks = []
    while True:
        reader.blank()
        if not INTEGER.match(reader.text, reader.at):
            break
        start = reader.integer()
        reader.need(":")
        blocks.append((start, reader.integer()))
    if not blocks:
        raise reader.bad("a SACK block is needed, as 1001:2001,")
    return tuple(blocks)


def _call(reader: Reader, until: int | None) -> Call:
    name = reader.word()
    if not name:
        raise reader.bad("an event is needed: a packet, a system call, `command` or %{ code }%,")
    reader.need("(")
    arguments = _list(reader, ")", 0)
    reader.need("=")
    result = _value(reader, 0)
    errno = found[0] if (found := reader.match(ERRNO)) else None
    if reader.take("("):
        reader.until(")", "a note")
    return Call(name, arguments, result, errno, until)


def _list(reader: Reader, end: str, depth: int) -> tuple[Value, ...]:
    if depth > DEEPEST:
        raise reader.bad("values are nested too deep")
    values: list[Value] = []
    if reader.take(end):
        return ()
    while True:
        values.append(_value(reader, depth + 1))
        if reader.take(end):
            return tuple(values)
        reader.need(",")


def _value(reader: Reader, depth: int) -> Value:
    value = _single(reader, depth)
    while reader.take("|"):
        other = _single(reader, depth)
        value = (*(value if isinstance(value, tuple) else (value,)), other)
    return value


def _single(reader: Reader, depth: int) -> Value:
    if depth > DEEPEST:
        raise reader.bad("values are nested too deep")
    if reader.take("..."):
        return Anything()
    if reader.take("["):
        return _list(reader, "]", depth)
    if reader.take("{"):
        return _structure(_list(reader, "}", depth))
    if found := reader.match(STRING):
        text = found[1]
        # Strings that follow each other are one, as in C.
        while found := reader.match(STRING):
            text += found[1]
        reader.take("...")
        return text
    if word := reader.word():
        if stands := reader.defined.get(word):
            return stands[1:-1] if stands[0] == '"' else Word(stands)
        of: tuple[Value, ...] | None = _list(reader, ")", depth) if reader.take("(") else None
        if reader.take("="):
            return {word: _value(reader, depth + 1)}
        # htons(…) and the like: the model has no byte order.
        if of is not None and len(of) == 1:
            return of[0]
        return Word(word)
    return reader.integer(2**63, -(2**63))


def _structure(parts: tuple[Value, ...]) -> Value:
    """The fields in braces as one structure."""
    if not all(isinstance(part, dict) for part in parts):
        return parts
    whole: dict[str, Value] = {}
    for part in parts:
        assert isinstance(part, dict)
        whole |= part
    return whole
