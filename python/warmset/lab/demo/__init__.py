"""A conversation on trial: what each method finds in it at equal tokens, and why.

A surface: it reads transcripts, drives the public API, and renders; nothing imports it but the
command line. What is shown is measured in the run that shows it.
"""
