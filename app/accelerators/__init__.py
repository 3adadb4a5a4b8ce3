"""Device models as data: peak arithmetic by dtype, bandwidth, memory and power, each with its source.

`catalogue.ACCELERATORS` is the list, `lookup.figures_of` the way from what a vendor's tool calls a device to figures of
it. A new model is one entry in the module of its vendor. Nothing here is measured, and nothing is guessed: what the
list does not have is None with a reason.
"""
