"""The page, or a paper's part of it, as one HTML file with its pictures: `switchbed reproduce
report`. The site's page comes from the same text."""

import base64
import re
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

from switchbed import files
from switchbed_papers.reproduce import page
from switchbed_papers.reproduce.claims import Paper

IMAGE = re.compile(r'<img src="([^"]+)"')
STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b1b1b; background: #fff; }
h1, h2, h3 { line-height: 1.2; margin: 2rem 0 0.5rem; } h2 { border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: 0.8rem 0; display: block; overflow-x: auto;
  font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.6rem; border: 1px solid #ddd; text-align: left; vertical-align: top; }
th { background: #f3f3f3; } code { font-size: 0.9em; background: #f3f3f3; padding: 0 0.2em; }
img { max-width: 100%; height: auto; } details { margin: 0.6rem 0; }
summary { cursor: pointer; color: #0b5394; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818; }
  th, code { background: #2a2a2a; } th, td { border-color: #444; } summary { color: #8ab4f8; }
  img { background: #fff; } }
"""


def write(out: Path, only: Paper | None) -> None:
    """Write the report of one paper, or of all."""
    with tempfile.TemporaryDirectory(prefix="switchbed-report-") as place:
        pictures = Path(place)
        page.draw_all(pictures, only)
        html = render(page.render(shown=True, only=only), pictures)
    with files.whole(out, "--out") as file:
        file.write_text(html, encoding="utf-8")


def render(text: str, pictures: Path) -> str:
    """A page of Markdown as HTML with its pictures inside."""
    title = text.splitlines()[0].removeprefix("# ")
    body: str = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)

    def inside(found: re.Match[str]) -> str:
        data = base64.b64encode((pictures / Path(found[1]).name).read_bytes()).decode()
        return f'<img src="data:image/png;base64,{data}"'

    body = IMAGE.sub(inside, re.sub(r"<(h[123])>([^<]+)</", _anchored, body))
    head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    view = '<meta name="viewport" content="width=device-width">'
    return f'<!doctype html><html lang="en"><head>{head}{view}</head><body>{body}</body></html>\n'


def _anchored(found: re.Match[str]) -> str:
    name = re.sub(r"[^\w]+", "-", found[2].lower()).strip("-")
    return f'<{found[1]} id="{name}">{found[2]}</'
