"""Who is talking: the tenant of a key, and the conversation of a list."""

from warmset.serve.proxy.aliases import Alias, Aliases
from warmset.serve.proxy.listed import Listed, listed_of
from warmset.serve.proxy.naming import HeaderError, conversation_of
from warmset.serve.proxy.recognition import Recognised, Recognition, Stored
from warmset.serve.proxy.tenants import ANONYMOUS, Tenants, secret_of

__all__ = [
    "ANONYMOUS",
    "Alias",
    "Aliases",
    "HeaderError",
    "Listed",
    "Recognised",
    "Recognition",
    "Stored",
    "Tenants",
    "conversation_of",
    "listed_of",
    "secret_of",
]
