"""Demos, evaluation, and the conversations that they read."""
