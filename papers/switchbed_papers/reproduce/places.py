"""Places of a paper that a set-up quotes: a section and the first three words of a sentence in it.

`places.json` has every section of each paper and, for each, digests of its sentences' first three
words, so that a quoted place can be checked without the paper's text.

    python -m switchbed_papers.reproduce.places TEXT FOLDER

makes a paper's part of it again from the paper's text.
"""

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parents[1] / "places.json"
ROMAN = re.compile(r"^(VIII|VII|VI|IV|V|III|II|I)\. [A-Z]")
LETTER = re.compile(r"^([A-D])\. [A-Z]")
NUMBER = re.compile(r"^(\d)\) [A-Z]")
DOTTED = re.compile(r"^(\d(?:\.\d)*)\.? [A-Z][^|]{2,70}$")
END = re.compile(r"^(References|REFERENCES|Acknowledg|ACKNOWLEDG)")
QUOTED = re.compile(r"^(\S+) ‹([^‹›]+)›$")
COMMAND = re.compile(r"\\[a-z]+")
WORD = re.compile(r"[^\W_]+")
START = re.compile(r"(?:^|(?<=[.?!:;]) |(?<=[.?!]\)) |(?<=\]) |\()(?=\W*\w)", re.M)


@dataclass(frozen=True)
class Place:
    """A sentence of a paper."""

    section: str
    words: str
    """The sentence's first words, three at least."""

    def __str__(self) -> str:
        return f"{self.section} ‹{self.words}›"


def parse(text: str) -> Place | None:
    """A place as set-ups write it, `II-C.3 ‹In order to show›`; none if it is no such text."""
    found = QUOTED.match(text)
    return Place(found[1], found[2]) if found and digest(found[2]) else None


def read(folder: Path) -> dict[str, frozenset[str]]:
    """Sections of a paper, and of each the digests of its sentences."""
    found = _all()[folder.name]
    return {section: frozenset(digests.split()) for section, digests in found.items()}


def _all() -> dict[str, dict[str, str]]:
    """Digests of every section's sentences, by spaces, of each paper by its folder's name."""
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def exists(place: Place, known: dict[str, frozenset[str]]) -> bool:
    """Whether a paper has this section, and a sentence of it begins with these words."""
    return digest(place.words) in known.get(place.section, ())


def digest(words: str) -> str:
    """Of the first three words of a text; empty if it has fewer."""
    first = WORD.findall(COMMAND.sub(" ", words.lower()))[:3]
    return hashlib.sha256(" ".join(first).encode()).hexdigest()[:6] if len(first) == 3 else ""


def sections(text: str) -> dict[str, str]:
    """Text by section, in the paper's own numbering: `5.1.2` or `II-C.3`."""
    found: dict[str, list[str]] = {"abstract": []}
    at = "abstract"
    for line in text.splitlines():
        bare = line.strip().lstrip("#").replace("*", "").strip()
        if END.match(bare):
            break
        chapter = at.partition("-")[0]
        if (heading := ROMAN.match(bare)) or (heading := DOTTED.match(bare)):
            at = heading[1]
        elif chapter[0] in "IV" and (heading := LETTER.match(bare)):
            at = f"{chapter}-{heading[1]}"
        elif "-" in at and (heading := NUMBER.match(bare)):
            at = f"{at.partition('.')[0]}.{heading[1]}"
        found.setdefault(at, []).append(bare)
    return {name: "\n".join(lines) for name, lines in found.items()}


def digests(text: str) -> dict[str, str]:
    """A paper's part of `places.json`: of each section the digests of its sentences, by spaces."""
    found = {}
    for name, words in sections(text).items():
        ends = [match.start() for match in START.finditer(words)]
        found[name] = " ".join(sorted({d for at in ends if (d := digest(words[at:]))}))
    return found


def main() -> None:
    """Run the command line."""
    text, folder = map(Path, sys.argv[1:])
    found = {**_all(), folder.name: digests(text.read_text(encoding="utf-8"))}
    FILE.write_text(json.dumps(dict(sorted(found.items())), indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
