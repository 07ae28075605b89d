"""Summaries."""

from warmset.summarize.losses import Audit, Fact, audit

__all__ = ["Audit", "Fact", "audit"]
