"""A badge for a README: two words side by side, as SVG of our own that needs nothing from elsewhere.

Nobody knows which font it will be drawn with. Widths are those of DejaVu Sans, which are Verdana's, and the picture
tells them to whoever draws it, so that the text fills its half whatever font there is.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from app.reports.text import plain, shorten

Tone = Literal["good", "bad", "doubtful", "quiet"]

COLOURS: dict[Tone, str] = {"good": "#1a7f37", "bad": "#cf222e", "doubtful": "#9a6700", "quiet": "#0969da"}
"""White is readable on each (WCAG AA)."""

MOST_LETTERS = 60

_EM = 11
"""Size of the text [px]."""

_PADDING = 6
_HEIGHT = 20
_BASE_LINE = 14

_THOUSANDTHS = (
    *(318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337),
    *(636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531),
    *(1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787),
    *(603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500),
    *(500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612),
    *(635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838),
)
"""Widths of the characters from U+0020 to U+007E [1/1000 em]."""

_USUAL, _WIDE = 640, 1000
"""Of other characters: most, and those that East Asian text sets in a square [1/1000 em]."""


@dataclass(frozen=True)
class Badge:
    """What a badge says: what it is about, what is to be said of it, and how that is to be taken."""

    about: str
    says: str
    tone: Tone
    explained: str
    """A sentence for whoever points at it, or has it read out."""


def text_width(text: str) -> float:
    """Return how wide a text is drawn [px]."""
    return _EM * sum(map(_width, text)) / 1000


def _width(character: str) -> int:
    at = ord(character) - 0x20
    if 0 <= at < len(_THOUSANDTHS):
        return _THOUSANDTHS[at]
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return _WIDE if unicodedata.east_asian_width(character) in "WF" else _USUAL


def badge_svg(badge: Badge) -> str:
    """Return the badge as an SVG document."""
    about, says = (shorten(plain(text), MOST_LETTERS) for text in (badge.about, badge.says))
    left, right = (round(text_width(text)) + 2 * _PADDING for text in (about, says))
    return str(
        _DOCUMENT.format(
            width=left + right,
            height=_HEIGHT,
            left=left,
            right=right,
            colour=COLOURS[badge.tone],
            explained=plain(badge.explained),
            about=_text(_PADDING, left, about),
            says=_text(left + _PADDING, right, says),
        )
    )


def _text(x: int, width: int, words: str) -> Markup:
    return _TEXT.format(x=x, y=_BASE_LINE, width=width - 2 * _PADDING, words=words)


_DOCUMENT = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    ' role="img"><title>{explained}</title>'
    '<clipPath id="r"><rect width="{width}" height="{height}" rx="4"/></clipPath>'
    '<g clip-path="url(#r)"><rect width="{left}" height="{height}" fill="#444c56"/>'
    '<rect x="{left}" width="{right}" height="{height}" fill="{colour}"/></g>'
    '<g fill="#fff" font-family="DejaVu Sans,Verdana,Geneva,sans-serif" font-size="11">{about}{says}</g></svg>\n'
)
_TEXT = Markup(
    '<text x="{x}" y="{y}" textLength="{width}" lengthAdjust="spacingAndGlyphs" direction="ltr"'
    ' unicode-bidi="isolate">{words}</text>'
)
