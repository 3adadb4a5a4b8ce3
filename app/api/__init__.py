"""The JSON door: one module per noun, one service call per route."""
