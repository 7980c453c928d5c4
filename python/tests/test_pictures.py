"""The pictures of the schemes' pages."""

from pathlib import Path

import pytest

from switchbed import curves, pictures
from switchbed._native import Results

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_each_is_drawn_and_shown(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.png"
    pictures.draw(name, path, ROOT)
    assert path.read_bytes().startswith(b"\x89PNG")
    page = ROOT / pictures.FOLDER / f"{name}.md"
    assert f"]({name}.png)" in page.read_text()
    assert page.with_suffix(".png").exists()


@pytest.mark.parametrize("name", [*pictures.QUEUES, *pictures.CURVES])
def test_figures_of_other_pages_are_shown(name: str) -> None:
    docs = ROOT / pictures.FOLDER.parent
    assert (docs / f"{name}.png").exists()
    assert any(f"{name}.png)" in page.read_text() for page in docs.rglob("*.md"))


def test_curves_are_drawn_in_the_order_of_their_places(tmp_path: Path) -> None:
    seen = []

    def goodput(results: Results) -> float:
        seen.append(curves.goodput_gbps(results))
        return seen[-1]

    scenario = tmp_path / "small.toml"
    text = (ROOT / "scenarios/cedm-fig4.toml").read_text()
    head = text[: text.index("[compare]")].replace("160ms", "62ms")
    scenario.write_text(
        head + "[compare]\nhost.lso = [false, true]\n"
        'scheme.params.threshold = ["30KB", "125KB"]\ntransport.kind = ["dctcp"]\n'
    )
    figure = curves.Curves(
        scenario=scenario,
        key="scheme.params.threshold",
        x=lambda threshold: float(threshold.removesuffix("KB")),
        xlabel="threshold",
        panels={"goodput": goodput},
    )
    curves.draw(figure, tmp_path / "small.png")
    assert (tmp_path / "small.png").read_bytes().startswith(b"\x89PNG")
    assert len(seen) == 4
    assert all(5 < gbps < 9.74 for gbps in seen)


def test_settings_are_named_in_a_few_words() -> None:
    assert curves.name("host.lso", True) == "lso on"
    assert curves.name("transport.kind", "dctcp") == "dctcp"
