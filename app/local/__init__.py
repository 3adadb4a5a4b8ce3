"""The whole service on one machine: its data folder, its processes, and their order of life."""
