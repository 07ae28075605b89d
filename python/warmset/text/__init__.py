"""Rule-based extraction from texts: hard facts, dates, questions, decisions."""
