"""Reads a rendered page the way a browser does: tags with attributes, and the text between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

VOID = ("meta", "input", "br")


class Page(HTMLParser):
    """The tags of a page in order, and its text without styles."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self._pieces: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self._pieces.append(data)

    @property
    def text(self) -> str:
        """All text; blanks of any kind and length are one space."""
        return re.sub(r"\s+", " ", "".join(self._pieces))

    def all(self, tag: str, kind: str = "") -> Iterator[dict[str, str]]:
        """Attributes of every such tag; `kind` is one of its classes."""
        for name, attributes in self.tags:
            if name == tag and (not kind or kind in attributes.get("class", "").split()):
                yield attributes


def text_of(source: str) -> str:
    """What a reader sees of some markup."""
    return Page(source).text


def first_screen(source: str) -> str:
    """The text of the page before the full evidence."""
    head, _, _ = source.partition('<nav class="contents"')
    return text_of(head.partition("<main>")[2])


def share(length: str) -> float:
    """`98.4%` as 0.984."""
    assert length.endswith("%")
    return float(length[:-1]) / 100
