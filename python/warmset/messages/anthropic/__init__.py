"""Anthropic Messages: two roles, and blocks for text, calls and results; system stands outside."""
