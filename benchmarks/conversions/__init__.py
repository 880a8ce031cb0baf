"""What it costs to offer tools, read calls and word results: ours beside the converters that one would use instead."""
