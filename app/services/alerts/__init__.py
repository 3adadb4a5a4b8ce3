"""Alerts: what is worse, grouped by its cause, and what people make of it."""
