"""One conversation in memory: branches, costs, what was chosen and sent."""
