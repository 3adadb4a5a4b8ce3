"""Options that are shares: percentages as people write them, fractions inside."""

from __future__ import annotations

import click


def share(value: str | float) -> float:
    """Return an option's percentage as a fraction: 0.005 for `0.5%` and for `0.005`, as in ratchet.toml.

    Raises:
        click.BadParameter: it is none from 0 to below 100 %.
    """
    if isinstance(value, float):
        return value
    # Imported here: reading settings brings much more, and the default needs none of it.
    from app.settings.conversions import effect

    text = value.strip()
    try:
        return effect(text if text.endswith("%") else float(text))
    except ValueError as error:
        hint = f"; {error}" if "did you mean" in str(error) else ""
        what = f'{value!r} is no percentage such as "0.5%" (or 0.005), at least 0 and below 100%'
        raise click.BadParameter(f"{what}{hint}") from None
