"""Devices that exist in a script only."""
