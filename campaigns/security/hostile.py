"""Text that a terminal obeys, hides or turns around, and what of it a stream may show.

What is dangerous is listed by code points here, independently of how the package finds it.
"""

from __future__ import annotations

import json
import re

MARK = "INJECTED"
"""Follows a line end in names: a line of output that begins with it was made by a file."""

_TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "evil")

PAYLOADS = {
    "controls": "".join(map(chr, [*range(1, 32), 127])),
    "line": f"a\n{MARK}\r{MARK}\x0b{MARK}\x0c{MARK}\x85{MARK}\u2028{MARK}\u2029{MARK}",
    "csi": "\x1b[5;41mred\x1b[2J\x1b[H\x1b[6n",
    "osc": "\x1b]0;title\x07\x1b]52;c;aWQ=\x07",
    "link": "\x1b]8;;https://example.org/\x1b\\here\x1b]8;;\x1b\\",
    "dcs": "\x1bP+q544e\x1b\\\x1b_app\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\\x1bc",
    "c1": "\x80\x85\x8d\x90q\x9b31m\x9d0;title\x9c\x9e\x9f",
    "bidi": "\u202a\u202b\u202d\u202egnp.exe\u202c\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
    "hidden": f"\u200b\u200c\u200d\u2060\ufeff\xad\u180e\u2061\u206a\ufff9{_TAGS}",
    "formats": "%s%n%(x)s%{}{0}{0.__class__}{x!r:>99}${HOME}",
    "shell": "$(id)`id`;id|id&id>x'\"\\!!~#",
    "option": "-rf",
    "long": "long" * 1_000,
    "wide": "漢字かな한글ＷＩＤＥ🎉",
    "combining": "e\u0301" * 3 + "Z\u0335\u0317",
    "right to left": "שלום عالم 42",
    "markup": "</title></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'><!--",
    "bytes": b"\xff\xfe\x9b31m\xc0\xaf".decode(errors="surrogateescape"),
    "surrogates": "\ud83d\udc80\ud800",
    "empty": "",
    "blanks": " \xa0\u2007\u3000 ",
}
"""By what they try."""

_DANGEROUS = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Everything but the line feed, which ends our own lines."""

_OURS = re.compile(r"\x1b\[(?:0|1|3[0-7])m|\r\x1b\[K")
"""Colours, and the progress bar's way of taking itself away."""

_INJECTED = re.compile(rf"^{MARK}", re.MULTILINE)


def names(kinds: tuple[str, ...] = tuple(PAYLOADS)) -> dict[str, str]:
    """Names for columns: each payload after a plain word that says which it is."""
    return {kind: f"{kind} {PAYLOADS[kind]}" for kind in kinds}


def file_name(kind: str) -> str:
    """A payload as a segment of a path: no "/", at most 200 bytes, and Unicode or stray bytes."""
    text = PAYLOADS[kind].replace("/", "_").replace("\0", "")
    data = text.encode("utf-8", "surrogateescape" if kind != "surrogates" else "replace")
    return data[:200].decode("utf-8", "surrogateescape")


def faults(shown: str, *, is_terminal: bool = False) -> list[str]:
    """What is wrong with the text of a stream, one clause each; nothing if it is safe to show."""
    bare = _OURS.sub("", shown) if is_terminal else shown
    found = sorted(set(_DANGEROUS.findall(bare)))
    wrong = [f"{character!r} is shown raw: {_around(bare, character)}" for character in found]
    if _INJECTED.search(bare):
        wrong.append("a name begins a line of its own")
    return wrong


def faults_of_json(shown: str) -> list[str]:
    """What is wrong with JSON: what is not ASCII, not printable, or cannot be read."""
    if not (shown.isascii() and shown.rstrip("\n").isprintable()):
        return ["it is not printable ASCII in one line"]
    try:
        json.loads(shown)
    except ValueError as error:
        return [f"it is no JSON: {error}"]
    return []


def _around(text: str, character: str) -> str:
    at = text.index(character)
    return repr(text[max(0, at - 40) : at + 20])
