"""Two hosts that share a store: one is killed in the middle of its work, and the other one finds out what is true."""
