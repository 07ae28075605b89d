"""What a provider answered, as the messages that a client would send back the next time.

```text
bytes of an answer ─▶ body or events ─▶ draft of the surface ─▶ reply
```

What this package promises:

- It only reads copies of the bytes, in pieces of any size; how they are cut changes nothing.
- No bytes raise an exception: an answer that cannot be read gives a reply without messages.
- The messages of a reply are well-formed in its dialect, and later bytes do not change them.
- Of a stream that broke, only what was finished counts; at most `limit` bytes are read.
"""

from warmset.serve.replies.assembler import LIMIT, assembler_for
from warmset.serve.replies.reply import Assembler, Reply, Surface

__all__ = ["LIMIT", "Assembler", "Reply", "Surface", "assembler_for"]
