"""The peers of a race of compactions, each in an environment and an interpreter of its own."""

from __future__ import annotations

import sys
from pathlib import Path

from benches.python.compact.material import of_prompt, summary_of
from benches.python.compact.ours import Contestant, Outcome
from benches.python.trim import peers as trim_peers

NEEDS = {
    "langchain": ("langchain==1.4.7",),
    "agent-framework-core": ("agent-framework-core==1.23.0",),
}
SCRIPT = Path(__file__).with_name("contestant.py")
KINDS = {
    "langchain": ("langchain", {}),
    "langchain, all read": ("langchain", {"trim_tokens_to_summarize": None}),
    "agent-framework": ("agent-framework-core", {}),
    "agent-framework, first user": ("agent-framework-core", {"preserve_first_user_group": True}),
}


class Peer(Contestant):
    """A peer in its interpreter; its summaries are written here."""

    def __init__(self, peer):
        self.peer = peer

    def take(self, messages, share, summary_tokens):
        """Send it the list."""
        self._given, self._tokens = messages, summary_tokens
        self.peer.ask({"messages": messages, "share": share, "summary_tokens": summary_tokens})
        self.call(0)

    def call(self, latency):
        """Let it compact, and answer for the model."""
        said = self.peer.ask({"latency": latency})
        while "wanted" in said:
            text = summary_of(of_prompt(said["wanted"]), self._tokens)
            said = self.peer.ask({"summary": text})
        window = [self._given[one] if isinstance(one, int) else one for one in said["kept"]]
        return Outcome(window, said["wall"], said["cpu"], said["held"], said["model_calls"])


def peers(stack, place, versions):
    """Start the peers that are there."""
    out = {}
    for name, (package, options) in KINDS.items():
        try:
            found = trim_peers.Peer(package, place, script=SCRIPT, options=options)
        except trim_peers.NoPeer as reason:
            print(f"skipped {reason}", file=sys.stderr)
            continue
        stack.callback(found.close)
        versions |= found.about["versions"]
        out[name] = Peer(found)
    return out
