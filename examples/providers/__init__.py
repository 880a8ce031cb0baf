"""One whole tool loop for each provider, with a scripted model: ``python -m examples.providers.openai_chat``."""
