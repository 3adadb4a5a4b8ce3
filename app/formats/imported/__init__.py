"""Histories that other tools kept: one module a format, each from a parsed document to what was measured."""
