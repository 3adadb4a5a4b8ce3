"""Colours that people with any colour vision tell apart, and what they mean.

The eight colours are those of Okabe and Ito (2008, "Color universal design"). Blue is as it should be, orange wants a
look, vermilion wants somebody now; nothing is told by colour alone. Where it is not known beforehand which lines a
panel has, each is coloured by its last value from blue over yellow to red, and told apart by its legend.
"""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.models import dashboard as model

BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PINK, YELLOW, GREY = "#56B4E9", "#CC79A7", "#F0E442", "#8C8C8C"
EIGHT = (BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, YELLOW, GREY)

GOOD, WATCH, WORRY = BLUE, ORANGE, VERMILION

Colours = dict[str, str]
"""Name of a line, or a regular expression between slashes -> colour."""

OF_GPU: Colours = {f"/gpu {number}\\b/": colour for number, colour in enumerate(EIGHT)}
"""A host has eight GPUs at most, almost everywhere; those beyond are coloured by their value."""


def thresholds(*steps: tuple[float, str], below: str = GOOD) -> build.ThresholdsConfig:
    """Return steps of a value, each with the colour from there on; `below` is the colour under the first one."""
    first = model.Threshold(value=None, color=below)
    others = [model.Threshold(value=value, color=colour) for value, colour in steps]
    return build.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps([first, *others])


def fixed(colour: str) -> model.DynamicConfigValue:
    """Return the property that gives a line this colour."""
    return model.DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": colour})


def by_value() -> build.FieldColor:
    """Return the colours of lines that are not known by name."""
    return (
        build.FieldColor()
        .mode(model.FieldColorModeId.CONTINUOUS_BL_YL_RD)
        .series_by(model.FieldColorSeriesByMode.LAST)
    )
