"""Markup as a parser sees it."""

from __future__ import annotations

from html.parser import HTMLParser


class Seen(HTMLParser):
    """Elements, text, the cells of tables, and the items of lists."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.rows: list[list[str]] = []
        self.remarks: list[str] = []
        self._open: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)
        if "tbody" in self._open and tag == "tr":
            self.rows.append([])
        if "tbody" in self._open and tag in {"th", "td"}:
            self.rows[-1].append("")
        if tag == "li":
            self.remarks.append("")

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Note text, and where it stands."""
        if "caption" in self._open:
            return
        self.text += data
        if "tbody" in self._open:
            self.rows[-1][-1] += data
        if "li" in self._open:
            self.remarks[-1] += data
