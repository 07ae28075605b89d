"""What a text gives away without a model: hard facts, dates, questions, decisions."""
