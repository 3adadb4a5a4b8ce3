"""Ours and the nearest peer, asked by the same client in the same run: `python -m benchmarks peer`; see README.md."""

from benchmarks.peer.side_by_side import figures

__all__ = ["figures"]
