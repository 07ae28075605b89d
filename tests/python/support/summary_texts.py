"""A short talk and a summary of it that passes the audit."""

from __future__ import annotations

TALK = [
    {"role": "user", "content": "Move the ledger to Postgres 16. Never touch src/auth/login.py."},
    {"role": "assistant", "content": "We decided to keep the pool at 12. " + "Some talk. " * 60},
    {"role": "user", "content": "Fine. " + "And more of the same, as ever. " * 40},
    {"role": "assistant", "content": "TODO: write the rollback script for ticket LED-42."},
]
GOOD = "The user moves the ledger to Postgres 16; never touch src/auth/login.py; the pool is 12."
