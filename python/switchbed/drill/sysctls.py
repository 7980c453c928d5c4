"""A script's shell commands as settings of the model.

None is run. `sysctl`, `echo`, `set_sysctls.py`, `tc` and `ip route` are read, and each setting that
the model has is applied.
"""

import math
import re
import shlex
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from switchbed.drill.script import SkippedError

CONTROLS = ("cubic", "reno", "dctcp", "bbr")
ASSIGNED = re.compile(r"(?:net[./]ipv4[./])?(tcp_\w+|ip_\w+)$")
ROUTES = ("add", "change", "replace", "append", "prepend")
"""Words of `ip route` that set a route's values."""
TIME = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})(s|secs?|ms|msecs?)?")
"""A time of `ip route`: milliseconds without a unit (iproute2's `get_time_rtt`)."""
PROC = re.compile(r"/proc/sys/net/ipv4/(\w+)$")
CUBIC = re.compile(r"/sys/module/tcp_cubic/parameters/(\w+)$")
HEX = re.compile(r"0[xX][0-9a-fA-F]{1,8}|[1-9][0-9]{0,8}|0")
LARGEST = 1 << 16
"""Bytes of a `defaults.sh` at most."""
PRODUCT = re.compile(r"\$\(\(\s*([0-9]{1,9}(?:\s*\*\s*[0-9]{1,9})*)\s*\)\)")
USUAL = {"tcp_reordering": "3", "tcp_pacing_ss_ratio": "200", "tcp_pacing_ca_ratio": "120"}
"""Settings that the model has at this value alone."""
ABSENT = {
    "tcp_mtu_probing": "MTU probing",
    "tcp_thin_linear_timeouts": "thin streams",
    "tcp_thin_dupack": "thin streams",
    "tcp_low_latency": "low latency",
}
"""Settings that the model has at 0 alone."""
RANGES = {
    "tcp_syn_retries": (1, 127),
    "tcp_retries2": (0, 255),
    "tcp_syn_linear_timeouts": (0, 127),
    "tcp_rto_min_us": (1, 999_999_999),
    "tcp_rto_max_ms": (1_000, 120_000),
}
"""Numbers that the kernel takes; with another the value before stays."""
SENT_AGAIN = 100
"""SYNs sent again at most in the model."""


@dataclass
class Settings:
    """Settings of a host that scripts change. The first values are a Linux host's own."""

    folder: Path = Path()
    """Where the script is."""
    control: str = "cubic"
    sack: bool = True
    timestamps: bool = True
    window_scaling: bool = True
    ecn: int = 2
    idle_restart: bool = True
    rack: bool = True
    early_retrans: int = 3
    fack: bool | None = None
    dsack: bool = True
    frto: bool = True
    win_divisor: int = 3
    hystart: bool = True
    pacing: bool = False
    syn_retries: int | None = None
    synack_retries: int = 5
    retries: int | None = None
    rto_min_us: int | None = None
    rto_max_ms: int | None = None
    linear_timeouts: int | None = None
    initial_window: int | None = None
    syncookies: int = 1
    tw_reuse: int = 2
    tw_reuse_delay_ms: int = 1000
    invalid_ratelimit_ms: int = 500
    """The least time between two ACKs for segments that are not taken."""
    fast_open: bool = False
    """Every listening socket has Fast Open."""
    mtu: int = 1500
    path_mtu: int | None = None
    """The peer's path MTU, once it is less than the link's."""
    tun_mss: int | None = None
    """Packetdrill's `--mss`: the size of the segments that its large ones stand for."""
    ipv6: bool = False
    wscale: int | None = None
    """The window's shift that tcp_rmem leads to, where a script sets it."""
    of_route: set[str] = field(default_factory=set)
    """Settings that a route has: a host's own do not count beside them."""
    ignored: list[str] = field(default_factory=list)
    """Commands and settings without effect on the model."""

    def run(self, text: str, line: int) -> None:
        """Reads a command."""
        # A backslash at a line's end joins it with the next.
        text = PRODUCT.sub(_product, re.sub(r"\\\n", " ", text))
        for part in re.split(r"\n|;|&&", text):
            # A `#` within a word begins no comment.
            if command := re.sub(r"(^|\s)#.*", "", part).strip():
                self._one(command, line)

    def _one(self, text: str, line: int) -> None:
        try:
            words = shlex.split(text)
        except ValueError:
            # Quotes that do not close: the words are enough to find out what the command would set.
            words = text.split()
        if not words:
            return
        # Commands may be called by their path.
        name = words[0].rsplit("/", 1)[-1]
        if name == "defaults.sh":
            self._defaults(words[0], line)
        elif name in ("sysctl", "set_sysctls.py"):
            for word in words[1:]:
                key, is_set, value = word.partition("=")
                if is_set:
                    self._assign(key, value.strip(), line)
        # `echo 0 > /proc/sys/net/ipv4/tcp_sack` is how older scripts set values.
        elif name == "echo" and ">" in words:
            self._assign(words[-1], " ".join(words[1 : words.index(">")]).strip(), line)
        elif name == "tc":
            self._queue(words, line)
        elif name == "ip" and self._is_route(words):
            self._route(words, line)
        elif name == "ip" and "link" in words and "mtu" in words[:-1]:
            self.mtu = _whole(words[words.index("mtu") + 1]) or self.mtu
        else:
            self.ignored.append(text)

    def _defaults(self, name: str, line: int) -> None:
        """Applies `defaults.sh`: the file's own text if it is there, else packetdrill's."""
        path = self.folder / name
        if self.folder != Path() and path.is_file() and path.stat().st_size < LARGEST:
            # A defaults.sh that names itself would be read for ever: within one, the name means
            # packetdrill's.
            folder, self.folder = self.folder, Path()
            self.run(path.read_text(errors="replace"), line)
            self.folder = folder
        else:
            # Values of packetdrill's own file: no slow start after idle, no ECN, a receive buffer
            # of scale 8, and Fast Open for every server.
            self.idle_restart, self.ecn, self.wscale, self.fast_open = False, 0, 8, True
            self.syn_retries, self.early_retrans, self.fack = 5, 4, False

    def _queue(self, words: list[str], line: int) -> None:
        if "fq" in words:
            self.pacing = True
        # A short queue or netem changes what leaves the host, which the model sends as it is.
        elif "limit" in words or "netem" in words:
            raise SkippedError(line, "losses or delays in the host's own queue")
        else:
            self.ignored.append(" ".join(words))

    @staticmethod
    def _is_route(words: list[str]) -> bool:
        # Options such as -6 stand between `ip` and its object.
        plain = [word for word in words[1:] if not word.startswith("-")]
        is_route = bool(plain) and plain[0] in ("route", "ro", "r")
        return is_route and len(plain) > 1 and plain[1] in ROUTES

    def _route(self, words: list[str], line: int) -> None:
        # `lock` only says that the kernel is not to change the value.
        for key, value in pairwise(word for word in words if word != "lock"):
            if key == "initcwnd":
                if not (number := _whole(value)):
                    raise SkippedError(line, f"a route's initcwnd {value}")
                self.initial_window = number
            elif key == "congctl":
                self._assign("tcp_congestion_control", value, line)
                self.of_route.add("tcp_congestion_control")
            elif key == "features":
                if value != "ecn":
                    raise SkippedError(line, f"a route's features {value}")
                self.ecn = 1
                self.of_route.add("tcp_ecn")
            elif key == "rto_min":
                self.rto_min_us = _route_time_us(value, line)
                self.of_route.add("tcp_rto_min_us")
            elif key in (
                *("mtu", "advmss", "quickack", "cwnd", "ssthresh", "reordering", "initrwnd"),
                *("window", "rtt", "rttvar", "hoplimit", "fastopen_no_cookie"),
            ):
                raise SkippedError(line, f"a route's {key}")

    def _assign(self, path: str, value: str, line: int) -> None:
        found = ASSIGNED.match(path) or PROC.match(path)
        if cubic := CUBIC.match(path):
            self._cubic(cubic[1], value, line)
            return
        if not found:
            self.ignored.append(f"{path}={value}")
            return
        key, number = found[1], _whole(value)
        # A route's value goes before the host's, whichever is set last.
        if key in self.of_route:
            self.ignored.append(f"{key}={value}")
            return
        on = bool(number)
        if key == "tcp_congestion_control":
            if value not in CONTROLS:
                raise SkippedError(line, f"congestion control {value}")
            self.control = value
        elif key == "tcp_rmem":
            self.wscale = _shift(value)
        elif key == "tcp_fastopen":
            # The bits that let a server have it without a socket option (TFO_SERVER_WO_SOCKOPT1).
            self.fast_open = HEX.fullmatch(value) is not None and int(value, 0) & 0x402 == 0x402
        elif key in ABSENT:
            if number:
                raise SkippedError(line, ABSENT[key])
        elif key in USUAL:
            if value != USUAL[key]:
                raise SkippedError(line, f"{key}={value}")
        elif number is None:
            self.ignored.append(f"{key}={value}")
        elif key == "tcp_ecn":
            if number > 2:
                raise SkippedError(line, "accurate ECN")
            self.ecn = number
        elif key in (
            flags := {
                "tcp_sack": "sack",
                "tcp_timestamps": "timestamps",
                "tcp_window_scaling": "window_scaling",
                "tcp_slow_start_after_idle": "idle_restart",
                "tcp_fack": "fack",
                "tcp_dsack": "dsack",
                "tcp_frto": "frto",
            }
        ):
            setattr(self, flags[key], on)
        elif key == "tcp_recovery":
            # Bit 0 is RACK; the others change details of it.
            self.rack = bool(number & 1)
        elif key in (
            numbers := {
                "tcp_early_retrans": "early_retrans",
                "tcp_tso_win_divisor": "win_divisor",
                "tcp_syn_retries": "syn_retries",
                "tcp_synack_retries": "synack_retries",
                "tcp_retries2": "retries",
                "tcp_rto_min_us": "rto_min_us",
                "tcp_rto_max_ms": "rto_max_ms",
                "tcp_syn_linear_timeouts": "linear_timeouts",
                "tcp_syncookies": "syncookies",
                "tcp_tw_reuse": "tw_reuse",
                "tcp_tw_reuse_delay": "tw_reuse_delay_ms",
                "tcp_invalid_ratelimit": "invalid_ratelimit_ms",
            }
        ):
            least, most = RANGES.get(key, (0, number))
            if not least <= number <= most:
                self.ignored.append(f"{key}={value}")
                return
            if key in ("tcp_syn_retries", "tcp_syn_linear_timeouts") and number > SENT_AGAIN:
                raise SkippedError(line, f"{key}={value}")
            setattr(self, numbers[key], number)
        else:
            self.ignored.append(f"{key}={value}")

    def _cubic(self, key: str, value: str, line: int) -> None:
        if key == "hystart":
            self.hystart = value != "0"
        elif (key, value) == ("hystart_detect", "0"):
            self.hystart = False
        # Constants of the kernel's module that the model has; another value would be another
        # control.
        elif (key, value) not in {
            ("hystart_detect", "3"),
            ("hystart_low_window", "16"),
            ("hystart_ack_delta_us", "2000"),
            ("beta", "717"),
            ("fast_convergence", "1"),
            ("tcp_friendliness", "1"),
            ("initial_ssthresh", "0"),
        }:
            raise SkippedError(line, f"tcp_cubic's {key}={value}")


def _product(found: re.Match[str]) -> str:
    """The shell's arithmetic, where it is a product of small numbers."""
    factors = [int(part) for part in found[1].split("*")]
    return str(math.prod(factors)) if len(factors) < 9 else found[0]


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _route_time_us(text: str, line: int) -> int:
    """A route's time in microseconds, of whole milliseconds, rounded up as iproute2 does."""
    if not (found := TIME.fullmatch(text)):
        raise SkippedError(line, f"a route's rto_min {text}")
    unit = 1000 if (found[2] or "ms").startswith("s") else 1
    return 1000 * math.ceil(Fraction(found[1]) * unit) or 1000


def _shift(value: str) -> int | None:
    """The shift that the most of a receive buffer leads to (`tcp_select_initial_window`)."""
    most = _whole(value.rsplit(maxsplit=1)[-1]) if value.split() else None
    if most is None:
        return None
    # The least shift by which the buffer fits into 16 bits; 14 is the most that RFC 7323 allows.
    return max(0, min(14, most.bit_length() - 1 - 15))
