"""Fuzzing begins with what it should, its executions add up, and no mutant broke anything."""

import contextlib
import json
import os
import tomllib
from pathlib import Path

import pytest

from evidence.robustness import fuzz, mutants
from switchbed import _native


def test_the_committed_mutants_broke_nothing() -> None:
    found = mutants.RESULTS.read()
    assert found["checked"] == found["accepted"] + found["refused"] == mutants.CHECKED
    assert (found["ended"] > 0, found["bad"]) == (True, 0)


def test_every_target_has_a_goal_and_a_small_corpus() -> None:
    manifest = tomllib.loads((fuzz.ROOT / "fuzz" / "Cargo.toml").read_text())
    assert {program["name"] for program in manifest["bin"]} == set(fuzz.TARGETS)
    for target, (_, longest, _) in fuzz.TARGETS.items():
        sizes = [len(content) for content in fuzz.inputs(target).values()]
        assert 10 < len(sizes) < 1_000, target
        assert max(sizes) <= longest, target


def test_the_corpus_of_files_has_live_switches_that_pass() -> None:
    passed = 0
    for content in fuzz.inputs("scenario").values():
        text, _, override = content.decode(errors="replace").partition("\0")
        if "[[port]]" in text:
            with contextlib.suppress(ValueError):
                _native.live_plan_of("f.toml", text, [override] if override else [])
                passed += 1
    assert passed


def test_a_corpus_is_packed_and_unpacked_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fuzz.unpack("card")
    (folder / "left over").write_bytes(b"of another run")
    folder = fuzz.unpack("card")
    committed = fuzz.inputs("card")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == committed
    monkeypatch.setattr(fuzz, "ARCHIVES", tmp_path)
    fuzz.pack("card", folder)
    first = fuzz.archive("card").read_bytes()
    for file in folder.iterdir():
        os.utime(file, (1, 1))
    fuzz.pack("card", folder)
    assert fuzz.archive("card").read_bytes() == first
    assert fuzz.inputs("card") == committed
    assert [file.name for file in tmp_path.iterdir()] == ["card.tar.xz"]


MERGE = """#!/bin/sh
for word; do case $word in -*) ;; *) set -- "$@" "$word" ;; esac; shift; done
into=$1; shift
for folder; do cp "$folder"/* "$into"; done
"""
"""In place of a fuzz target: a merge that keeps all."""


def test_minimising_packs_the_corpus_and_what_it_has_grown_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "card").write_text(MERGE)
    (tmp_path / "card").chmod(0o755)
    for name in ("ARCHIVES", "UNPACKED"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(fuzz, name, tmp_path / name)
    monkeypatch.setattr(fuzz, "GROWN", tmp_path / "grown")
    for number in range(2):
        grown = tmp_path / "grown" / "card"
        grown.mkdir(parents=True, exist_ok=True)
        (grown / f"{number}").write_bytes(b"%d" % number)
        fuzz.minimise(tmp_path, "card")
        (grown / f"{number}").unlink()
    assert fuzz.inputs("card") == {"0": b"0", "1": b"1"}
    assert [file.name for file in (tmp_path / "ARCHIVES").iterdir()] == ["card.tar.xz"]


def test_files_begin_with_each_scheme_policy_and_congestion_control() -> None:
    seeds = fuzz.seeds()
    kinds = json.loads(_native.schemes()), json.loads(_native.policies())
    names = {entry["name"] for kind in kinds for entry in kind} - {"python"}
    assert names | {"cubic", "prague", "hpcc"} <= set(seeds)
    assert {name for name, text in seeds.items() if not fuzz.resolves(text)} == set()
    assert max(map(len, seeds.values())) <= fuzz.TARGETS["scenario"][1]
    assert 'ce_threshold = "200us"\nsqrt = "exact"' in seeds["codel"]


def test_executions_add_up_over_sittings() -> None:
    ledger: fuzz.Ledger = {}
    assert fuzz.missing(ledger, "card") == 10_000_000
    fuzz.add(ledger, "card", 400, 1.6)
    fuzz.add(ledger, "card", 600, 2.4)
    assert (ledger["card"]["executions"], ledger["card"]["cpu_s"]) == (1_000, 4)
    assert fuzz.missing(ledger, "card") == 9_999_000
    assert "| 1,000 | 10,000,000 | 250 |" in fuzz.render(ledger)


def test_targets_take_turns_until_each_has_its_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "TARGETS", {"a": (10, 1, ""), "b": (20, 1, "")})
    monkeypatch.setattr(fuzz, "SLICE_S", 120)
    ledger: fuzz.Ledger = {}
    turns = []
    for target, _ in fuzz.rounds(["a", "b"], ledger, None):
        turns.append(target)
        fuzz.add(ledger, target, 10, 1)
    assert turns == ["a", "b", "b"]
    assert list(fuzz.rounds(["a"], ledger, 3.5)) == [("a", 120), ("a", 90)]
