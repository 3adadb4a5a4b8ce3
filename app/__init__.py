"""Ratchet's service: it stores, judges and reports; it never measures."""
