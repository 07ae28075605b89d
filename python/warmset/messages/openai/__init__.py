"""OpenAI Chat Completions: roles with content, tool calls beside it, results as own messages."""
