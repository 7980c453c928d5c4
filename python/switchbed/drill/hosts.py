"""The settings of the model's host: a profile, a script's `sysctl`s and a handshake's outcome."""

from dataclasses import dataclass

from switchbed import _native, profiles
from switchbed.drill.sysctls import Settings

SCENARIO = """
[topology]
kind = "dumbbell"
left = 1
right = 1
rate = "10Gbps"
delay = "5us"
bottleneck_rate = "10Gbps"
bottleneck_delay = "10us"
[switch]
queues = 1
buffer = "300KB"
[scheme]
name = "none"
[[traffic]]
kind = "long-lived"
from = [0]
to = 1
stop = "1s"
"""
"""A network that holds two hosts, for their settings; no run takes place in it."""
STAMPS = 12
"""Bytes of RFC 7323's option, padded."""
HEADERS = 40
PS_PER_US = 1_000_000
NEVER = 2_000_000_000
"""A slow-start threshold that no window reaches, in packets."""


@dataclass(frozen=True)
class Agreed:
    """Outcome of a handshake."""

    mss: int
    """Payload of a full segment."""
    sack: bool
    stamps: bool
    ecn: bool


@dataclass(frozen=True)
class Profile:
    """A host profile by what a script's settings mean for it."""

    name: str
    rack: bool
    """Losses are found by time, as Linux has it since 4.18."""
    small_window: bool
    """The initial window is RFC 3390's."""
    rto_initial_us: int
    rto_max_us: int

    @classmethod
    def of(cls, name: str) -> "Profile":
        """The profile of this name, or of a file."""
        values = {each["key"]: each["value"] for each in profiles.read(name)["settings"]}
        rack = values.get("transport.loss_detection") == "rack"
        small = values.get("transport.initial_window") == "3pkt"
        times = [_native.time_ps(values[f"transport.rto_{of}"]) for of in ("initial", "max")]
        return cls(name, rack, small, *(ps // PS_PER_US for ps in times))


def overrides(
    profile: Profile, settings: Settings, agreed: Agreed, sets: tuple[str, ...] = ()
) -> list[tuple[str, str]]:
    """The keys of a host with these settings: `key=value`, and the name in messages."""
    keys: dict[str, str] = {
        "host.profile": profile.name,
        "transport.kind": settings.control,
        "transport.mss": f"{agreed.mss}B",
        "transport.header": f"{HEADERS + STAMPS * agreed.stamps}B",
        "transport.initial_ssthresh": f"{NEVER}pkt",
        "transport.ecn": _word(agreed.ecn or settings.control == "dctcp"),
    }
    keys["host.mtu"] = f"{max(1500, agreed.mss + HEADERS + STAMPS)}B"
    if settings.control == "dctcp":
        keys["transport.ecn"] = _word(agreed.ecn)
    if not agreed.sack:
        keys["transport.sack_blocks"] = "0"
        # Without SACK Linux counts duplicate ACKs and has no probe (tcp_identify_packet_loss,
        # tcp_schedule_loss_probe).
        keys["transport.loss_detection"] = "dupthresh"
        keys["transport.tail_loss_probe"] = "false"
    elif not settings.rack and profile.rack:
        keys["transport.loss_detection"] = "dupthresh"
    if settings.early_retrans in (0, 1, 2):
        keys["transport.tail_loss_probe"] = "false"
    if settings.early_retrans in (0, 4):
        keys["transport.early_retransmit"] = "off"
    if settings.fack is not None and not profile.rack and agreed.sack:
        keys["transport.loss_detection"] = "fack" if settings.fack else "dupthresh"
    if not settings.dsack:
        keys["transport.dsack"] = "false"
    if not settings.frto:
        keys["transport.frto"] = "false"
    if not settings.idle_restart:
        keys["transport.restart"] = "keep"
    if not settings.hystart:
        keys["transport.hystart"] = "off"
    if settings.pacing:
        keys["transport.pacing"] = "linux"
    if profile.rack:
        keys["host.lso_recent"] = "true"
    if settings.win_divisor != 3:
        keys["host.lso_beta"] = repr(1 / max(1, settings.win_divisor or 100))
    numbers = {
        "transport.syn_retries": settings.syn_retries,
        "transport.data_retries": settings.retries,
        "transport.syn_linear_timeouts": settings.linear_timeouts,
    }
    keys |= {key: str(number) for key, number in numbers.items() if number is not None}
    # The greatest timeout bounds the others (tcp_timeout_init, tcp_bound_rto).
    most = 1000 * (settings.rto_max_ms or 0) or profile.rto_max_us
    if settings.rto_min_us:
        keys["transport.rto_min"] = f"{min(settings.rto_min_us, most)}us"
    if settings.rto_max_ms:
        keys["transport.rto_max"] = f"{most}us"
        keys["transport.rto_initial"] = f"{min(profile.rto_initial_us, most)}us"
    if settings.initial_window:
        keys["transport.initial_window"] = f"{settings.initial_window}pkt"
    elif profile.small_window:
        keys["transport.initial_window"] = f"{_rfc3390(agreed.mss)}pkt"
    given = [(f"{key}={value}", key) for key, value in keys.items()]
    return given + [(one, f"--set {one}") for one in sets]


def _word(value: bool) -> str:
    return "true" if value else "false"


def _rfc3390(mss: int) -> int:
    """The initial window in packets (RFC 3390, as `tcp_init_cwnd` counts it up to 2.6.38)."""
    return 2 if mss > 1460 else 3 if mss > 1095 else 4
