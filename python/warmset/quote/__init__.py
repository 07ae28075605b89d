"""How turns stand in a window, and what is read once for that."""
