"""Schemes of installed packages: how they are found, what is refused, and what `new scheme` and
`build` write."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from conftest import Program

from switchbed import __version__, building, plugged, printing
from switchbed._native import Mistake

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/own-scheme"


def installed(site: Path, package: str, points: str, version: str = __version__) -> Path:
    """A distribution with these entry points, and its package's folder."""
    about = site / f"{package}-{version}.dist-info"
    about.mkdir(parents=True)
    about.joinpath("entry_points.txt").write_text(f"[{plugged.GROUP}]\n{points}\n")
    about.joinpath("METADATA").write_text(f"Name: {package}\nVersion: {version}\n")
    (site / package).mkdir()
    return site / package


def with_module(site: Path, name: str, version: str = __version__) -> Path:
    package = installed(
        site, f"switchbed_scheme_{name}", f"{name} = switchbed_scheme_{name}", version
    )
    (package / f"_native{EXTENSION_SUFFIXES[0]}").write_text("")
    return package


def test_a_module_and_classes_are_found_by_their_entry_points(tmp_path: Path) -> None:
    package = with_module(tmp_path, "mine")
    installed(tmp_path, "theirs", "late = theirs.late:Late")
    (tmp_path / "theirs-9.dist-info").mkdir()  # without entry points
    found = plugged.find(["", str(tmp_path / "none"), str(tmp_path)])
    assert found.native == {f"switchbed_scheme_mine-{__version__}": package}
    assert found.classes == {"late": "theirs.late:Late"}
    assert found.problem is None


def test_two_modules_are_refused_in_one_line(tmp_path: Path) -> None:
    with_module(tmp_path, "one")
    with_module(tmp_path, "two")
    problem = plugged.find([str(tmp_path)]).problem
    assert problem is not None
    assert problem.startswith(
        "switchbed-scheme-one and switchbed-scheme-two are installed, and each "
    )
    assert problem.endswith(
        "keep one (pip uninstall switchbed-scheme-two), or build one crate with both schemes"
    )


def test_a_module_of_another_version_is_refused_and_ours_stays(tmp_path: Path) -> None:
    with_module(tmp_path, "old", "0.0.9")
    (tmp_path / f"switchbed-{__version__}.dist-info").mkdir()
    # The program of this tree, told in a line and by its exit code.
    done = python(tmp_path, "-m", "switchbed", "schemes")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "switchbed: switchbed-scheme-old was built for switchbed 0.0.9, and this is "
        f"{__version__}: build it again (switchbed build), or pip uninstall switchbed-scheme-old\n"
    )


def python(site: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Python with a folder of packages before its own."""
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, *words],
        env=os.environ | {"PYTHONPATH": path},
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
    )


LATE = '''
from switchbed.prototype import Departure, Intent, Marker


class Late(Marker):
    """Marks a packet that
    has waited.

    As TCN does.
    """

    def __init__(self, port, threshold):
        self.threshold = threshold

    def intend(self, view, queue, packet, rng):
        return Intent.Pass

    def depart(self, view, queue, slot, note, rng):
        waited = view.now_ps - view.arrived_ps(slot)
        return Departure.Mark if waited > self.threshold else Departure.Pass
'''


@pytest.fixture
def late(tmp_path: Path) -> Path:
    package = installed(tmp_path / "site", "theirs", "late = theirs.rule:Late")
    (package / "__init__.py").write_text("")
    (package / "rule.py").write_text(LATE)
    return tmp_path / "site"


def test_an_installed_class_is_a_scheme_by_its_name(late: Path) -> None:
    scheme = '{ name = "late", params = { threshold = "20us" } }'
    tcn = '{ name = "tcn", params = { threshold = "20us" } }'
    sets = ["run.until=15ms", "measure.warmup=5ms", f"compare.scheme=[{scheme}, {tcn}]"]
    words = [word for each in sets for word in ("--set", each)]
    done = python(late, "-m", "switchbed", "run", "@star-dctcp", "--json", *words)
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)
    assert first["marks"] == second["marks"] > 0


def test_an_installed_class_is_listed(late: Path) -> None:
    shown = python(late, "-m", "switchbed", "schemes").stdout
    said = "  Marks a packet that has waited.\n  In Python: theirs.rule:Late\n"
    assert f"\nlate\n{said}    threshold (required)\n" in shown
    listed = json.loads(python(late, "-m", "switchbed", "schemes", "--json").stdout)
    assert {
        "name": "late",
        "key": "scheme.name",
        "class": "theirs.rule:Late",
        "summary": "Marks a packet that has waited.",
        "parameters": [{"name": "threshold", "default": None, "required": True}],
    } in listed


def test_a_class_is_described_by_its_source_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
raise SystemExit("it was run")
class Outer:
    class Rule:
        def __init__(self, port, /, low="20kb", *, high=2 * 3, **more): ...
class Bare: ...
"""
    (tmp_path / "rules_here.py").write_text(source)
    (tmp_path / "broken_here.py").write_text("class Rule(:")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = plugged.described("mine", "rules_here:Outer.Rule")
    assert [(of["name"], of["default"]) for of in found["parameters"]] == [
        ("low", "'20kb'"),
        ("high", "2 * 3"),
    ]
    for of in ("rules_here:Bare", "rules_here:None.Such", "broken_here:Rule", "gone_here:Rule"):
        found = plugged.described("mine", of)
        assert (found["class"], found["summary"], found["parameters"]) == (of, "", [])


def test_a_class_without_a_docstring_is_listed_without_a_summary(
    capsys: pytest.CaptureFixture[str],
) -> None:
    of = {"name": "bare", "summary": "", "class": "theirs:Bare", "parameters": []}
    printing.print_classes([of])
    said = "bare\n  No summary: the class has no docstring.\n  In Python: theirs:Bare\n\n"
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        (["scheme=late", "scheme.params.file=a.py"], "is what the scheme's name says already"),
        (["scheme=lates"], 'there is no such scheme; did you mean "late"?'),
    ],
)
def test_mistakes_about_an_installed_class_are_one_line(
    late: Path, sets: list[str], says: str
) -> None:
    words = [word for each in sets for word in ("--set", each)]
    done = python(late, "-m", "switchbed", "scenario", "check", "@two-flows", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_entry_point_that_cannot_be_used_is_left_out_and_said(tmp_path: Path) -> None:
    installed(tmp_path / "a", "theirs", "late = theirs.gone:Late")
    package = installed(tmp_path / "b", "theirs", "tcn = theirs:Tcn")
    (package / "__init__.py").write_text("class Tcn: ...")
    for place, point, why in (
        ("a", "late = theirs.gone:Late", "there is no module theirs.gone"),
        ("b", "tcn = theirs:Tcn", "there is a scheme tcn already"),
    ):
        says = f"the entry point {point} is left out: {why} (pip uninstall theirs ends this)"
        done = python(tmp_path / place, "-m", "switchbed", "schemes", "--json")
        assert (done.returncode, done.stderr) == (0, f"warning: {says}\n")
        assert not [scheme for scheme in json.loads(done.stdout) if "class" in scheme]
        code = "import switchbed as sb; sb.Scenario.from_file('@two-flows').run()"
        done = python(tmp_path / place, "-c", code)
        assert done.returncode == 0
        assert f"UserWarning: {says}" in done.stderr
    named = ["--set", "scheme=late"]
    done = python(tmp_path / "a", "-m", "switchbed", "scenario", "check", "@two-flows", *named)
    assert done.returncode == 2
    assert "left out" in done.stderr
    assert "there is no such scheme" in done.stderr


def test_a_new_scheme_is_the_template_under_its_name(switchbed: Program, tmp_path: Path) -> None:
    switchbed("new", "scheme", "my-rule")
    folder = tmp_path / "my-rule"
    assert sorted(path.name for path in folder.iterdir()) == sorted(building.FILES)
    code = (folder / "lib.rs").read_text()
    assert 'name: "my-rule"' in code
    assert "pub struct MyRuleParams" in code
    assert "waiting" not in code.lower()
    manifest = tomllib.loads((folder / "Cargo.toml").read_text())
    assert manifest["package"]["name"] == "my-rule"
    assert manifest["dependencies"] == {"switchbed-qdisc": {"path": str(ROOT / "crates/qdisc")}}
    # The template is built, run and checked as the example of the workspace.
    example = tomllib.loads((EXAMPLE / "Cargo.toml").read_text())
    assert (EXAMPLE / example["lib"]["path"]).resolve() == building.TEMPLATE / "lib.rs"
    assert (folder / "golden.txt").read_text() == (building.TEMPLATE / "golden.txt").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["scheme"], "a name is missing: switchbed new scheme my-scheme"),
        (["scheme", "My_Rule"], "My_Rule: is no scheme's name: write lower-case words"),
        (["scheme", ""], "'': is no scheme's name: write lower-case words"),
        (["scheme", "self"], "its type Self has the name of one that a crate needs: choose"),
        (["scheme", "scheme-info"], "choose another name, such as my-scheme-info"),
        (["scheme", "tcn"], "tcn: there is such a scheme already: choose another name"),
        (["scheme", "mine", "--source", "none"], "--source none: is no source tree of Switchbed's"),
        (["star", "mine"], "switchbed new star: a scenario has no NAME and no --source"),
    ],
)
def test_mistakes_of_new_scheme(switchbed: Program, words: list[str], says: str) -> None:
    assert says in switchbed("new", *words, code=2).stderr


def test_an_installation_without_the_source_tree_asks_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(building, "__file__", str(tmp_path / "site/switchbed/building.py"))
    with pytest.raises(Mistake, match="was installed without its source tree: name a checkout"):
        building.source_tree(None)
    assert building.source_tree(ROOT) == ROOT


def test_what_cannot_be_built_is_refused(switchbed: Program, tmp_path: Path) -> None:
    said = switchbed("build", tmp_path / "none", code=2).stderr
    assert said.endswith("has no Cargo.toml: switchbed new scheme NAME writes a crate\n")
    for text, says in {
        b"[package]\nname = 3\n": "package.name is 3: write lower-case words",
        b"[package]\n": 'package.name is missing: write name = "my-scheme" in [package]',
        b"package = 3\n": "package.name is missing",
        b"name\n": "is no TOML: Expected '='",
        b"\xbc\xff": "is damaged: line 1 is no UTF-8 text",
    }.items():
        (tmp_path / "Cargo.toml").write_bytes(text)
        assert says in switchbed("build", tmp_path, code=2).stderr


def test_a_crate_of_another_tree_is_refused_by_the_line_to_write(
    switchbed: Program, tmp_path: Path
) -> None:
    switchbed("new", "scheme", "mine")
    manifest = tmp_path / "mine/Cargo.toml"
    text = manifest.read_text()
    path = str(ROOT / "crates/qdisc")
    for there, has in ((path, "/elsewhere"), (f'{{ path = "{path}" }}', '"0.3"')):
        manifest.write_text(text.replace(there, has))
        said = switchbed("build", "mine", code=2).stderr
        assert said.startswith("switchbed: mine/Cargo.toml: the path of switchbed-qdisc is ")
        assert f'write path = "{path}", or name its tree by --source' in said


def test_a_wheel_of_other_sources_has_another_version(tmp_path: Path) -> None:
    """Pip leaves a version that is installed as it is."""
    folder = tmp_path / "mine"
    building.write_new("mine", folder, None)
    first = building.version(folder, ROOT)
    assert first.startswith(f"{__version__}+")
    assert building.version(folder, ROOT) == first
    (folder / "lib.rs").write_text((folder / "lib.rs").read_text() + "\n")
    assert building.version(folder, ROOT) != first
    # It is still of our version.
    with_module(tmp_path / "site", "mine", first)
    (tmp_path / f"site/switchbed-{__version__}.dist-info").mkdir()
    assert plugged.find([str(tmp_path / "site")]).problem is None


def test_the_wheels_crate_is_the_module_with_one_crate_more(tmp_path: Path) -> None:
    """Cargo reads it, and its dependencies are those that the lock file pins."""
    folder = tmp_path / "my-rule"
    building.write_new("my-rule", folder, None)
    place = tmp_path / "wheel"
    (place / "python/p").mkdir(parents=True)
    for file, text in building._written("my-rule", folder, ROOT, "p", "9+a").items():
        (place / file).write_text(text)
    shutil.copy(ROOT / "Cargo.lock", place / "Cargo.lock")
    words = ["cargo", "metadata", "--offline", "--format-version", "1"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    versions = {each["name"]: each["version"] for each in found["packages"]}
    pinned = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    known = {(each["name"], each["version"]) for each in pinned}
    own = {"switchbed-plugged", "my-rule"}
    assert own <= versions.keys()
    assert {of for of in versions.items() if of not in known and of[0] not in own} == set()
    module = tomllib.loads((ROOT / "crates/python/Cargo.toml").read_text())
    made = tomllib.loads((place / "Cargo.toml").read_text())
    assert made["dependencies"].keys() == module["dependencies"].keys() | {"plugged"}
    # Cargo warns of a profile for a package that is not there.
    ours = tomllib.loads((ROOT / "Cargo.toml").read_text())["profile"]
    ours["dev"]["package"]["switchbed-plugged"] = ours["dev"]["package"]["switchbed-python"]
    kept = versions.keys() | {"*"}
    assert ours["dev"]["package"].keys() - kept >= {"proptest", "switchbed-python"}
    packages = {name: of for name, of in ours["dev"]["package"].items() if name in kept}
    assert made["profile"] == ours | {"dev": ours["dev"] | {"package": packages}}


def test_crates_that_share_a_target_folder_have_files_of_their_own(tmp_path: Path) -> None:
    """Cargo takes a file of the same name for what it built before, whichever crate wrote it."""

    def library(name: str, folder: str) -> str:
        written = building._written(name, tmp_path / folder, ROOT, "p", "9+a")
        return str(tomllib.loads(written["Cargo.toml"])["lib"]["name"])

    ours = tomllib.loads((ROOT / "crates/python/Cargo.toml").read_text())["lib"]["name"]
    names = [library("mine", "a"), library("mine", "b"), library("other-one", "a")]
    assert len({ours, *names}) == 4
    assert library("mine", "a") == names[0]


def test_a_scheme_keeps_every_promise_by_name(switchbed: Program) -> None:
    said = switchbed("conformance", "tcn", "--sequences", "2").stdout
    assert said.startswith("tcn keeps every promise: ")
    found = json.loads(switchbed("conformance", "red", "--sequences", "1", "--json").stdout)
    assert found["failure"] is None
    assert found["cases"] > 5
    assert found["operations"] > found["cases"]
    said = switchbed("conformance", "none-such", code=2).stderr
    assert "none-such: there is no such scheme in Rust" in said
    switchbed("conformance", "python", code=2)


@pytest.mark.long
def test_the_pages_rule_with_state_compiles(tmp_path: Path) -> None:
    folder = tmp_path / "my-rule"
    building.write_new("my-rule", folder, None)
    page = (ROOT / "docs/plug-in.md").read_text()
    build, hooks, _ = re.findall(r"^```rust\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    text = (folder / "lib.rs").read_text()
    head, definition = text.index("    fn complete("), text.index("impl Marker for")
    text = text[:head] + build + "}\n\nimpl Marker for MyRule {\n" + hooks + "}\n"
    assert head < definition
    for old, new in (
        ("threshold: Span;", "threshold: Bytes as Threshold;"),
        ("threshold: Span,", "threshold: Bytes,\n    averages: Vec<f64>,"),
    ):
        assert old in text
        text = text.replace(old, new)
    (folder / "lib.rs").write_text(f"#![allow(unused_imports)]\n{text}")
    environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target")}
    words = ["cargo", "check", "--offline"]
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


BROKEN = 'assert!(view.port.queue_bytes(queue).get() < 3_000, "it is full");'


@pytest.mark.long
def test_a_new_scheme_is_built_installed_and_known_everywhere(
    switchbed: Program, tmp_path: Path
) -> None:
    """From nothing to a figure (docs/plug-in.md); a promise that is broken is shown."""
    folder = tmp_path / "my-rule"
    building.write_new("my-rule", folder, None)
    site = tmp_path / "site"

    def install() -> None:
        shutil.rmtree(site, ignore_errors=True)
        wheel = building.build(folder, None, dev=True)
        words = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel)]
        subprocess.run([sys.executable, *words], check=True)

    install()
    assert (
        python(site, "-m", "switchbed", "conformance", "my-rule", "--sequences", "2").returncode
        == 0
    )
    mine = '{ name = "my-rule", params = { threshold = "20us" } }'
    tcn = '{ name = "tcn", params = { threshold = "20us" } }'
    words = ["--set", "flows=30", "--set", f"compare.scheme=[{mine}, {tcn}]"]
    python(site, "-m", "switchbed", "new", "star")
    done = python(site, "-m", "switchbed", "sweep", "star.toml", "--seeds", "2", *words)
    assert done.returncode == 0, done.stderr
    done = python(
        site,
        "-m",
        "switchbed",
        "plot",
        "fct",
        "switchbed-store/sweeps/star.parquet",
        "--out",
        "a.png",
    )
    assert done.returncode == 0, done.stderr
    build = python(site, "-m", "switchbed", "--version").stdout
    assert "-my-rule-" in build
    file = folder / "lib.rs"
    text = file.read_text().replace(
        "_: &View, _: QueueId, _: &Packet", "view: &View, queue: QueueId, _: &Packet"
    )
    file.write_text(text.replace("Intent::Pass\n", BROKEN + "\n        Intent::Pass\n", 1))
    install()
    done = python(site, "-m", "switchbed", "conformance", "my-rule")
    assert done.returncode == 1
    assert "my-rule: it is full" in done.stdout
    assert python(site, "-m", "switchbed", "--version").stdout != build
