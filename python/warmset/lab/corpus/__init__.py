"""Transcripts: read from files, stored with vectors, and searched by baseline methods.

The demo and the evaluation share this package. Readers return a `Transcript` for every kind of
file; a `Stage` has it in a store, ready for questions. Nothing here measures or prints.
"""
