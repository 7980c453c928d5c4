"""`switchbed asic`: switch chips, their memory, and what of it has been seen on a switch."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from switchbed import foreign, library, quantity
from switchbed._native import Mistake
from switchbed.terminal import say


def named(name: str) -> dict[str, Any]:
    """The chip of this name."""
    found = library.chips()
    for chip in found:
        if chip["name"] == name:
            return chip
    names = [chip["name"] for chip in found]
    near = difflib.get_close_matches(name, names, 1)
    right = f"did you mean {near[0]}?" if near else "switchbed asic list names them"
    raise Mistake(f"{foreign.name(name)}: is no chip; {right}")


def of_switch(names: Sequence[str]) -> dict[str, Any] | None:
    """The chip of a switch by what SONiC calls it (platform, hwsku); the first name that tells."""
    for name in names:
        plain = "".join(each for each in name.lower() if each.isalnum())
        for chip in library.chips():
            if any(model in plain for model in chip["models"]):
                return chip
    return None


POWERS = range(-8, 8)
"""log₂ of what SONiC's `dynamic_th` can be."""


def alphas(chip: Mapping[str, Any]) -> dict[int, float]:
    """Return the α of a lossy queue for each `dynamic_th`. On chips that multiply it with the
    port's (Spectrum 4 and later), the α with the same effect on a queue that has its port alone."""
    powers = {n: 2.0**n for n in POWERS}
    if chip["alpha_port_log2"] is None:
        return powers
    port = 2.0 ** int(chip["alpha_port_log2"])
    return {n: port * alpha / (1 + alpha) for n, alpha in powers.items()}


def print_list(chips: Sequence[Mapping[str, Any]]) -> None:
    """Print the chips, one line each."""
    width = max(len(chip["name"]) for chip in chips)
    for chip in chips:
        seen = "" if chip["observed"] else "; unverified"
        say(
            f"{chip['name']:{width}}  {quantity.kb(chip['memory_bytes']):>8} in cells of "
            f"{chip['cell_bytes']} B; {chip['switch']}{seen}"
        )


def print_chip(chip: Mapping[str, Any]) -> None:
    """Print a chip's sizes, their consequences, and measurements on switches."""
    say(f"{chip['name']}: {chip['switch']}")
    for title, value in _known(chip):
        say(f"  {title:26} {'not known' if value is None else value}")
    parts = chip["partitions"]
    say()
    say(
        "In cells"
        + ("" if parts in (None, 1) else f", of {parts} partitions each")
        + (", as if of one partition" if parts is None else "")
    )
    for title, key in (
        ("a lossy queue alone drops at", "queue_limit_cells"),
        ("a lossless group pauses at", "pause_cells"),
    ):
        value = chip[key]
        say(f"  {title:30} {'not known' if value is None else f'{value:,.1f}'}")
    say()
    if not chip["observed"]:
        say("Unverified: nothing that was counted on a switch with it was at hand.")
    for seen in chip["observed"]:
        what = "a lossy queue dropped at" if seen["what"] == "drop" else _groups(seen["groups"])
        say(f"Counted on a switch: {what} {seen['cells']:,}; here {seen['modelled_cells']:,.1f}")
    say(f"From {chip['source']}")
    if chip["note"]:
        say(f"Note: {chip['note']}")


def _known(chip: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    gross = ", reserves and headroom included" if chip["ingress_is_gross"] else ""
    return [
        ("cell", f"{chip['cell_bytes']} B"),
        ("partitions", _plain(chip["partitions"])),
        ("ports", _plain(chip["ports"])),
        ("memory", f"{chip['memory_bytes']:,} B ({chip['memory_is']})"),
        ("ingress pool", f"{chip['ingress_bytes']:,} B{gross}"),
        ("headroom", _bytes(chip["headroom_bytes"])),
        ("lossy queues' pool", _bytes(chip["lossy_bytes"])),
        ("alpha of a lossless group", _power(chip["alpha_group_log2"])),
        ("alpha of a lossy queue", _power(chip["alpha_queue_log2"])),
        *(
            [("alpha of a port", _power(chip["alpha_port_log2"]))]
            if chip["alpha_port_log2"]
            else []
        ),
        ("reserve of a group", _bytes(chip["group_reserve_bytes"])),
        ("reserve of a queue", _bytes(chip["queue_reserve_bytes"])),
    ]


def _groups(groups: int) -> str:
    return "a lossless group paused at" if groups == 1 else f"{groups} lossless groups paused at"


def _plain(value: int | None) -> str | None:
    return None if value is None else str(value)


def _bytes(value: int | None) -> str | None:
    return None if value is None else f"{value:,} B"


def _power(value: int | None) -> str | None:
    return None if value is None else f"2^{value} = {2.0**value:g}"
