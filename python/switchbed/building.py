"""`switchbed new scheme` and `switchbed build`: a scheme in Rust of a user's own, as a crate of one
file, and the wheel that adds it to Switchbed's (`switchbed.plugged` says how it is found)."""

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from switchbed import _native, files, foreign, library, toml
from switchbed._native import Mistake
from switchbed.terminal import say

TEMPLATE = library.DATA / "scheme"
FILES = ("Cargo.toml", "lib.rs", "golden.txt")
EXAMPLE = "waiting"
"""Name of the template's scheme."""
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
TYPE = re.compile(r"\b[A-Z]\w*")
"""Types and traits in a file of Rust."""
RUSTS = ("Self", "Option", "Some", "String", "Vec", "Box")
"""Names of Rust's that macros of a scheme use."""
WORDS = "write lower-case words, such as my-scheme"
LICENSES = ("LICENSE-MIT", "LICENSE-APACHE")
"""Of Switchbed, whose module the wheel has."""
HASHED = (".rs", ".toml", ".txt")
"""Kinds of files by whose content a build is told from others."""


PACKAGE = re.compile(r"([\w-]+) = \{ opt-level")
"""Line of a profile about one package."""


def write_new(name: str, out: Path | None, source: Path | None) -> None:
    """Writes the crate of a scheme of this name."""
    if not NAME.fullmatch(name):
        raise Mistake(f"{foreign.name(name)}: is no scheme's name: {WORDS}")
    if name in {scheme["name"] for scheme in library.schemes()}:
        raise Mistake(f"{name}: there is such a scheme already: choose another name")
    used = TYPE.findall((TEMPLATE / "lib.rs").read_text(encoding="utf-8"))
    if type_of(name) in (*RUSTS, *used):
        raise Mistake(
            f"{name}: its type {type_of(name)} has the name of one that a crate needs: "
            f"choose another name, such as my-{name}"
        )
    tree = source_tree(source)
    folder = out or Path(name)
    if os.path.lexists(folder):
        raise Mistake(f"{folder}: is there already: name another folder by --out")
    written = {file: text_of(name, (TEMPLATE / file).read_text(encoding="utf-8")) for file in FILES}
    written["Cargo.toml"] = written["Cargo.toml"].replace(
        '"SOURCE/crates/qdisc"', toml.value("path", str(tree / "crates/qdisc"))
    )
    with files.writing(str(folder)):
        folder.mkdir(parents=True)
        for file, text in written.items():
            (folder / file).write_text(text, encoding="utf-8")
    place = shlex.quote(str(folder))
    say(f"written to {folder}; its rule is in lib.rs, and switchbed build {place} builds it")


def text_of(name: str, text: str) -> str:
    """Return a file of the template for a scheme of another name."""
    return text.replace(type_of(EXAMPLE), type_of(name)).replace(EXAMPLE, name)


def type_of(name: str) -> str:
    """Return the Rust type of a scheme."""
    return "".join(word.capitalize() for word in name.split("-"))


def source_tree(given: Path | None) -> Path:
    """Return Switchbed's source tree: the one given, or that of this package."""
    tree = given or Path(__file__).parents[2]
    if not (tree / "crates/qdisc/Cargo.toml").exists():
        if given is None:
            raise Mistake(
                "this switchbed was installed without its source tree: name a checkout, or the "
                "unpacked .tar.gz of the release, by --source"
            )
        raise Mistake(
            f"--source {given}: is no source tree of Switchbed's: name a checkout, or the unpacked "
            f".tar.gz of the release"
        )
    tree = tree.resolve()
    version = tomllib.loads((tree / "Cargo.toml").read_text(encoding="utf-8"))
    version = version["workspace"]["package"]["version"]
    if version != _native.__version__:
        raise Mistake(
            f"{tree}: is version {version}, and this is switchbed {_native.__version__}: "
            f"name the tree of this version by --source"
        )
    return tree


def build(folder: Path, source: Path | None, *, dev: bool) -> Path:
    """Builds the wheel of a crate, and returns its path."""
    name = _name(folder)
    tree = source_tree(source)
    _is_of(tree, folder)
    command = _maturin()
    if shutil.which("cargo") is None:
        raise Mistake("switchbed build needs cargo: install Rust")
    folder = folder.resolve()
    place = folder / "target/wheel"
    package = f"switchbed_scheme_{name.replace('-', '_')}"
    with files.writing(str(place)):
        (place / "python" / package).mkdir(parents=True, exist_ok=True)
        # The lock's versions, so that nothing else is linked in than in our own module.
        for file in ("Cargo.lock", *LICENSES):
            shutil.copy(tree / file, place / file)
        written = _written(name, folder, tree, package, version(folder, tree))
        for file, text in written.items():
            (place / file).write_text(text, encoding="utf-8")
    out = folder / "dist"
    before = set(out.glob("*.whl"))
    for wheel in before:
        wheel.unlink()
    # A tree that was built has most of what is needed.
    target = tree / "target" if (tree / "target").is_dir() else folder / "target"
    environment = {"CARGO_TARGET_DIR": str(target)} | os.environ
    environment["SWITCHBED_PLUGGED"] = f"{name}-{_digest(folder)}"
    words = [*command, "build", "--out", str(out), "--compatibility", "linux"]
    words += ["--profile", "dev" if dev else "release"]
    done = subprocess.run(words, cwd=place, env=environment, check=False)
    wheels = sorted(out.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise Mistake(f"{folder}: is not built: the messages above say why")
    return wheels[0]


def _name(folder: Path) -> str:
    file = folder / "Cargo.toml"
    if not file.exists():
        raise Mistake(f"{folder}: has no Cargo.toml: switchbed new scheme NAME writes a crate")
    text = files.read_text(file)
    try:
        name = tomllib.loads(text)["package"]["name"]
    except tomllib.TOMLDecodeError as error:
        raise Mistake(f"{file}: is no TOML: {error}") from None
    except (KeyError, TypeError):
        right = 'write name = "my-scheme" in [package]'
        raise Mistake(f"{file}: package.name is missing: {right}") from None
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Mistake(f"{file}: package.name is {foreign.shown(name)}: {WORDS}")
    return name


def _is_of(tree: Path, folder: Path) -> None:
    """Refuses a crate whose library is another tree's: cargo links one of the two at most."""
    file = folder / "Cargo.toml"
    found = tomllib.loads(files.read_text(file)).get("dependencies", {}).get("switchbed-qdisc")
    given = found.get("path") if isinstance(found, dict) else None
    right = tree / "crates/qdisc"
    if given is None or (folder / given).resolve() != right.resolve():
        has = "is missing" if given is None else f"is {foreign.shown(given)}"
        raise Mistake(
            f"{file}: the path of switchbed-qdisc {has}, and the module is built from {tree}: "
            f'write path = "{right}", or name its tree by --source'
        )


def _maturin() -> list[str]:
    if importlib.util.find_spec("maturin") is not None:
        return [sys.executable, "-m", "maturin"]
    found = shutil.which("maturin")
    if found is None:
        raise Mistake("switchbed build needs maturin: pip install 'maturin>=1.16,<2'")
    return [found]


def _digest(folder: Path) -> str:
    """Return a hash of the crate's sources: runs of other sources are kept apart."""
    hashed = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.suffix in HASHED and inside.parts[0] not in ("target", "dist") and path.is_file():
            hashed.update(f"{inside.as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return hashed.hexdigest()[:16]


def version(folder: Path, tree: Path) -> str:
    """Return the version of a wheel: ours, and a hash of the sources of crate and tree, since pip
    leaves a version that is installed as it is."""
    both = _digest(folder) + _digest(tree / "crates")
    return f"{_native.__version__}+{hashlib.sha256(both.encode()).hexdigest()[:12]}"


def _written(name: str, folder: Path, tree: Path, package: str, version: str) -> dict[str, str]:
    """Return the files of the crate that links the module with the user's crate."""
    python = [
        "[build-system]",
        'requires = ["maturin>=1.16,<2"]',
        'build-backend = "maturin"',
        "[project]",
        f'name = "switchbed-scheme-{name}"',
        f'version = "{version}"',
        f'dependencies = ["switchbed=={_native.__version__}"]',
        f"license-files = {toml.value('license-files', LICENSES)}",
        'requires-python = ">=3.11"',
        '[project.entry-points."switchbed.schemes"]',
        f'{name} = "{package}"',
        "[tool.maturin]",
        f'module-name = "{package}._native"',
        'python-source = "python"',
        'features = ["pyo3/extension-module", "plugged"]',
    ]
    return {
        "pyproject.toml": "\n".join(python) + "\n",
        "Cargo.toml": "\n".join(_manifest(name, folder, tree)) + "\n",
        f"python/{package}/__init__.py": f'"""Switchbed\'s module with the scheme {name}."""\n',
    }


def _manifest(name: str, folder: Path, tree: Path) -> Iterator[str]:
    """Make the module's manifest, with the user's crate in it and every path absolute."""
    module = tomllib.loads((tree / "crates/python/Cargo.toml").read_text(encoding="utf-8"))
    workspace_text = (tree / "Cargo.toml").read_text(encoding="utf-8")
    workspace = tomllib.loads(workspace_text)["workspace"]
    yield "[workspace]"
    yield "[package]"
    yield 'name = "switchbed-plugged"'
    yield f'version = "{workspace["package"]["version"]}"'
    yield f'edition = "{workspace["package"]["edition"]}"'
    yield "[lib]"
    # Cargo writes lib_NAME.so without a hash: in a shared target folder crates of one name would
    # overwrite each other's, and the tree's own module, and seem up to date.
    place = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
    yield f'name = "{name.replace("-", "_")}_{place}"'
    yield 'crate-type = ["cdylib"]'
    yield f"path = {toml.value('path', str(tree / 'crates/python/src/lib.rs'))}"
    yield "[dependencies]"
    yield f"plugged = {toml.value('plugged', {'package': name, 'path': str(folder)})}"
    yield from _dependencies(module["dependencies"], workspace, tree)
    for target, of in module["target"].items():
        yield f"[target.'{target}'.dependencies]"
        yield from _dependencies(of["dependencies"], workspace, tree)
    yield "[features]"
    for feature, needs in module["features"].items():
        yield f"{feature} = {toml.value(feature, needs)}"
    # The profiles are the workspace's last part. Cargo warns of settings for packages that are not
    # linked, such as those of tests.
    linked = _linked(tree, module)
    for line in workspace_text[workspace_text.index("[profile.") :].rstrip().splitlines():
        package = PACKAGE.match(line)
        if package is None or package[1] in linked:
            yield line
        elif package[1] == module["package"]["name"]:
            yield line.replace(package[1], "switchbed-plugged")


def _linked(tree: Path, module: dict[str, Any]) -> set[str]:
    """Names of the packages that the module links, by the tree's manifests and its lock."""
    lock = tomllib.loads((tree / "Cargo.lock").read_text(encoding="utf-8"))
    needs = {of["name"]: of.get("dependencies", []) for of in lock["package"]}
    # The lock has what the tree's own crates need for their tests, too.
    for file in tree.glob("crates/*/Cargo.toml"):
        own = tomllib.loads(file.read_text(encoding="utf-8"))
        needs[own["package"]["name"]] = _needed(own)
    linked: set[str] = set()
    found = _needed(module)
    while found:
        name = found.pop().partition(" ")[0]
        if name not in linked:
            linked.add(name)
            found += needs.get(name, [])
    return linked


def _needed(manifest: dict[str, Any]) -> list[str]:
    """Names of the dependencies of a manifest, but for those of tests."""
    targets = manifest.get("target", {}).values()
    kinds = ("dependencies", "build-dependencies")
    return [name for of in (manifest, *targets) for kind in kinds for name in of.get(kind, ())]


def _dependencies(given: dict[str, Any], workspace: dict[str, Any], tree: Path) -> Iterator[str]:
    for name, spec in given.items():
        found = {"version": spec} if isinstance(spec, str) else dict(spec)
        if found.pop("workspace", False):
            shared = workspace["dependencies"][name]
            found = ({"version": shared} if isinstance(shared, str) else dict(shared)) | found
        if "path" in found:
            found["path"] = str(tree / found["path"])
        yield f"{name} = {toml.value(name, found)}"
