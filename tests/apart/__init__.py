"""Adapters whose frameworks do not share the environment of the other tests."""
