"""Gemini contents: the user and the model, and parts for text, calls and responses."""
