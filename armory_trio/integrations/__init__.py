"""Where the library meets other people's: each module is imported by whoever uses it, and loads only what it needs."""
