"""From a question to ranked turns."""
