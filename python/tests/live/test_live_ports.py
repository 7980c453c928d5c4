"""A live switch's ports: what is refused, and what becomes of them."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from live_switch import SWITCH, ip, namespaces, ports_of, running, tap, veth
from progress import wait_for

__all__ = ["namespaces"]
pytestmark = pytest.mark.needs("namespaces", "ethtool")


def test_a_port_whose_namespace_was_deleted_is_said_to_be_gone(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    a, b, c = namespaces
    names = [f"g{os.getpid()}{letter}" for letter in "abc"]
    text = SWITCH + tap(names[0], a, "10.0.0.1") + veth(names[1], b)
    text += tap(names[2], c, "10.0.0.3")
    gone = {names[0], names[1]}
    try:
        with running(command, tmp_path, text, complaints=complains_of(gone)) as socket:
            for netns in (a, b):
                ip("netns", "delete", netns)
            wait_for(
                lambda: {p["port"] for p in ports_of(switchbed, socket) if p["gone"]},
                lambda names: names == gone,
            )
            # There again, it is another interface.
            for netns in (a, b):
                ip("netns", "add", netns)
            veth(names[1], b)
            shown = json.loads(switchbed("live", "show", "--socket", socket).stdout)
            assert [port.get("gone", False) for port in shown["port"]] == [True, True, False]
            rate = f"port.{names[1]}.rate=10Mbps"
            refused = switchbed("live", "set", rate, "--socket", socket, code=2).stderr
            assert f"port.{names[1]}: its interface is gone" in refused
            # What holds for others is set, and says what it does not hold for.
            said = switchbed("live", "set", "live.rate=10Mbps", "--socket", socket).stderr
            assert said.count("its interface is gone") == 2
            switchbed("live", "set", f"port.{names[2]}.rate=10Mbps", "--socket", socket)
            prometheus = switchbed("live", "stats", "--prometheus", "--socket", socket).stdout
            assert f'switchbed_port_gone{{port="{names[0]}"}} 1' in prometheus
            assert "True" not in prometheus
    finally:
        for netns in (a, b):
            # The fixture's to delete, whatever became of them.
            subprocess.run(["ip", "netns", "add", netns], capture_output=True, check=False)


def complains_of(names: set[str]) -> Any:
    """Whether what the switch said is a line for each of these ports."""

    def fits(text: str) -> bool:
        lines = sorted(text.splitlines())
        return len(lines) == len(names) and all(
            f"port {name}: its interface is gone" in line
            for name, line in zip(sorted(names), lines, strict=True)
        )

    return fits


def test_what_would_break_it_is_refused_all_at_once_with_what_mends_it(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    a, b, _ = namespaces
    names = [f"r{os.getpid()}{letter}" for letter in "ab"]
    bridge = f"br{os.getpid()}"
    whole = "offload = false\n"
    text = SWITCH + "".join(veth(n, ns) + whole for n, ns in zip(names, (a, b), strict=True))
    ip("link", "add", bridge, "type", "bridge")
    try:
        ip("link", "set", "dev", names[0], "down", "mtu", "1400", "master", bridge)
        ip("address", "add", "10.9.0.1/24", "dev", names[1])
        ip("-6", "address", "add", "fd00:9::1/64", "dev", names[1])
        subprocess.run(["ethtool", "-K", names[1], "gro", "on"], check=True)
        ip("-n", b, "link", "set", "dev", "eth0", "mtu", "1400")
        file = tmp_path / "sw.toml"
        file.write_text(text)
        lines = switchbed("live", "run", file, "--seconds", "1", code=2).stderr.splitlines()
        whats = [
            "is down",
            f"is in {bridge}",
            "MTU of 1400",
            "10.9.0.1",
            "fd00:9::1",
            "gro",
            "eth0",
        ]
        assert len(lines) == len(whats), lines
        assert all(what in line for what, line in zip(whats, lines, strict=True)), lines
        assert all(line.startswith("switchbed: port.") for line in lines)
        for line in lines:
            subprocess.run(line.rpartition(": ")[2].split(), check=True, capture_output=True)
        with running(command, tmp_path, text):
            pass
    finally:
        for name in (*names, bridge):
            ip("link", "delete", name)


def test_an_interface_is_a_port_of_one_switch(
    switchbed: Program, tmp_path: Path, namespaces: list[str], command: list[str]
) -> None:
    names = [f"d{os.getpid()}{letter}" for letter in "abc"]
    first, shared, last = (veth(name, netns) for name, netns in zip(names, namespaces, strict=True))
    other = tmp_path / "other.toml"
    try:
        other.write_text(SWITCH + shared + last)
        words = ("live", "run", other, "--seconds", "0.1", "--socket", tmp_path / "other.sock")
        with running(command, tmp_path, SWITCH + first + shared):
            refused = switchbed(*words, code=2).stderr
            assert refused.count("\n") == 1
            assert f"port.0: {names[1]} is a port of another live switch" in refused
        switchbed(*words)
    finally:
        for name in names:
            ip("link", "delete", name)
