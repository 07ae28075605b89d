"""Compactions that come back with an ordinary reply: the window follows the provider."""

from __future__ import annotations

import pytest

from warmset import Memory

LINE = "crane seven lifted the steel that the harbour master had counted before noon "
DAY = 1_790_000_000.0
WHY = "the provider had compacted the messages before"


class Talk:
    """A conversation in which the provider compacts by itself, in some replies."""

    def __init__(self, dialect):
        self.dialect, self.count, self.made = dialect, 0, []
        self.memory = Memory.open(None, embedder="lexical")
        self.chat = self.memory.conversation("log")
        self.say({"role": "user", "content": "The task: count crates."})

    def say(self, messages, **given):
        """Append, always on the same day: what a day's heading takes decides what is quoted."""
        self.chat.append(messages, at=DAY + 60 * self.count, **given)

    def reply(self, *, compacts):
        n = self.count
        text = f"answer {n}: {LINE}"
        if self.dialect == "anthropic":
            found = [{"type": "compaction", "content": f"Summary {n}."}] if compacts else []
            found += [{"type": "thinking", "thinking": "hm", "signature": f"s{n}"}]
            return [{"role": "assistant", "content": [*found, {"type": "text", "text": text}]}]
        found = [{"type": "compaction", "id": f"cmp_{n}", "encrypted_content": "e"}]
        said = {"type": "message", "id": f"msg_{n}", "role": "assistant"}
        return [
            *(found if compacts else []),
            {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": f"s{n}"},
            said | {"content": [{"type": "output_text", "text": text, "annotations": []}]},
        ]

    def turn(self, *, compacts=False):
        self.count += 1
        if self.count > 1:
            self.say({"role": "user", "content": f"question {self.count}: {LINE * 2}"})
        window = self.chat.window(
            budget=2_000, mode="steady", dialect=self.dialect, model="m", system="Be brief."
        )
        self.say(self.reply(compacts=compacts), window=window)
        return window


@pytest.fixture(params=["anthropic", "responses"])
def talk(request):
    made = Talk(request.param)
    with made.memory:
        yield made


def test_the_next_list_begins_with_the_newest_compaction_and_keeps_the_thinking(talk):
    for at in range(1, 16):
        made = talk.turn(compacts=at in (6, 10))
        assert not made.report.epoch.began or at == 1
    assert "count crates" in str(made.messages), "nothing leaves before the swap"
    while not (made := talk.turn()).report.epoch.began:
        before = made
    assert made.report.epoch.why == WHY
    assert made.report.thinking.removed == ()
    assert 0 < made.report.thinking.kept < before.report.thinking.kept
    compacted = [one for one in made.messages if "compaction" in str(one)]
    assert len(compacted) == 1
    place = made.messages.index(compacted[0])
    assert place == (1 if talk.dialect == "responses" else 0)
    assert "count crates" not in str(made.messages)
    assert "extra_headers" not in (made.anthropic() if talk.dialect == "anthropic" else {})
    again = talk.turn()
    assert again.messages[: len(made.messages)] == made.messages
    assert again.report.thinking.removed == ()
    assert again.report.thinking.kept == made.report.thinking.kept + 1
    assert talk.chat.messages(limit=200)[0]["content"] == "The task: count crates."


def test_a_compaction_that_leaves_too_much_is_not_begun_with(talk):
    talk.turn()
    talk.turn(compacts=True)
    while not (made := talk.turn()).report.epoch.began:
        pass
    assert made.report.epoch.why == "the list came near the budget"
    assert "count crates" in str(made.messages)
