"""Agents of other frameworks at one travel desk, with scripted models: ``python -m examples.agents.openai_agents``."""
