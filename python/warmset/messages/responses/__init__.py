"""OpenAI Responses: a flat list of items; messages, reasoning, calls and outputs each are one."""
