"""Anthropic Messages: roles, and blocks for text, calls and results."""
