"""What this machine has, and what is wrong with it: for `ratchet devices` and `ratchet doctor`."""
