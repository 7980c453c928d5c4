"""The inputs that fuzzing begins with: `fuzz/corpus/TARGET.tar.xz` has those of a target. Equal
inputs make equal bytes: files are sorted by name, without times or owners."""

import io
import shutil
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ARCHIVES = ROOT / "fuzz" / "corpus"
UNPACKED = ROOT / "target" / "fuzz" / "corpus"


def archive(target: str) -> Path:
    """The target's archive."""
    return ARCHIVES / f"{target}.tar.xz"


def read(target: str) -> dict[str, bytes]:
    """The target's inputs by name."""
    inputs = {}
    with tarfile.open(archive(target)) as packed:
        for member in packed:
            content = packed.extractfile(member)
            if content is None or "/" in member.name:
                raise ValueError(f"{archive(target)}: {member.name}: must be a file at the top")
            inputs[member.name] = content.read()
    return inputs


def unpack(target: str) -> Path:
    """The folder with the target's inputs, and nothing else, for libFuzzer to read."""
    folder = UNPACKED / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if archive(target).exists():
        for name, content in read(target).items():
            (folder / name).write_bytes(content)
    return folder


def pack(target: str, folder: Path) -> None:
    """The files of the folder become the target's archive."""
    part = archive(target).with_suffix(".partial")
    with tarfile.open(part, "w:xz", format=tarfile.USTAR_FORMAT) as packed:
        for file in sorted(folder.iterdir()):
            content = file.read_bytes()
            member = tarfile.TarInfo(file.name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    part.replace(archive(target))
