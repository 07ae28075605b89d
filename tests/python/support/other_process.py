"""Lines that run in another process on the same store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SUPPORT = Path(__file__).parent


OTHER = """
import json, sys
sys.path.insert(0, {tests!r})
from bag import Bag
from warmset import Memory
path, options = sys.argv[1], json.loads(sys.argv[2])
embedder = Bag() if options.pop("bag", False) else "lexical"
with Memory.open(path, embedder=embedder, **options) as memory:
    log = memory.conversation("log")
{code}
    memory.flush()
"""


def said(text, role="user"):
    return {"role": role, "content": text}


def other(path, code, **options):
    """Run some lines in another process, with `memory` and `log`; gives what they print."""
    indented = "\n".join(f"    {line}" for line in code.strip().splitlines())
    text = OTHER.format(tests=str(SUPPORT), code=indented)
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-W", "error", "-c", text, str(path), json.dumps(options)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
