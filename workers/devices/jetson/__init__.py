"""Jetson boards, by the kernel's files, with the vendor's tools for the rest."""
