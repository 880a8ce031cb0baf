"""Where what must outlive a call is kept. Each store is loaded by those who use it."""
