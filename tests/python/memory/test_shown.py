"""How results show themselves: repr, HTML, JSON; copies and pickles of them need no store."""

from __future__ import annotations

import copy
import json
import pickle
from html.parser import HTMLParser

import pytest

from warmset import Filter, Memory
from warmset.errors import InvalidInputError

WORD = "xylophone"
MARK = "<script>alert('x')</script> & <b>"


def said(role, text):
    return {"role": role, "content": text}


def talk(count):
    tail = " and so on" * 40
    return [
        said("assistant" if at % 2 else "user", f"Boat {at} {MARK} is at quay.{tail} {WORD}")
        for at in range(count)
    ]


@pytest.fixture
def conversation():
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log <i>")
        conversation.append([*talk(40), said("user", "Which boat is at the quay?")])
        yield conversation


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.found, self.open, self.text = set(), [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        assert not attrs
        self.found.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(one):
    """Its HTML, read: only a table's tags, all closed."""
    read = Tags(one._repr_html_())
    assert read.found <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert read.open == []
    return read.text


def test_a_line_has_figures_and_no_text(conversation):
    window, found = conversation.window(budget=2_000), conversation.search("boat")
    for one in (window, window.report, found, found[0]):
        line = repr(one)
        assert line.startswith(f"{type(one).__name__}(")
        assert "\n" not in line
        assert WORD not in line
        assert "Boat" not in line
        assert len(line) < 250
    assert f"{window.tokens:,} of 2,000 tokens" in repr(window)
    assert f"{window.report.turns_sent} of 41 turns" in repr(window.report)
    assert repr(found).startswith("Found(12 hits, by='lexical', ids=[")
    assert repr(found).endswith(", ...])")
    assert repr(conversation.search("zebra")) == "Found(0 hits, by='lexical', ids=[])"


def test_tables_are_escaped(conversation):
    window, found = conversation.window(budget=2_000), conversation.search("boat")
    assert "retrieved" in shown(window)
    assert "tokens in, sent" in shown(window.report)
    assert window.report.notes[0] in shown(window.report)
    assert MARK in shown(found)
    assert "log <i>" in shown(found)
    assert MARK in shown(found[1])
    assert "lexical" in shown(found[1])


def test_dicts_are_plain_json_with_everything(conversation):
    window, found = conversation.window(budget=2_000), conversation.search("boat")
    made = json.loads(json.dumps(window.to_dict()))
    assert made["messages"] == window.messages
    assert made["report"] == json.loads(json.dumps(window.report.to_dict()))
    assert [one["id"] for one in made["report"]["choices"]] == [
        one.id for one in window.report.choices
    ]
    assert made["parts"][0]["name"] == window.parts[0].name
    assert made["synced"] is None
    hits = json.loads(json.dumps(found.to_dict()))
    assert (hits["by"], hits["why"], hits["pending"]) == ("lexical", None, 0)
    assert [one["id"] for one in hits["hits"]] == found.ids
    assert hits["hits"][0] == json.loads(json.dumps(found[0].to_dict()))
    assert hits["hits"][0]["at"] == found[0].at.isoformat()


def pickled(one):
    return pickle.loads(pickle.dumps(one))  # noqa: S301 - our own bytes


@pytest.mark.parametrize("way", [copy.deepcopy, pickled])
def test_copies_and_pickles_need_no_store(way):
    with Memory.open(None, embedder="lexical") as memory:
        window = memory.process(talk(41), conversation="log", budget=2_000)
        conversation = memory.conversation("log")
        found, cut = conversation.search("boat"), conversation.fit(budget=2_000)
        wanted = [window.to_dict(), found.to_dict(), cut.messages, cut.ids, cut.evicted]
        again, hits, kept = way((window, found, cut))
        memory.erase(conversation="log")
    assert [again.to_dict(), hits.to_dict(), kept.messages, kept.ids, kept.evicted] == wanted
    assert again.synced.appended == window.synced.appended
    assert (len(hits), hits[0], hits[-2:]) == (12, hits[0], [hits[10], hits[11]])
    assert len(kept) == len(cut)
    assert again.messages is not window.messages


# --- messages in order ----------------------------------------------------------------------------


def test_a_conversation_is_iterated_in_order_by_pages(conversation, monkeypatch):
    conversation.append(talk(600))
    expected = [(turn.id, dict(turn)) for turn in conversation.fetch(conversation.ids)]
    reads = []
    engine = conversation._handle.live()
    read = engine.messages
    monkeypatch.setattr(engine, "messages", lambda ids: (reads.append(len(ids)), read(ids))[1])
    turns = iter(conversation)
    first = next(turns)
    assert reads == [256]
    conversation.append(said("user", "Later."))
    rest = [(turn.id, dict(turn)) for turn in turns]
    assert [(first.id, dict(first)), *rest] == expected
    assert reads == [256, 256, 641 - 512]
    assert (first.conversation, first.live) == ("log <i>", True)


def test_what_is_erased_meanwhile_is_left_out():
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        ids = conversation.append([said("user", f"Boat {at}.") for at in range(300)])
        turns = iter(conversation)
        next(turns)
        memory.erase(ids=ids[256:299])
        assert [turn.id for turn in turns] == [*ids[1:256], ids[299]]


def test_the_newest_messages_and_those_before_an_id(conversation):
    ids = conversation.ids
    assert [turn.id for turn in conversation.messages()] == ids
    assert [turn.id for turn in conversation.messages(limit=5)] == ids[-5:]
    assert [turn.id for turn in conversation.messages(limit=500)] == ids
    pages, before = [], None
    while page := conversation.messages(limit=7, before=before):
        pages = [*(turn.id for turn in page), *pages]
        before = page[0].id
    assert pages == ids
    assert [turn.id for turn in conversation.messages(before=ids[3])] == ids[:3]
    left = conversation.sync([dict(turn) for turn in conversation.messages()][:10])
    assert left.left == 31
    assert [turn.id for turn in conversation.messages(limit=3)] == ids[7:10]
    assert [turn.id for turn in conversation] == ids[:10]
    assert len(conversation.search("boat", k=99, where=Filter(branches=True))) > 10


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": True}, {"limit": 1.0}, {"before": "1"}])
def test_wrong_limits_are_refused(conversation, wrong):
    with pytest.raises(InvalidInputError):
        conversation.messages(**wrong)
