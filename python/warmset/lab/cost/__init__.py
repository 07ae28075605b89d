"""The cost table: what whole sessions cost in each mode, with a simulated prompt cache.

The real library makes every list, in memory and without a model; only the prompt cache, the replies
and the clock are simulated. The same seed gives the same figures.
"""
