"""The documentation site: it builds without a warning, which a dead link or a lost page is, and
what is generated into it is there."""

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pygments.lexers import find_lexer_class_by_name
from test_documents import FENCE, check_commands_in_text

import switchbed
from evidence import site as parts
from switchbed import _native

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
GENERATED = ("scenario.md", "live-keys.md", "validation.md", "hosts-evidence.md", "aqm-evidence.md")


def generate(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, DOCS / "generate.py", *words], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of the site, with a pixel for each picture that is drawn."""
    folder = tmp_path_factory.mktemp("site") / "source"
    done = generate(folder, "--no-pictures")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.long
@pytest.mark.needs("sphinx")
def test_the_site_builds_without_warnings(source: Path, tmp_path: Path) -> None:
    site, trees = tmp_path / "site", tmp_path / "trees"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-WqEb",
            "html",
            "--keep-going",
            "-d",
            trees,
            source,
            site,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    commands = (site / "commands.html").read_text()
    for path in ("switchbed run", "switchbed live lab run", "switchbed reproduce"):
        assert f"{path}<a" in commands, path
    reference = (site / "api.html").read_text()
    for name in switchbed.__all__:
        if name != "__version__":
            assert (
                f'id="switchbed.{name}"' in reference
                or f'id="module-switchbed.{name}"' in reference
            ), name


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_every_blocks_language_is_known_to_the_site(page: Path) -> None:
    for language in {language for language, _ in FENCE.findall(page.read_text())}:
        if language and language != "none" and not language.startswith("{"):
            assert find_lexer_class_by_name(language)


def test_every_generated_part_is_in_its_page(source: Path) -> None:
    for page in source.rglob("*.md"):
        assert "<!-- generated:" not in page.read_text(), page
    assert (source / "scenario.md").read_text() == _native.reference()
    assert (source / "live-keys.md").read_text() == _native.live_reference()
    for name, heading in (
        ("validation.md", "## A leaf-spine fabric, one list of flows"),
        ("hosts-evidence.md", "## The kernel"),
        ("aqm-evidence.md", "## With TCP behind them"),
        ("performance.md", "## Beside other simulators"),
        ("performance.md", "## Memory"),
        ("roce.md", "### leaf-spine, 100 Gbps, Hadoop"),
        ("results.md", "### `flow_series`"),
        ("schemes/red.md", "| `kmin` | a size"),
        ("reliability.md", "| `port_ops` |"),
        ("reliability.md", "100,000 checked"),
    ):
        assert heading in (source / name).read_text(), (name, heading)


@pytest.mark.parametrize("name", GENERATED)
def test_commands_of_generated_pages_are_the_programs(name: str, source: Path) -> None:
    check_commands_in_text(name, (source / name).read_text())


def test_what_is_generated_is_not_committed() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "docs"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert [name for name in GENERATED if f"docs/{name}" in listed.stdout.split()] == []


def test_a_page_that_is_as_before_is_left_alone(source: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    shutil.copytree(source, again)
    (again / "of-before.md").write_text("# A page that is gone\n")
    (again / "index.md").write_text("# Another\n")
    times = {file: file.stat().st_mtime_ns for file in again.rglob("*") if file.is_file()}
    assert generate(again, "--no-pictures").returncode == 0
    assert not (again / "of-before.md").exists()
    assert (again / "index.md").read_text() == (source / "index.md").read_text()
    anew = [
        file.name
        for file, before in times.items()
        if file.exists() and file.stat().st_mtime_ns != before
    ]
    assert anew == ["index.md"]


def test_links_to_generated_pages_lead_to_them_in_the_site(source: Path) -> None:
    for page in source.rglob("*.md"):
        assert "index.md#" not in page.read_text(), page
        assert "](../../" not in page.read_text(), page
    assert "make site" not in (source / "index.md").read_text()
    text = (source / "schemes/qcn.md").read_text()
    assert "[`[reaction]`](../scenario.md#reaction)" in text
    assert "](../reproductions/afqcn-fig8.png)" in text
    assert "[LSO](hosts.md#large-segment-offload-lso)" in (source / "fabrics.md").read_text()


def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.md").write_text("mine")
    done = generate(tmp_path, "--no-pictures")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert str(tmp_path) in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.md"]


def test_a_part_without_its_line_is_named(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- generated: one -->\n\nafter\n")
    parts.fill(page, "one", "| a |\n")
    assert page.read_text() == "before\n\n| a |\n\nafter\n"
    with pytest.raises(ValueError, match=r"page\.md.*generated: one.*0 times"):
        parts.fill(page, "one", "again")


def test_a_picture_is_drawn_once_for_what_it_is_drawn_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "DRAWN", tmp_path / "drawn")
    drawn = []

    def draw(file: Path) -> None:
        drawn.append(file.suffix)
        file.write_bytes(b"%d" % len(drawn))

    rows = tmp_path / "rows.json"
    for content, expected in (("1", b"1"), ("1", b"1"), ("2", b"2"), ("1", b"1")):
        rows.write_text(content)
        parts.picture(tmp_path / "one.png", draw, rows, "wide")
        assert (tmp_path / "one.png").read_bytes() == expected
    parts.picture(tmp_path / "one.png", draw, rows, "narrow")
    assert (tmp_path / "one.png").read_bytes() == b"3"
    assert drawn == [".png"] * 3


PAGE = """# A page

Save as `one.toml`:

```toml
[topology]
kind = "star"
```

```sh
switchbed theory plot cedm \\
    --out one.png
```

```sh
switchbed theory plot e-ecn --out two.png
```

```sh
switchbed no-such-command
```
"""


def test_a_pages_commands_draw_its_pictures(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    product = runpy.run_path(str(DOCS / "product.py"))
    found = product["written"](page, ("one.png", "two.png"))
    assert [found[name][:4] for name in ("one.png", "two.png")] == [b"\x89PNG"] * 2
    for name, pictures in product["BY_PAGES"].items():
        text = (DOCS / name).read_text()
        for file, shown in pictures.items():
            assert f"--out {file}\n" in text, file
            assert f'](index.md#pictures "{shown}")' in text, shown


def test_few_pictures_are_committed() -> None:
    pytest.importorskip("switchbed_papers.site", reason="it draws most of those that are")
    listed = subprocess.run(
        ["git", "ls-files", "*.png"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.split()) <= 10, listed.stdout


def test_every_scheme_has_a_page() -> None:
    titles = " ".join(page.read_text().splitlines()[0] for page in DOCS.glob("schemes/*.md"))
    for scheme in json.loads(_native.schemes()):
        # One marks nothing; the other is the reader's.
        assert f"`{scheme['name']}`" in titles or scheme["name"] in ("none", "python")
