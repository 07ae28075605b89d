"""From turns to vectors and rows of the index, off the response path."""
