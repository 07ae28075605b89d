"""Trimming with the arguments of langchain-core's `trim_messages`.

Facts of the semantics: langchain-core 1.7, `langchain_core.messages.utils`. The code is our own;
langchain-core need not be installed for dicts.
"""

from warmset.adapters.langchain.api import trim_messages

__all__ = ["trim_messages"]
