"""Whatever a session of Claude Code looks like, wherever it is cut: the API takes the list."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from transcript_files import SESSION, ClaudeCode, call, result, text

from warmset import Memory
from warmset.maintenance import ImportReport, import_transcripts
from warmset.maintenance.transcripts.lines import LineReading
from warmset.maintenance.transcripts.plain import Plain
from warmset.maintenance.transcripts.rereads import Rereads, files_read
from warmset.messages import validate

STEPS = st.lists(
    st.sampled_from(
        [
            "prompt",
            "reply",
            "call",
            "calls",
            "answer",
            "answer",
            "answer",
            "queued",
            "meta",
            "stray",
            "compacted",
            "back",
            "system",
            "again",
            "side",
            "blank",
        ]
    ),
    max_size=14,
)


def session(steps, rng):  # noqa: C901, PLR0912 - one branch a kind of line
    """A session in which anything follows anything."""
    talk, side = ClaudeCode(), ClaudeCode(agent="a1")
    waiting, prompts = [], []
    replies = calls = 0
    for step in steps:
        if step == "prompt":
            prompts.append(talk.last)
            talk.user(f"prompt {len(talk.lines)}")
        elif step == "reply":
            replies += rng.random() < 0.5
            talk.reply(f"m{replies}", text(f"reply {len(talk.lines)}"))
        elif step in ("call", "calls"):
            for _ in range(1 + (step == "calls")):
                calls += 1
                waiting.append(f"t{calls}")
                talk.reply(f"m{replies}", call(f"t{calls}"))
        elif step == "answer" and waiting:
            talk.user([result(waiting.pop(rng.randrange(len(waiting))))])
        elif step == "queued":
            talk.queued(f"queued {len(talk.lines)}")
        elif step == "meta":
            talk.user(f"meta {len(talk.lines)}", isMeta=True)
        elif step == "stray":
            talk.user([result("nobody")])
        elif step == "compacted":
            talk.compacted(f"summary {len(talk.lines)}")
        elif step == "back" and prompts:
            talk.user(f"back {len(talk.lines)}", parentUuid=rng.choice(prompts))
        elif step == "system":
            talk.line(type="system", subtype="turn_duration", durationMs=len(talk.lines))
        elif step == "again" and talk.lines:
            talk.lines.append(talk.lines[rng.randrange(len(talk.lines))])
        elif step == "side":
            side.user(f"side {len(side.lines)}")
            talk.lines.append(side.lines[-1])
        elif step == "blank":
            talk.user("  ")
    talk.user("the end")
    return talk


def said(turns):
    """Every text, call and result of some messages."""
    return [json.dumps(block) for turn in turns for block in as_blocks(turn["content"])]


def as_blocks(content):
    return [text(content)] if isinstance(content, str) else content


def everything(memory, name):
    """All messages that were ever on a path."""
    found = []
    for id_ in range(1, 400):
        try:
            found.append(memory.conversation(name).fetch(id_))
        except LookupError:
            continue
    return found


def is_made(block):
    return "no result in the transcript" in block


@given(STEPS, st.randoms(use_true_random=False), st.integers(0, 10_000))
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=25, deadline=None)
def test_a_session_that_is_imported_in_two_parts(tmp_path_factory, steps, rng, cut):
    talk = session(steps, rng)
    data = talk.data()
    file = tmp_path_factory.mktemp("files") / "s.jsonl"
    lists = []
    for parts in ([data], [data[: cut % (len(data) + 1)], data]):
        with Memory.open(None, embedder="lexical") as memory:
            for part in parts:
                file.write_bytes(part)
                if part:
                    import_transcripts(memory, file, source="claude-code")
            assert import_transcripts(memory, file, source="claude-code").new == 0
            conversation = memory.conversation(SESSION)
            listed = [dict(turn) for turn in conversation]
            assert [
                one.rule
                for one in validate(listed, dialect="anthropic")
                if one.severity == "refused"
            ] == []
            for mode in ("full", "jit", "steady"):
                window = conversation.window("And now?", budget=100_000, mode=mode)
                shown = validate(window.messages, dialect="anthropic")
                assert [one for one in shown if one.severity == "refused"] == []
            blocks = [one for one in said(everything(memory, SESSION)) if not is_made(one)]
            assert len(blocks) == len(set(blocks))  # nothing twice
            lists.append(set(blocks))
    whole, parted = lists
    assert whole == parted or all("tool_result" in one for one in whole ^ parted)
    texts = {one for one in whole if '"type": "text"' in one}
    given_texts = {
        json.dumps(block)
        for line in talk.lines
        if not line.get("isSidechain")
        for block in spoken(line)
    }
    assert texts == given_texts


def spoken(line):
    content = line.get("message", {}).get("content", line.get("attachment", {}).get("prompt"))
    blocks = as_blocks(content) if content is not None else []
    return [one for one in blocks if one["type"] == "text" and one["text"].strip()]


def imported(talk, tmp_path):
    file = talk.write(tmp_path / "s.jsonl")
    memory = Memory.open(None, embedder="lexical")
    report = import_transcripts(memory, file)
    return memory, report


def contents(memory, name=SESSION):
    return [turn["content"] for turn in memory.conversation(name)]


def test_going_back_begins_a_branch(tmp_path):
    talk = ClaudeCode()
    talk.user("One.")
    first = talk.reply("m1", text("Uno."))
    talk.user("Two.")
    talk.reply("m2", text("Dos."))
    talk.user("Two, but better.", parentUuid=first)
    talk.reply("m3", text("Dos!"))
    memory, report = imported(talk, tmp_path)
    assert contents(memory) == ["One.", [text("Uno.")], "Two, but better.", [text("Dos!")]]
    assert (report.messages, report.unplaced) == (6, 0)
    talk.user("Three.", parentUuid=first)
    talk.write(tmp_path / "s.jsonl")
    import_transcripts(memory, tmp_path / "s.jsonl")
    assert contents(memory) == ["One.", [text("Uno.")], "Three."]


def test_going_back_to_a_line_that_says_nothing_begins_a_branch_there(tmp_path):
    talk = ClaudeCode()
    talk.user("One.")
    talk.reply("m1", text("Uno."))
    end = talk.line(type="system", subtype="turn_duration", durationMs=88947)
    talk.user("Two.")
    talk.reply("m2", text("Dos."))
    talk.user("Two, but better.", parentUuid=end)
    memory, report = imported(talk, tmp_path)
    assert contents(memory) == ["One.", [text("Uno.")], "Two, but better."]
    assert (report.messages, report.unplaced) == (5, 0)


def test_parallel_calls_are_no_branches(tmp_path):
    talk = ClaudeCode()
    talk.user("Both.")
    one = talk.reply("m1", call("t1"))
    two = talk.reply("m1", call("t2"))
    talk.user([result("t2")], parentUuid=two)
    last = talk.user([result("t1")], parentUuid=one)
    talk.user("Go on.", parentUuid=two)
    memory, _ = imported(talk, tmp_path)
    assert contents(memory) == [
        "Both.",
        [call("t1"), call("t2")],
        [result("t2")],
        [result("t1")],
        "Go on.",
    ]
    talk.reply("m2", text("Gone."))
    talk.user("Back to the calls.", parentUuid=last)
    talk.write(tmp_path / "s.jsonl")
    import_transcripts(memory, tmp_path / "s.jsonl")
    assert contents(memory)[3:] == [[result("t1")], "Back to the calls."]


def test_a_call_that_nobody_answered(tmp_path):
    talk = ClaudeCode()
    talk.user("Run it.")
    talk.reply("m1", call("t1"), call("t2"))
    talk.user([result("t2", "done")])
    talk.user("Never mind.")
    talk.user([result("t1", "too late")])
    memory, report = imported(talk, tmp_path)
    made = {"content": "[no result in the transcript]", "is_error": True}
    assert contents(memory) == [
        "Run it.",
        [call("t1"), call("t2")],
        [result("t2", "done")],
        [{**result("t1"), **made}],
        "Never mind.",
    ]
    assert report.kept == {"orphan tool_result": 1}
    [_, _, _, turn, _] = memory.conversation(SESSION).messages()
    assert turn.meta == {"added": "unanswered"}


def test_a_call_at_the_end_may_still_be_answered(tmp_path):
    talk = ClaudeCode()
    talk.user("Run it.")
    talk.reply("m1", call("t1"))
    memory, _ = imported(talk, tmp_path)
    assert contents(memory)[1:] == [[call("t1")]]
    talk.user([result("t1")])
    talk.reply("m1", call("t2"))  # of the same reply
    talk.user([result("t2")])
    talk.write(tmp_path / "s.jsonl")
    import_transcripts(memory, tmp_path / "s.jsonl")
    assert contents(memory)[1:] == [[call("t1")], [call("t2")], [result("t1")], [result("t2")]]


def test_what_the_host_writes_in_the_models_place_is_no_message(tmp_path):
    talk = ClaudeCode()
    talk.user("Hello")
    talk.reply("x1", text("API Error: 401"), isApiErrorMessage=True)
    talk.lines[-1]["message"]["model"] = "<synthetic>"
    talk.reply("x2", text("No response requested."))
    talk.lines[-1]["message"]["model"] = "<synthetic>"
    talk.reply("m1", text("Hi"))
    memory, report = imported(talk, tmp_path)
    assert contents(memory) == ["Hello", [text("Hi")]]
    assert report.kept == {"assistant/error": 1, "assistant/synthetic": 1}


def test_side_chains_of_older_versions_stand_among_the_lines(tmp_path):
    talk = ClaudeCode()
    talk.user("Main")
    main = talk.last
    roots = []
    for n in range(2):
        talk.last = None
        roots.append(talk.user(f"side {n}", isSidechain=True))
        talk.reply(f"s{n}", text(f"side reply {n}"), isSidechain=True)
    talk.reply("m1", text("Main reply"), parentUuid=main)
    memory, report = imported(talk, tmp_path)
    assert report.side_chains == 2
    assert contents(memory) == ["Main", [text("Main reply")]]
    names = [name for name in memory.conversations() if name != SESSION]
    assert [contents(memory, name)[0] for name in names] == ["side 0", "side 1"]
    assert len(set(names)) == 2 or pytest.fail(str(names))


def test_a_resumed_session_that_begins_with_old_lines(tmp_path):
    talk = ClaudeCode()
    talk.user("Old.")
    talk.reply("m1", text("Older."))
    memory, _ = imported(talk, tmp_path)
    resumed = ClaudeCode("5c0ffee0-0000-4000-8000-000000000002")
    resumed.lines = list(talk.lines)
    resumed.user("New.")
    report = import_transcripts(memory, resumed.write(tmp_path / "other.jsonl"))
    assert (report.messages, report.known) == (1, 2)
    assert contents(memory, resumed.session) == ["New."]


@pytest.mark.parametrize(("calls", "rereads"), [(23, 1), (24, 0)])
def test_rereads_count_within_24_calls(calls, rereads, tmp_path):
    talk = ClaudeCode()
    talk.user("Work.")
    for n, path in enumerate(["/a", "/b"]):
        talk.reply(f"r{n}", call(f"r{n}", file_path=path))
        talk.user([result(f"r{n}")])
    talk.compacted()
    for n in range(calls):
        talk.reply(f"m{n}", call(f"t{n}", "Bash", command="cat /new && make"))
        talk.user([result(f"t{n}")])
    talk.reply("z", call("z", "Bash", command="head -n 20 /a | grep x"))
    talk.user([result("z")])
    talk.reply("y", call("y", file_path="/a"))  # once more does not count again
    talk.user([result("y")])
    memory, report = imported(talk, tmp_path)
    memory.close()
    assert (report.compactions, report.calls, report.rereads) == (1, calls + 4, rereads)


def test_a_file_that_is_read_twice_again_counts_once():
    report = ImportReport()
    calls = Rereads(report)
    calls.called("Read", {"file_path": "/a"})
    calls.compacted()
    for _ in range(2):
        calls.called("Read", {"file_path": "/a"})
    assert report.rereads == 1
    assert [*files_read("Bash", {"command": "sed -i s/a/b/ x.py"})] == []
    assert [*files_read("Bash", {"command": "sed -n 1,5p x.py"})] == ["x.py"]


def test_a_message_with_two_results_for_one_call_is_none(tmp_path):
    talk = ClaudeCode()
    talk.user("Look.")
    talk.reply("m1", call("t1"))
    talk.user([result("t1"), result("t1")])
    talk.user("And?")
    with Memory.open(None, embedder="lexical") as memory:
        report = import_transcripts(memory, talk.write(tmp_path / "s.jsonl"))
        assert report.kept["orphan tool_result"] == 1
        assert report.messages == 4  # the call has a result that says that there is none


def test_what_was_said_while_tools_ran_is_stored_though_they_never_end(tmp_path):
    talk = ClaudeCode()
    talk.user("Look.")
    talk.reply("m1", call("t1"))
    talk.queued("And the door?")
    with Memory.open(None, embedder="lexical") as memory:
        import_transcripts(memory, talk.write(tmp_path / "s.jsonl"))
        said = [turn["content"] for turn in memory.conversation(SESSION)]
        assert len(said) == 4
        assert "And the door?" in str(said[-1])


def test_a_piece_of_a_reply_that_was_written_twice_is_there_once(tmp_path):
    talk = ClaudeCode()
    talk.user("Look.")
    talk.reply("m1", text("I look."))
    talk.lines.append(talk.lines[-1])
    with Memory.open(None, embedder="lexical") as memory:
        report = import_transcripts(memory, talk.write(tmp_path / "s.jsonl"))
        assert (report.messages, report.known) == (2, 1)
        assert memory.conversation(SESSION).messages()[-1]["content"] == [text("I look.")]


def test_a_prompt_behind_results_and_what_was_queued_meanwhile_begins_no_branch(tmp_path):
    talk = ClaudeCode()
    talk.user("Look.")
    reply = talk.reply("m1", call("t1"))
    talk.queued("And the door?")
    answered = talk.user([result("t1")], parentUuid=reply)
    talk.user("Well?", parentUuid=answered)
    with Memory.open(None, embedder="lexical") as memory:
        import_transcripts(memory, talk.write(tmp_path / "s.jsonl"))
        said = [str(turn["content"]) for turn in memory.conversation(SESSION)]
        assert len(said) == 5
        assert "And the door?" in said[3]
        assert said[4] == "Well?"


def test_an_error_of_the_api_is_no_reply(tmp_path):
    talk = ClaudeCode()
    talk.user("Look.")
    talk.reply("m1", text("API Error: 529"), isApiErrorMessage=True)
    with Memory.open(None, embedder="lexical") as memory:
        report = import_transcripts(memory, talk.write(tmp_path / "s.jsonl"))
        assert (report.messages, report.kept) == (1, {"assistant/error": 1})


def test_a_file_that_did_not_grow_brings_nothing(tmp_path):
    file = tmp_path / "s.jsonl"
    file.write_text('{"role": "user", "content": "Look."}\n')
    reading = LineReading(file, Plain("s", ImportReport()))
    assert [len([*reading.items()]) for _ in range(2)] == [1, 0]
