"""One store with its index and conversations, shared by every handle on its path."""
