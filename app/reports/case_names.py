"""A case's name with right-to-left text in it: benchmark, names and values of its parameters are kept each to itself.

Such text would otherwise carry the brackets and signs between the parts along with it (UAX #9). A name without any is
left as it is.
"""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup, escape

_SIGNS = re.compile(r"(, |=)")


def case_markup(shown: str) -> Markup:
    """Return a case's name, as `case_label` writes it, with a <bdi> around each part."""
    if not _turns(shown):
        return escape(shown)
    return Markup("").join(
        piece if is_sign else Markup("<bdi>{}</bdi>").format(piece) for piece, is_sign in _pieces(shown)
    )


def isolated_case(shown: str) -> str:
    """Return a case's name for use inside a sentence, in Unicode isolates: one for each part, if need be."""
    pieces = _pieces(shown) if _turns(shown) else [(shown, False)]
    return "".join(piece if is_sign else f"\u2068{piece}\u2069" for piece, is_sign in pieces)


def _turns(text: str) -> bool:
    return any(unicodedata.bidirectional(char) in ("R", "AL") for char in text)


def _pieces(shown: str) -> list[tuple[str, bool]]:
    """Return the parts of the name in order, with the signs between them; the second says which is a sign."""
    benchmark, bracket, rest = shown.partition("[")
    inner, closing, after = rest.rpartition("]") if "]" in rest else (rest, "", "")
    words = _SIGNS.split(inner)
    pieces = [(benchmark, False), (bracket, True)]
    pieces += [(word, place % 2 == 1) for place, word in enumerate(words)]
    pieces += [(closing, True), (after, False)]
    return [piece for piece in pieces if piece[0]]
