"""Conversations off a disk: read, kept in a store with vectors, and searched in the plainest ways.

What the demo and the harness share. Readers give a `Transcript`, whatever kind of file it was; a
`Stage` has it in a store, ready to be asked. Nothing here measures or prints.
"""
