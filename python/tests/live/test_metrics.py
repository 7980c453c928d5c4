"""Metrics of a live switch for Prometheus and Grafana: formats, server, dashboard."""

import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Program

from switchbed import library
from switchbed.live import prometheus

ODD = 'eth"0\\'
STATS: dict[str, Any] = {
    "time_s": 1.5,
    "scheme": "step",
    "frames": 3,
    "flooded": 1,
    "notified": 0,
    "refused": {"oversized": 2, "here": 0},
    "wakes": {"count": 9, "p50_late_ns": 64, "p99_late_ns": 128, "max_late_ns": 1000},
    "ports": [
        {
            "port": name,
            "rate_bps": 1e9,
            "sent_packets": sent,
            "sent_bytes": 1000 * sent,
            "drops_full": 4,
            "host_drops": 0,
            "overruns": 0,
            "gone": False,
            "queues": [
                {
                    **{"queue": 0, "bytes": 1500, "packets": 1, "threshold_bytes": None},
                    **{"paused_s": 0.25, "sent_packets": sent, "waited_s": 0.5},
                    **{"dropped_packets": 3, "drops_early": 3, "left_bytes": 9_000},
                    "waits": [sent - 3, 2] + [0] * 19 + [1],
                    "lengths": [sent - 4, 1] + [0] * 15 + [3],
                }
            ],
            "dscps": [{"dscp": 46, "sent_packets": 7, "marked_packets": 0, "drops_full": 1}],
        }
        for name, sent in (("eth0", 10), (ODD, 20))
    ],
}
SAMPLE = re.compile(
    r'([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)+)\})? (-?[\d.e+-]+)'
)
"""A sample line of OpenMetrics 1.0.0, section 5.2, without timestamps and exemplars."""


def parsed(text: str) -> dict[str, dict[str, Any]]:
    """Families by name; fails on what OpenMetrics 1.0.0 does not allow."""
    lines = text.splitlines()
    assert text.endswith("# EOF\n")
    families: dict[str, dict[str, Any]] = {}
    family = ""
    for line in lines[:-1]:
        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            if name != family:
                assert name not in families, f"{name} in two places"
                families[name] = {"samples": {}}
                family = name
            assert word.lower() not in families[name]
            families[name][word.lower()] = rest
            continue
        found = SAMPLE.fullmatch(line)
        assert found is not None, line
        kind = families[family]["type"]
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}
        ending = found[1].removeprefix(family)
        assert ending in endings.get(kind, ("",)), line
        key = (found[2] or "") + (ending if kind == "histogram" else "")
        assert key not in families[family]["samples"], line
        families[family]["samples"][key] = float(found[3])
    return families


def test_openmetrics_is_well_formed_with_odd_names() -> None:
    found = parsed(prometheus.text(STATS, openmetrics=True))
    sent = found["switchbed_sent_packets"]
    assert sent["type"] == "counter"
    assert sent["samples"] == {'port="eth0"': 10, r'port="eth\"0\\"': 20}
    assert sent["help"] == "Frames that the port sent."
    assert found["switchbed_drops"]["samples"]['port="eth0",reason="full"'] == 4
    assert found["switchbed_port_gone"]["samples"]['port="eth0"'] == 0
    assert found["switchbed_queue_paused_seconds"]["samples"]['port="eth0",queue="0"'] == 0.25
    assert found["switchbed_wakes_max_late_seconds"]["samples"][""] == 1e-6
    assert "switchbed_queue_threshold_bytes" not in found, "a queue without a threshold has none"
    # The older format names families as their samples, and has no end mark.
    text = prometheus.text(STATS)
    assert "# TYPE switchbed_sent_packets_total counter\n" in text
    assert "EOF" not in text


def test_waits_are_a_histogram_in_seconds() -> None:
    family = parsed(prometheus.text(STATS, openmetrics=True))["switchbed_queue_wait_seconds"]
    assert family["type"] == "histogram"
    of = 'port="eth0",queue="0"'
    samples = family["samples"]
    buckets = [
        (key.partition('le="')[2].partition('"')[0], count)
        for key, count in samples.items()
        if key.startswith(of) and key.endswith("_bucket")
    ]
    assert buckets[:3] == [("1e-06", 7), ("2e-06", 9), ("4e-06", 9)]
    assert buckets[-2:] == [("1.048576", 9), ("+Inf", 10)]
    assert (samples[f"{of}_count"], samples[f"{of}_sum"]) == (10, 0.5)


def test_lengths_are_a_histogram_in_bytes() -> None:
    family = parsed(prometheus.text(STATS, openmetrics=True))["switchbed_queue_length_bytes"]
    assert family["type"] == "histogram"
    of = 'port="eth0",queue="0"'
    samples = family["samples"]
    assert samples[f'{of},le="1024"_bucket'] == 6
    assert samples[f'{of},le="67108864"_bucket'] == 7
    assert samples[f'{of},le="+Inf"_bucket'] == samples[f"{of}_count"] == 10
    assert samples[f"{of}_sum"] == 9_000


def test_queues_and_dscps_have_counters_with_reasons() -> None:
    found = parsed(prometheus.text(STATS, openmetrics=True))
    of = 'port="eth0",queue="0"'
    assert found["switchbed_queue_dropped_packets"]["samples"][of] == 3
    assert found["switchbed_queue_drops"]["samples"][f'{of},reason="early"'] == 3
    of = 'port="eth0",dscp="46"'
    assert found["switchbed_dscp_sent_packets"]["samples"][of] == 7
    assert found["switchbed_dscp_drops"]["samples"][f'{of},reason="full"'] == 1


@contextmanager
def switch(place: Path) -> Iterator[None]:
    """A control socket that answers with `STATS`."""
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(place))
        listener.listen()

        def answer() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.recv(4096)
                    client.sendall(json.dumps({"ok": STATS}).encode() + b"\n")

        threading.Thread(target=answer, daemon=True).start()
        yield
        listener.shutdown(socket.SHUT_RDWR)
    place.unlink()


@contextmanager
def served(command: list[str], listen: str, control: Path) -> Iterator[str]:
    """The address that `live metrics` says it answers at."""
    words = [*command, "live", "metrics", "--listen", listen, "--socket", str(control)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        yield process.stderr.readline()
    finally:
        begin = time.monotonic()
        process.terminate()
        process.communicate(timeout=10)
        assert time.monotonic() - begin < 5


def test_prometheus_is_answered_over_http(command: list[str], tmp_path: Path) -> None:
    control = tmp_path / "c.sock"
    with served(command, "127.0.0.1:0", control) as said:
        address = said.split()[-1]
        with pytest.raises(urllib.error.HTTPError) as gone:
            urllib.request.urlopen(address, timeout=10)
        assert gone.value.code == 503
        assert b"no switch answers" in gone.value.read()
        gone.value.close()
        with switch(control):
            asked = urllib.request.Request(
                address, headers={"Accept": "application/openmetrics-text; version=1.0.0"}
            )
            with urllib.request.urlopen(asked, timeout=10) as answer:
                assert answer.headers["Content-Type"] == prometheus.OPENMETRICS
                assert "switchbed_frames" in parsed(answer.read().decode())
            with urllib.request.urlopen(address, timeout=10) as answer:
                assert answer.headers["Content-Type"] == prometheus.TEXT
                assert answer.read().decode() == prometheus.text(STATS)
            with pytest.raises(urllib.error.HTTPError) as other:
                urllib.request.urlopen(address.replace("/metrics", "/"), timeout=10)
            assert other.value.code == 404
            other.value.close()


def test_prometheus_is_answered_over_a_unix_socket(command: list[str], tmp_path: Path) -> None:
    control, place = tmp_path / "c.sock", tmp_path / "m.sock"
    with switch(control), served(command, f"unix:{place}", control) as said:
        assert f"unix:{place}" in said
        with closing(socket.socket(socket.AF_UNIX)) as client:
            client.settimeout(10)
            client.connect(str(place))
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            with client.makefile("r") as lines:
                answer = lines.read()
        assert answer.endswith(prometheus.text(STATS))
    assert not place.exists()


@pytest.mark.parametrize("listen", ["nowhere", "127.0.0.1:99999", "unix:", "1.2.3.4:9"])
def test_a_bad_address_is_one_line(switchbed: Program, tmp_path: Path, listen: str) -> None:
    done = switchbed("live", "metrics", "--listen", listen, "--socket", tmp_path / "c", code=2)
    assert done.stderr.startswith(f"switchbed: --listen {listen}: ")
    assert len(done.stderr.splitlines()) == 1


def test_the_dashboard_asks_for_series_that_there_are(switchbed: Program) -> None:
    shown = json.loads(switchbed("live", "metrics", "--dashboard").stdout)
    assert shown == json.loads((library.DATA / "grafana.json").read_text())
    asked = {
        name
        for panel in shown["panels"]
        for target in panel["targets"]
        for name in re.findall(r"switchbed_\w+", target["expr"])
    }
    # Marks and thresholds are in the statistics of ports and queues that have them.
    full = json.loads(json.dumps(STATS))
    full["ports"][0]["marked_packets"] = 1
    full["ports"][0]["queues"][0]["threshold_bytes"] = 30_000
    there = set(re.findall(r"^(switchbed_\w+)", prometheus.text(full), re.MULTILINE))
    assert asked <= there


def test_systemd_hears_that_the_devices_are_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from switchbed.live.switch import _notify_systemd

    place = tmp_path / "notify"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as systemd:
        systemd.bind(str(place))
        systemd.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(place))
        _notify_systemd()
        assert systemd.recv(100) == b"READY=1"
    abstract = f"switchbed-{os.getpid()}"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as systemd:
        systemd.bind("\0" + abstract)
        systemd.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{abstract}")
        _notify_systemd()
        assert systemd.recv(100) == b"READY=1"
