"""Other libraries' interfaces over warmset, a file or a folder for each.

`place` has what those over a log share: where the records of an adapter lie, whose encryption key
they have, and what deleting means.
"""
