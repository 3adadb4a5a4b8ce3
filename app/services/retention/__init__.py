"""How long what is kept: the policy, what is left of a run without its raw values, and the pruning itself."""
