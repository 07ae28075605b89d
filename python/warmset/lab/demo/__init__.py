"""The demo: what each method finds in a conversation at equal tokens, and why.

It reads transcripts, calls the public API, and renders; only the command line imports it. All
figures are measured in the run that shows them.
"""
