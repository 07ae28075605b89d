"""What windows, fits and compactions were, so that a change of what makes them is seen."""
