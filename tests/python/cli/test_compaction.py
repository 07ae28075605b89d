"""``warmset compact | history``: what they print, keep and refuse."""

from __future__ import annotations

import io
import json
import re
import sys
import unicodedata

import pytest
from vectors_by_word import WordEmbedder

from warmset import Memory, PreparedCompaction, count_tokens
from warmset.cli.app import run


@pytest.fixture
def call(capsys):
    def call(*tokens):
        code = run([str(token) for token in tokens])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def talk(n=30):
    roles = ("user", "assistant")
    return [
        {"role": roles[at % 2], "content": f"We keep part {at} in the shed. " + f"word{at} " * 9}
        for at in range(n)
    ]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(talk()))
    return path


def test_a_list_is_compacted_and_told(file, call):
    code, out, err = call("compact", file, "--words-only")
    assert (code, err) == (0, "")
    assert "of 30 messages dropped" in out
    assert "without similarity: there is no embedder" in out
    assert "We keep part 1" in out
    code, out, _ = call("compact", file, "--words-only", "--json", "--ratio", "0.3")
    found = json.loads(out)
    assert code == 0
    assert found["stats"]["after_tokens"] <= found["stats"]["budget"]
    gone = {drop["id"] for drop in found["dropped"]}
    assert found["messages"] == [one for at, one in enumerate(talk()) if at not in gone]
    assert found["episode"] is None
    code, out, _ = call("compact", file, "--words-only", "--budget", "5")
    assert code == 0
    assert "over the budget" in out


@pytest.mark.parametrize(("stay", "more"), [(9, "and 1 more"), (10, None)])
def test_twenty_dropped_turns_are_listed_and_the_rest_is_counted(tmp_path, call, stay, more):
    same = [{"role": one["role"], "content": "one word " * 9} for one in talk()]
    path = tmp_path / "same.json"
    path.write_text(json.dumps(same))
    budget = count_tokens(same[:stay])
    tokens = ("compact", path, "--words-only", "--budget", budget)
    gone = json.loads(call(*tokens, "--json")[1])["dropped"]
    assert len(gone) == len(same) - stay
    out = call(*tokens)[1]
    assert out.count("user  ") + out.count("assistant  ") == 20
    assert (" more; " in out) == (more is not None)
    assert more is None or f"{more}; --json lists all" in out


def test_lines_and_standard_input_are_read(tmp_path, call, monkeypatch):
    lines = "".join(json.dumps(one) + "\n" for one in talk())
    path = tmp_path / "talk.jsonl"
    path.write_text(lines)
    _, first, _ = call("compact", path, "--words-only", "--json")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    code, second, _ = call("compact", "-", "--words-only", "--json")
    assert code == 0
    assert json.loads(first)["messages"] == json.loads(second)["messages"]


def test_a_memory_keeps_what_leaves_and_has_it_on_record(file, tmp_path, call):
    store = tmp_path / "store"
    tokens = ("--memory", store, "--words-only")
    code, out, _ = call("compact", file, *tokens, "--distill", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["stats"]["distilled"] == len(found["dropped"]) > 5
    code, out, _ = call("compact", file, *tokens, "--distill", "--conversation", "a")
    assert "distilled: " in out
    with Memory.open(store, embedder="lexical") as memory:
        for drop in found["dropped"]:
            assert memory.restore(drop["handle"]) == talk()[drop["id"]]
        assert len(memory.episodes()) == 2
        last = memory.episodes()[1]
    code, out, err = call("history", store, "--json")
    rows = json.loads(out)
    assert (code, err) == (0, "")
    assert [row["id"] for row in rows] == [found["episode"], last.id]
    assert [row["conversation"] for row in rows] == [None, "a"]
    assert rows[0]["dropped"] == len(found["dropped"])
    code, out, _ = call("history", store)
    assert code == 0
    assert "2 on record" in out
    assert f"{rows[0]['before_tokens']:,}" in out
    assert "1 on record" in call("history", store, "--conversation", "a")[1]
    assert "no compaction" in call("history", store, "--tenant", "other")[1]
    assert call("compact", file, *tokens, "--tenant", "other")[0] == 0
    assert "1 on record" in call("history", store, "--tenant", "other")[1]
    assert "2 on record" in call("history", store, "--tenant", "default")[1]


def test_prepared_summaries_are_on_record_too(tmp_path, call):
    store = tmp_path / "store"
    policy = PreparedCompaction(trigger_ratio=0.3, deadline=30.0)
    with Memory.open(store, embedder="lexical", compaction=policy) as memory:
        log = memory.conversation("a")
        log.append(talk() * 3)
        log.window(
            budget=memory.conversation("a").window(budget=10**6).report.tokens_in, mode="full"
        )
        log.append([{"role": "user", "content": "And now? " * 60}])
        log.window(budget=log.window(budget=10**6).report.tokens_in - 20, mode="full")
    with Memory.open(store, embedder="lexical") as memory:
        episodes = memory.episodes()
    assert {one.what for one in episodes} == {"prepared", "applied"}
    code, out, _ = call("history", store, "--json")
    rows = json.loads(out)
    assert [(row["id"], row["what"]) for row in rows] == [(one.id, one.what) for one in episodes]
    assert code == 0
    code, out, _ = call("history", store)
    assert "prepared" in out
    assert f"{len(episodes)} on record" in out


def test_what_cannot_be_is_an_error_in_one_line(file, tmp_path, call):
    for tokens, why in (
        (("compact", file, "--words-only", "--distill"), "--memory"),
        (("compact", file, "--words-only", "--ratio", "2"), "target_ratio"),
        (("compact", tmp_path / "none.json", "--words-only"), "none.json"),
        (("history", tmp_path / "nothing"), "no store"),
    ):
        code, out, err = call(*tokens)
        assert (code, out) == (1, "")
        assert why in err
        assert err.count("\n") == 1
    assert not (tmp_path / "nothing").exists()


def test_vectors_take_part_where_there_is_a_model(file, call, monkeypatch):
    monkeypatch.setattr("warmset.compact.scores.named", lambda _name: WordEmbedder())
    code, out, _ = call("compact", file, "--query", "word3", "--json")
    stats = json.loads(out)["stats"]
    assert code == 0
    assert (stats["embedding"], stats["embedder"]) == (True, "words")
    assert stats["signals"] == ["role", "recency", "similarity", "coverage"]


def test_a_turn_orders_a_terminal_about_as_little_as_its_width_hides_numbers(
    tmp_path, call, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")
    evil = "\x1b[2J\x1b]0;title\x07\x9b1m\u202eback [bold]bold[/bold] "
    path = tmp_path / "talk.json"
    given = [{"role": one["role"], "content": evil + one["content"]} for one in talk()]
    path.write_text(json.dumps(given))
    code, out, _ = call("compact", path, "--words-only", "--ratio", "0.3")
    assert code == 0
    assert "[2J" in out
    assert not [one for one in out if one != "\n" and unicodedata.category(one) in ("Cc", "Cf")]
    assert re.search(
        r"^ *1 +assistant +0\.\d\d +0\.13 +0\.50 +0\.00 +\ufffd\[2J", out, re.MULTILINE
    )
