"""Gemini Interactions: a flat list of steps; input, output, thought, call or result."""
