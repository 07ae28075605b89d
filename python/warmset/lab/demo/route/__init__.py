"""`warmset demo --route`: a valuation whose six modules get their contexts from a router.

All texts are generated from a seed, and so are the figures in them, so that it is known by
construction which items a module needs. What is shown is measured in the run that shows it.
"""
