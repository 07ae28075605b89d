"""From a request to the messages of one call."""
