"""Short texts of their own beside the conversations: memories, dropped turns, episodes."""
