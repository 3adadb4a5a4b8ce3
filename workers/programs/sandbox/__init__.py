"""The sandbox that code of strangers runs in: level 2 of docs/sandbox.md, by bubblewrap."""
