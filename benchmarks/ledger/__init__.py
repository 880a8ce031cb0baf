"""What it costs that a call is done once, and known to be after a crash."""
