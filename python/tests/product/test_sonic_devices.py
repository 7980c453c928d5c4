"""Configurations that ship for real switches: import, check, run, export, and the same again.

Those of SONiC's device folders are beside the project (`../shared/sonic/devices`); small ones of
our own are here."""

import gzip
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sonic_configs import Config, configs

import switchbed as sb
from switchbed.sonic.draft import Choices
from switchbed.sonic.exporting import export
from switchbed.sonic.importing import Imported, load
from switchbed.sonic.tidy import meant, tidy

FOLDER = Path(__file__).parents[3].parent / "shared" / "sonic" / "devices"
DEVICES = sorted(FOLDER.glob("*.json.gz"))
OWN = Path(__file__).parent / "sonic"
UNSIZED = "no PORT"


def scenario(found: Imported, folder: Path) -> sb.Scenario:
    """As files on a disk."""
    for name, text in found.files.items():
        (folder / name).write_text(text)
    file = folder / "imported.toml"
    file.write_text(found.text)
    return sb.Scenario.from_file(file)


def unchanged(config: Config, made: sb.Scenario, found: Imported) -> bool:
    tables, said = export(made.resolved, Choices(), found.device)
    assert not said.refusals, said.refusals
    return meant(tables) == meant(tidy(config))


@pytest.mark.skipif(not DEVICES, reason=f"needs {FOLDER}: configurations of device folders")
def test_every_device_comes_back_as_it_was() -> None:
    assert len(DEVICES) >= 100
    wrong = []
    for device in DEVICES:
        config: Any = json.loads(gzip.decompress(device.read_bytes()))
        with tempfile.TemporaryDirectory() as folder:
            found = load(config, device.name)
            if not unchanged(config, scenario(found, Path(folder)), found):
                wrong.append(device.name)
    assert wrong == []


@pytest.mark.long
@pytest.mark.skipif(not DEVICES, reason=f"needs {FOLDER}: configurations of device folders")
@pytest.mark.parametrize("device", DEVICES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_every_device_runs_for_a_millisecond(device: Path, tmp_path: Path) -> None:
    config: Any = json.loads(gzip.decompress(device.read_bytes()))
    found = load(config, device.name)
    scenario(found, tmp_path).with_({"run.until": "1ms", "run.seed": 1}).run()


@pytest.mark.parametrize("file", sorted(OWN.glob("*.json")), ids=lambda path: path.stem)
def test_small_configurations_run_and_come_back(file: Path, tmp_path: Path) -> None:
    config: Any = json.loads(file.read_text())
    found = load(config, file.name)
    made = scenario(found, tmp_path)
    assert unchanged(config, made, found)
    made.with_({"run.until": "1ms", "run.seed": 1}).run()


@pytest.mark.parametrize("shape", [name for name in configs() if name != UNSIZED])
def test_every_shape_runs(shape: str, tmp_path: Path) -> None:
    found = load(configs()[shape], shape)
    scenario(found, tmp_path).with_({"run.until": "200us", "run.seed": 1}).run()


OVERLOAD = """[transport]
kind = "udp"
[[traffic]]
kind = "long-lived"
from = "0-1"
to = 3
classes = [{queue}, {queue}]
[measure]
queues = ["switch:3"]
warmup = "3ms"
[run]
until = "4ms"
seed = 1
"""


@pytest.mark.parametrize(
    ("queue", "packets", "marks", "lost"),
    [
        # Packets of 1500 bytes take 8 cells of 208. A quarter of the chip has 11,110 lossy cells, less
        # what two queues of four ports reserve beyond the chip's 7 (8 each), is 11,094. A queue of
        # alpha 8 takes packets as long as x <= 8 (11,094 - x + 8), 9,868, and its 7: 1,234. One of
        # alpha 1/4 has 2,220 and 15: 279.
        (0, 1234, 1.0, True),  # over its step of 100 KB
        (1, 279, 1.0, True),  # 418.5 KB, over its ramp's end of 400 KB
        (2, 279, 0.0, True),
        (5, 1234, 0.0, True),
        (6, 1234, 0.0, True),
        # Two inputs in a quarter of 13,071 cells each: half of that and 6 are 6,541, 817 packets,
        # and their neighbour pauses. 2.45 MB are over the ramp's end of 2,097,152 bytes.
        (3, 2 * 817, 1.0, False),
    ],
)
def test_queues_of_an_imported_tomahawk_end_where_their_rules_say(
    queue: int, packets: int, marks: float, lost: bool, tmp_path: Path
) -> None:
    found = load(json.loads((OWN / "tor.json").read_text()), "tor.json")
    text = found.text[: found.text.index("[transport]")] + OVERLOAD.format(queue=queue)
    result = scenario(replace(found, text=text), tmp_path).run()
    lengths = {row["queue"]: row["mean_bytes"] for row in result.queues.to_dicts()}
    assert lengths[str(queue)] == pytest.approx(1500 * packets, rel=0 if lost else 0.01)
    port = next(row for row in result.counters.to_dicts() if row["port"] == "switch:3")
    assert port["marked_packets"] == marks * port["sent_packets"]
    assert (port["drops_full"] > 0) == lost
    assert (result.summary()["pauses"]["count"] > 0) == (not lost)
