"""The harness: what a retriever puts into a window, measured on questions with known evidence.

Conversations are kept through `Conversation.append` and asked through `Conversation.search` and
`Conversation.window`, as any caller would; measures need no model unless stated. The same input
gives the same figures, apart from times.
"""
