"""Token counts of texts and lists of messages, with their accuracy.

What this package promises:

- Text under a bundled vocabulary is counted exactly. What a provider adds by its own formula
  (roles, calls, schemas, images) is an estimate with a stated error.
- All five dialects are counted by what reaches the model: ids, signatures, encrypted and base64
  data never count as text.
- A list's total is its overhead and the sum of its messages' costs.
- A caller's function or a provider's count endpoint overrides all formulas, and `Calibration`
  learns from the usage that it reports.

No function here changes its arguments, and only an endpoint's client uses the network.
"""

from warmset.tokens.authority import (
    Counter,
    CounterLike,
    CountFunction,
    Vocabulary,
    counter,
)
from warmset.tokens.calibrate import Calibration
from warmset.tokens.endpoints import (
    Endpoint,
    anthropic_counter,
    gemini_counter,
    interactions_counter,
    openai_counter,
)
from warmset.tokens.images import image_tokens
from warmset.tokens.media import image_size
from warmset.tokens.number import (
    ESTIMATE_ERROR,
    FORMULA_ERROR,
    MEDIA_ERROR,
    PER_CALL,
    PER_FILE,
    PER_IMAGE,
    PER_MESSAGE,
    PER_NAME,
    PER_REPLY,
    TokenCount,
)
from warmset.tokens.older_counts import chars4, words13
from warmset.tokens.totals import count_tokens, extra_tokens, known_encoding, message_tokens

__all__ = [
    "ESTIMATE_ERROR",
    "FORMULA_ERROR",
    "MEDIA_ERROR",
    "PER_CALL",
    "PER_FILE",
    "PER_IMAGE",
    "PER_MESSAGE",
    "PER_NAME",
    "PER_REPLY",
    "Calibration",
    "CountFunction",
    "Counter",
    "CounterLike",
    "Endpoint",
    "TokenCount",
    "Vocabulary",
    "anthropic_counter",
    "chars4",
    "count_tokens",
    "counter",
    "extra_tokens",
    "gemini_counter",
    "image_size",
    "image_tokens",
    "interactions_counter",
    "known_encoding",
    "message_tokens",
    "openai_counter",
    "words13",
]
