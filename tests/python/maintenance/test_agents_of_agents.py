"""Agents of agents of Codex, whose rollouts name no more than the agent, or the session."""

from __future__ import annotations

import json

import pytest
from transcript_files import SESSION, ClaudeCode

from warmset import Memory
from warmset.maintenance import Access, erase_conversation, import_transcripts, open_store
from warmset.maintenance.transcripts.target import StoreTarget
from warmset.native import ColdStore
from warmset.store.known import Known

LINES = 2
"""Lines of a rollout here."""


def rollout(files, name, parent=None, session=None):
    """Write the rollout of a session, or of an agent; newer versions say the session, too."""
    meta = {"id": name}
    if parent is not None:
        spawn = {"parent_thread_id": parent, "depth": 1}
        meta["source"] = {"subagent": {"thread_spawn": spawn}}
    if session is not None:
        meta |= {"session_id": session, "parent_thread_id": parent}
    said = [{"type": "input_text", "text": f"Of Ada Lovelace, by {name}"}]
    message = {"type": "message", "role": "user", "content": said}
    lines = [("session_meta", meta), ("response_item", message)]
    file = files / f"rollout-{name}.jsonl"
    file.write_text("".join(json.dumps({"type": k, "payload": p}) + "\n" for k, p in lines))
    return file


def erase(store, name):
    with open_store(Access(path=store), mode="shared") as cold:
        return erase_conversation(cold, "default", name)


def names(store):
    with Memory.open(store, embedder="lexical") as memory:
        return sorted(memory.conversations())


def counts(report):
    return report.new, report.known, report.erased


def test_an_agent_of_an_erased_agent_is_not_imported_and_neither_is_its_own(files, store):
    rollout(files, "root")
    rollout(files, "root-a", "root")
    import_transcripts(store, files)
    assert names(store) == ["root", "root/root-a"]
    erase(store, "root")
    late = rollout(files, "late", "root-a")
    later = rollout(files, "later", "late")
    assert counts(import_transcripts(store, [late, later], dry_run=True)) == (0, 0, 2 * LINES)
    assert counts(import_transcripts(store, late)) == (0, 0, LINES)
    assert counts(import_transcripts(store, later)) == (0, 0, LINES)
    assert counts(import_transcripts(store, files)) == (0, 2 * LINES, 2 * LINES)
    assert names(store) == []


def test_an_agent_of_an_agent_that_is_still_there_is_imported(files, store):
    rollout(files, "other")
    rollout(files, "other-a", "other")
    rollout(files, "root")
    rollout(files, "root-a", "root")
    import_transcripts(store, files)
    erase(store, "other")
    late = rollout(files, "late", "root-a")
    assert counts(import_transcripts(store, late)) == (LINES, 0, 0)
    later = rollout(files, "later", "late")
    with later.open("a") as file:
        file.write('{"type": "event_msg", "payload": {"type": "turn_aborted"}}\n')
    assert counts(import_transcripts(store, later)) == (LINES + 1, 0, 0)
    assert names(store) == ["late/later", "root", "root-a/late", "root/root-a"]
    erase(store, "root")
    assert names(store) == []
    assert import_transcripts(store, files).new == 0


@pytest.mark.parametrize("session", [None, "root"])
def test_an_agent_that_is_erased_leaves_its_session_and_other_agents(session, files, store):
    rollout(files, "root")
    rollout(files, "one", "root", session)
    rollout(files, "two", "root", session)
    import_transcripts(store, files)
    erase(store, "root/one")
    rollout(files, "late-one", "one", session)
    rollout(files, "late-two", "two", session)
    assert counts(import_transcripts(store, files)) == (LINES, 3 * LINES, LINES)
    assert names(store) == ["root", "root/two", "two/late-two"]


def test_what_is_only_named_as_an_erased_agent_is_not_taken_for_it(files, store):
    rollout(files, "root")
    rollout(files, "agent", "root")
    import_transcripts(store, files)
    with Memory.open(store, embedder="lexical") as memory:
        memory.conversation("notes/agent").append({"role": "user", "content": "Mine."})
    erase(store, "root")
    assert counts(import_transcripts(store, rollout(files, "late", "agent"))) == (0, 0, LINES)
    assert names(store) == ["notes/agent"]


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_a_session_may_be_named_as_an_agent_was(host, files, store):
    if host == "codex":
        import_transcripts(store, [rollout(files, SESSION), rollout(files, "main", SESSION)])
    else:
        side = ClaudeCode(agent="main")
        side.user("About Ada Lovelace")
        import_transcripts(store, side.write(files / "side.jsonl"))
    assert f"{SESSION}/main" in names(store)
    erase(store, SESSION)
    other, inner = ClaudeCode("main"), ClaudeCode("main", agent="inner")
    other.user("Another session.")
    inner.user("Its agent.")
    inner.lines += other.lines
    assert import_transcripts(store, inner.write(files / "main.jsonl")).messages == 2
    assert names(store) == ["main", "main/inner"]


def test_an_agent_that_says_its_session_is_not_imported_after_that_was_erased(files, store):
    import_transcripts(store, rollout(files, "root", session="root"))
    erase(store, "root")
    late = rollout(files, "late", "never-seen", session="root")
    assert counts(import_transcripts(store, late)) == (0, 0, LINES)
    later = rollout(files, "later", "late")
    assert counts(import_transcripts(store, later)) == (0, 0, LINES)
    assert names(store) == []


@pytest.mark.parametrize("way", ["memory", "store"])
def test_an_agent_that_says_its_session_is_erased_with_it(way, files, store):
    rollout(files, "root", session="root")
    rollout(files, "deep", "never-seen", session="root")
    rollout(files, "deeper", "deep")
    rollout(files, "other", session="other")
    rollout(files, "kept", "also-never-seen", session="other")
    import_transcripts(store, files)
    if way == "memory":
        with Memory.open(store, embedder="lexical") as memory:
            memory.erase(conversation="root")
    else:
        erase(store, "root")
    assert names(store) == ["also-never-seen/kept", "other"]
    assert import_transcripts(store, files).new == 0


def test_a_session_is_said_where_the_agent_does_not_say_it_already(files, store):
    rollout(files, "root", session="root")
    rollout(files, "one", "root", session="root")
    rollout(files, "two", "one", session="root")
    import_transcripts(store, files)
    with Memory.open(store, embedder="lexical") as memory:
        said = {name: memory.conversation(name).messages()[0].meta for name in names(store)}
    assert said == {
        "root": {"source": "codex"},
        "root/one": {"source": "codex", "side_chain_of": "root"},
        "one/two": {"source": "codex", "side_chain_of": "one", "side_chain_in": "root"},
    }


@pytest.mark.parametrize("session", [None, "root"])
def test_a_session_that_is_erased_before_a_batch_is_written(session, files, store, monkeypatch):
    rollout(files, "root")
    rollout(files, "root-a", "root")
    import_transcripts(store, files)
    late = rollout(files, "late", "root-a" if session is None else "never-seen", session)
    write, tried = StoreTarget.write, []

    def erased_before(target, rows, expect):
        if not tried:
            tried.append(len(rows))
            erase(store, "root")
        return write(target, rows, expect)

    monkeypatch.setattr(StoreTarget, "write", erased_before)
    assert counts(import_transcripts(store, late)) == (0, 0, LINES)
    assert tried
    assert names(store) == []


def test_a_parent_that_goes_on_while_a_batch_is_written(files, store, monkeypatch):
    rollout(files, "root")
    rollout(files, "root-a", "root")
    import_transcripts(store, files)
    late = rollout(files, "late", "root-a")
    write, tried = StoreTarget.write, []

    def goes_on(target, rows, expect):
        tried.append(len(rows))
        if len(tried) == 1:
            with Memory.open(store, embedder="lexical") as memory:
                memory.conversation("root/root-a").append({"role": "user", "content": "More."})
        return write(target, rows, expect)

    monkeypatch.setattr(StoreTarget, "write", goes_on)
    assert counts(import_transcripts(store, late)) == (LINES, 0, 0)
    assert names(store) == ["root", "root-a/late", "root/root-a"]


def test_what_is_noted_of_agents_names_nobody_and_is_noted_once(files, store):
    rollout(files, "ada-lovelace")
    rollout(files, "ada-agent", "ada-lovelace")
    import_transcripts(store, files)
    erase(store, "ada-lovelace")
    late = rollout(files, "ada-late", "ada-agent")
    import_transcripts(store, late)
    with ColdStore.open(store) as cold:
        cold.compact()
        records = cold.stats()["records"]
    data = b"".join(path.read_bytes() for path in store.rglob("*") if path.is_file())
    assert b"ada-" not in data
    import_transcripts(store, late)
    with ColdStore.open(store, mode="read") as cold:
        assert cold.stats()["records"] == records


def test_a_session_that_another_import_stores_while_its_agent_is_judged(files, store, monkeypatch):
    both = [rollout(files, "root"), rollout(files, "root-a", "root")]
    look, looked = Known.look, []

    def looks(known):
        if known.key[1] == b"root":
            looked.append(known)
            if len(looked) == LINES + 2:  # of the agent's lines, of the batch, of the agent in it
                import_transcripts(store, both[0])
        return look(known)

    monkeypatch.setattr(Known, "look", looks)
    assert counts(import_transcripts(store, both)) == (LINES, LINES, 0)
    assert len(looked) > LINES + 2
    with Memory.open(store, embedder="lexical") as memory:
        assert len(memory.conversation("root").messages()) == 1
