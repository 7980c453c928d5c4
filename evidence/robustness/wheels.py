"""The release, tried as its users get it: builds the sdist, from it the wheel, installs that into
fresh environments of each Python from 3.11 on that the machine has, and runs the main commands
there, away from the source tree. Under the first of them a scheme of a user's own is written, built
and swept by its name. Prints what it all takes, and how long.

    python -m evidence.robustness.wheels [--quick]
    python -m evidence.robustness.wheels --twice [--quick]

`--twice` builds the wheel twice instead, from nothing and each in a folder of its own, and compares
the bytes; times in it are that of the last commit (SOURCE_DATE_EPOCH). `--quick` builds without
link-time optimisation and profile, for a look at the rest. The profile
needs LLVM's profdata, whose path `make wheels` gives in LLVM_PROFDATA; without it the wheel has
none.
"""

import argparse
import hashlib
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
QUICK = {"LTO": "off", "CODEGEN_UNITS": "16", "DEBUG": "0"}
BUILDERS = ("maturin[zig]>=1.16,<2", "pip")
"""What builds the wheel; zig links it for a glibc that is older than the machine's."""
MANYLINUX = "manylinux_2_28"
"""Of the wheel, as .github/workflows/wheels.yml has it."""
SHORT = ("--set", "flows=200")
SWEPT = ("--set", 'compare.scheme=["per-queue", "mq-ecn"]')
COMMANDS = (
    ("new", "leaf-spine"),
    ("new", "star"),
    ("run", "leaf-spine.toml", *SHORT, "--out", "run"),
    ("run", "@incast", "--json"),
    ("sweep", "leaf-spine.toml", *SHORT, *SWEPT, "--seeds", "2"),
    ("plot", "fct", "switchbed-store/sweeps/leaf-spine.parquet", "--out", "fct.pdf"),
    ("report", "run"),
    ("schemes",),
    ("--version", "--json"),
    ("doctor",),
    ("completion", "bash"),
    ("reproduce", "list"),
    ("reproduce", "mqecn/fig1", "--quick", "--seeds", "1"),
    ("reproduce", "mqecn/fig9", "--quick", "--seeds", "1"),
    ("fabrics", "--flows", "300", "--seeds", "2", "--only", "10-40-web-search-plain"),
)
OWN = '{ name = "my-rule", params = { threshold = "20us" } }'
PLUGGED = ("--set", f'compare.scheme=[{OWN}, {{ name = "per-queue" }}]')
LAB = (
    ("live", "lab", "star.toml", "--scale", "0.01", "--set", "flows=50"),
    ("live", "lab", "@star-dctcp", "--scale", "0.01"),
)
"""As root, where a lab can be."""
TIMED = {"import switchbed": 0.3, "switchbed --help": 0.2}
"""Seconds, at most, where the interpreter alone takes `BARE_S`."""
BARE_S = 0.015
MOST_MB = 500
LEGAL = (
    "licenses/LICENSE-MIT",
    "licenses/LICENSE-APACHE",
    "licenses/python/switchbed/report/plotly-LICENSE",
    "sboms/switchbed-python.cyclonedx.json",
    "sboms/plotly.cdx.json",
)
"""Licences and lists of components in a wheel, below its metadata: ours with the crates', and those
of plotly.js in reports."""


def main() -> None:
    """Tries the release, or compares two builds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--twice", action="store_true")
    asked = parser.parse_args()
    if asked.twice:
        compare("dev" if asked.quick else "release")
    else:
        release(asked.quick)


def release(quick: bool) -> None:
    """Builds, installs, runs and prints."""
    with tempfile.TemporaryDirectory(prefix="switchbed-wheels-") as name:
        place = Path(name)
        sdist = built(place, "sdist", "--out", str(place / "sdist"))
        print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB")
        wheel = from_sdist(sdist, place, quick)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        if MANYLINUX not in wheel.name:
            sys.exit(f"{wheel.name}: is no {MANYLINUX} wheel")
        mistakes = list(lacking(wheel))
        papers = of_papers(place)
        print(f"{papers.name}: {papers.stat().st_size / 1e6:.1f} MB")
        mistakes += [why for version in PYTHONS for why in tried(version, [wheel, papers], place)]
        mistakes += plugged(sdist, place)
    sys.exit("\n".join(mistakes) if mistakes else 0)


def lacking(wheel: Path) -> Iterator[str]:
    """Licences and lists of components (SBOM) that a wheel should have and does not."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name.partition(".dist-info/")[2] for name in archive.namelist()]
    yield from (f"{wheel.name}: has no {each}" for each in LEGAL if each not in names)


def built(place: Path, *words: str) -> Path:
    """The one file that maturin makes."""
    maturin = Path(sys.executable).with_name("maturin")
    subprocess.run([maturin, *words], cwd=ROOT, check=True, capture_output=True)
    (found,) = (place / "sdist").iterdir()
    return found


def from_sdist(sdist: Path, place: Path, quick: bool) -> Path:
    """The wheel that pip makes of it, without symbols."""
    builder = place / "builder"
    subprocess.run([sys.executable, "-m", "venv", builder], check=True)
    pip = [str(builder / "bin/python"), "-m", "pip"]
    subprocess.run([*pip, "install", "--quiet", "--upgrade", *BUILDERS], check=True)
    words = [*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    profdata = None if quick else os.environ.get("LLVM_PROFDATA")
    print(f"profile: {'yes' if profdata else 'none: no llvm-profdata of this rustc, or --quick'}")
    given = f"--zig --compatibility {MANYLINUX} --strip"
    words += ["--config-settings", f"build-args={given}"]
    words += ["--wheel-dir", str(place / "wheel"), str(sdist)]
    # With a target of its own: files of an sdist are as old as ever, so that cargo takes what
    # another version left for theirs.
    set_ = {f"CARGO_PROFILE_RELEASE_{key}": value for key, value in QUICK.items() if quick}
    target = {"CARGO_TARGET_DIR": str(place / "target")}
    # maturin asks the first python for zig.
    target["PATH"] = f"{builder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    if profdata:
        target["RUSTFLAGS"] = f"-Cprofile-use={profiled(sdist, place, profdata)}"
    subprocess.run(words, cwd=place, env=os.environ | set_ | target, check=True)
    (found,) = (place / "wheel").iterdir()
    return found


def profiled(sdist: Path, place: Path, profdata: str) -> Path:
    """The profile of short runs. `maturin build --pgo` would link the counting module by zig, too,
    which has no runtime for it."""
    source = unpacked(sdist, place)
    raw, out = place / "profiles", place / "counting"
    maturin = Path(sys.executable).with_name("maturin")
    # The target is named, since functions of another kind of build have other names in a profile.
    words = [str(maturin), "build", "--release", "--locked", "--target", target_of_rustc()]
    flags = {"RUSTFLAGS": f"-Cprofile-generate={raw}", "CARGO_TARGET_DIR": str(place / "target")}
    subprocess.run(
        [*words, "--compatibility", "linux", "--out", str(out)],
        cwd=source,
        env=os.environ | flags,
        check=True,
    )
    (wheel,) = out.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place / "counted")
    train = [sys.executable, "-m", "switchbed.bench.train"]
    before_ours = {"PYTHONPATH": str(place / "counted")}
    subprocess.run(train, cwd=place, env=os.environ | before_ours, check=True)
    merged = place / "merged.profdata"
    subprocess.run([profdata, "merge", "-o", merged, raw], check=True)
    return merged


def unpacked(sdist: Path, place: Path) -> Path:
    """The source tree in an sdist."""
    if not (place / "source").exists():
        with tarfile.open(sdist) as archive:
            archive.extractall(place / "source", filter="data")
    (source,) = (place / "source").iterdir()
    return source


def target_of_rustc() -> str:
    """The machine that rustc compiles for."""
    done = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True)
    return done.stdout.partition("host: ")[2].partition("\n")[0]


def of_papers(place: Path) -> Path:
    """The wheel of the papers, a distribution of its own."""
    pip = [str(place / "builder/bin/python"), "-m", "pip"]
    words = [*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(place / "papers")]
    subprocess.run([*words, str(ROOT / "papers")], check=True)
    (found,) = (place / "papers").iterdir()
    return found


def tried(version: str, wheels: Sequence[Path], place: Path) -> Iterator[str]:
    """Installs and runs it; gives what went wrong."""
    python = found(version)
    if python is None:
        print(f"Python {version}: not on this machine")
        return
    here = place / version
    subprocess.run([python, "-m", "venv", here / "venv"], check=True)
    pip = [str(here / "venv/bin/python"), "-m", "pip"]
    subprocess.run([*pip, "install", "--quiet", *map(str, wheels)], check=True)
    leaves = [*pip, "uninstall", "--quiet", "--yes", "setuptools", "pip"]
    subprocess.run(leaves, check=True, capture_output=True)
    megabytes = sum(f.lstat().st_size for f in here.rglob("*") if f.is_file()) / 1e6
    print(f"Python {version}: {megabytes:.0f} MB installed")
    yield from larger(here / "venv", megabytes)
    bare = fastest(here, "pass")
    for what, most in TIMED.items():
        took = fastest(here, what)
        print(f"  {what}: {took:.2f} s, of which the interpreter {bare:.3f}")
        if took > most * max(1, bare / BARE_S):
            yield f"Python {version}: {what}: {took:.2f} s is over {most} s"
    labs = LAB if os.geteuid() == 0 and shutil.which("ip") else ()
    if not labs:
        print("  live lab: not run: needs root and iproute2")
    for words in (*COMMANDS, *labs):
        begin = time.monotonic()
        done = switchbed(here, *words)
        print(f"  switchbed {' '.join(words)}: {time.monotonic() - begin:.1f} s")
        if done.returncode != 0:
            yield f"Python {version}: switchbed {' '.join(words)}: {done.stdout}{done.stderr}"


def plugged(sdist: Path, place: Path) -> Iterator[str]:
    """A scheme of a user's own from the sdist, by the commands of docs/plug-in.md;
    gives what went wrong."""
    here = next(place / version for version in PYTHONS if (place / version).exists())
    source = ("--source", str(unpacked(sdist, place)))
    steps = (
        ("new", "scheme", "my-rule", *source),
        ("build", "my-rule", "--dev", *source),
        ("conformance", "my-rule"),
        ("sweep", "star.toml", *SHORT, *PLUGGED, "--seeds", "2"),
        ("plot", "fct", "switchbed-store/sweeps/star.parquet", "--out", "mine.pdf"),
    )
    begin = time.monotonic()
    for words in steps:
        if words[0] == "conformance":
            pip = [str(place / "builder/bin/python"), "-m", "pip", "--python"]
            (wheel,) = (here / "my-rule/dist").glob("*.whl")
            again = ("install", "--quiet", "--no-deps", "--force-reinstall", str(wheel))
            subprocess.run([*pip, str(here / "venv/bin/python"), *again], check=True)
        done = switchbed(here, *words, path=place / "builder/bin")
        if done.returncode != 0:
            yield f"plug-in: switchbed {' '.join(words)}: {done.stdout}{done.stderr}"
            return
    print(f"a scheme of one's own, from nothing to a figure: {time.monotonic() - begin:.0f} s")


def found(version: str) -> str | None:
    """The interpreter, if it runs: a name may stand for one that is not chosen, as pyenv has it."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    of_pyenv = sorted(kept.glob(f"{version}.*/bin/python{version}"))
    for python in (shutil.which(f"python{version}"), *map(str, of_pyenv)):
        if python is None:
            continue
        if subprocess.run([python, "-V"], check=False, capture_output=True).returncode == 0:
            return python
    return None


def larger(venv: Path, megabytes: float) -> Iterator[str]:
    """Prints what takes most; complains where it is too much."""
    packages: dict[str, float] = {}
    for file in venv.glob("lib/*/site-packages/**/*"):
        if file.is_file():
            name = file.relative_to(next(venv.glob("lib/*/site-packages"))).parts[0]
            packages[name] = packages.get(name, 0) + file.lstat().st_size / 1e6
    most = sorted(packages.items(), key=lambda item: -item[1])[:8]
    print(f"  {', '.join(f'{name} {size:.0f}' for name, size in most)}")
    if megabytes > MOST_MB:
        yield f"{venv}: {megabytes:.0f} MB are over {MOST_MB}"


def fastest(here: Path, what: str) -> float:
    """Of some times, processor time and all: a machine that does other things is slower."""
    program, *words = what.split()
    code = ["-m", program, *words] if program == "switchbed" else ["-c", what]
    times = []
    for _ in range(9):
        before = children_s()
        subprocess.run([here / "venv/bin/python", *code], cwd=here, check=True, capture_output=True)
        times.append(children_s() - before)
    return min(times)


def children_s() -> float:
    """Processor time of those that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def switchbed(
    here: Path, *words: str, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The command there, with the programs of a folder in front of the others."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    if path is not None:
        clean["PATH"] = f"{path}{os.pathsep}{clean['PATH']}"
    program = [str(here / "venv/bin/switchbed"), *words]
    return subprocess.run(program, check=False, cwd=here, env=clean, capture_output=True, text=True)


def compare(profile: str) -> None:
    """Builds twice, compares and prints."""
    with tempfile.TemporaryDirectory(prefix="switchbed-twice-") as name:
        first, second = (alone(Path(name, nth), profile) for nth in ("first", "second"))
        different = differing(first, second)
        print(f"{first.name}: {hashlib.sha256(first.read_bytes()).hexdigest()}")
    sys.exit(f"two builds differ: {', '.join(different)}" if different else 0)


def alone(place: Path, profile: str) -> Path:
    """Return a wheel for which nothing was compiled before."""
    maturin = Path(sys.executable).with_name("maturin")
    words = [str(maturin), "build", "--locked", "--profile", profile, "--compatibility", "linux"]
    environment = {"CARGO_TARGET_DIR": str(place / "target"), "SOURCE_DATE_EPOCH": epoch()}
    subprocess.run(
        [*words, "--out", str(place)], cwd=ROOT, env=os.environ | environment, check=True
    )
    (wheel,) = place.glob("*.whl")
    return wheel


def epoch() -> str:
    """Return when the last commit was made, in seconds since 1970."""
    words = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def differing(first: Path, second: Path) -> list[str]:
    """Names of the files that differ between two wheels; of the wheels, if only these do."""
    if first.read_bytes() == second.read_bytes():
        return []
    with zipfile.ZipFile(first) as one, zipfile.ZipFile(second) as other:
        files = sorted({*one.namelist(), *other.namelist()})
        both = set(one.namelist()) & set(other.namelist())
        found = [name for name in files if name not in both or one.read(name) != other.read(name)]
    return found or [first.name]


if __name__ == "__main__":
    main()
