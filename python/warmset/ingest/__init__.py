"""Messages on their way in."""
