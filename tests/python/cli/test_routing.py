"""``warmset route``: payloads made, made again, and listed."""

from __future__ import annotations

import json

import pytest

from warmset import Memory
from warmset.cli.app import run
from warmset.items import NewItem
from warmset.route import Need, Router, TaskSpec

SPEC = TaskSpec(
    task_type="answer",
    max_context_tokens=500,
    required_memory=(
        Need(type="rule", priority="essential", scope="global"),
        Need(type="conversation", scope="current_session"),
    ),
)
MASTER = bytes(range(32))
MADE = ("answer", "--query", "what about amounts?")


def fill(path, encryption=None):
    with Memory.open(path, embedder="lexical", encryption=encryption) as memory:
        memory.items.put(NewItem(memory_type="rule", memory_id="euro", text="Amounts are in EUR."))
        memory.conversation("talk").append({"role": "user", "content": "Be brief, please."})


@pytest.fixture
def place(tmp_path):
    fill(tmp_path / "store")
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "answer.json").write_text(json.dumps(SPEC.to_json()))
    return tmp_path


@pytest.fixture
def call(capsys, place):
    def call(*tokens, specs=True):
        given = ["--memory", place / "store", *(["--specs", place / "specs"] if specs else [])]
        code = run(["route", *map(str, [*tokens, *given])])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_a_payload_is_shown_and_made_again(call, place):
    code, out, err = call(*MADE, "--conversation", "talk")
    assert (code, err) == (0, "")
    assert "euro" in out
    assert "an essential need names it" in out
    code, listed, _ = call("--records", "--json", specs=False)
    [record] = json.loads(listed)
    assert (code, record["task"], record["conversation"]) == (0, "answer", "talk")
    code, again, _ = call("--replay", record["payload_id"], specs=False)
    assert (code, again) == (0, out)
    with Memory.open(place / "store", embedder="lexical") as memory:
        made = Router(memory).replay(record["payload_id"])
    code, out, _ = call("--replay", record["payload_id"], "--messages", specs=False)
    assert json.loads(out) == made.messages
    code, out, _ = call("--replay", record["payload_id"], "--messages", "--json", specs=False)
    assert json.loads(out) == json.loads(json.dumps(made.to_dict(messages=True)))
    assert json.loads(out)["messages"] == made.messages


def test_records_are_listed_in_lines(call):
    assert call("--records")[:2] == (0, "there are no records of payloads\n")
    call(*MADE)
    call(*MADE, "--conversation", "talk")
    code, out, _ = call("--records")
    newest, oldest = out.splitlines()
    assert code == 0
    assert newest.endswith("2 items, 0 left out, conversation talk")
    assert oldest.endswith("1 items, 0 left out")
    assert call("--records", "--k", "1")[1].splitlines() == [newest]
    assert call("--records", "--conversation", "talk")[1].splitlines() == [newest]
    assert call("other", "--records")[1] == "there are no records of payloads\n"


def test_nothing_is_written_without_a_record(call, place):
    before = {file: file.read_bytes() for file in place.rglob("*") if file.is_file()}
    code, out, _ = call(*MADE, "--no-record", "--json")
    assert (code, json.loads(out)["payload_id"], json.loads(out)["notes"]) == (0, None, [])
    assert {file: file.read_bytes() for file in place.rglob("*") if file.is_file()} == before


def test_the_options_of_a_request_count(call):
    code, out, _ = call(*MADE, "--dialect", "gemini", "--messages")
    assert (code, list(json.loads(out)[0])) == (0, ["role", "parts"])
    code, out, _ = call(*MADE, "--budget", "30", "--json")
    assert (code, json.loads(out)["error"]["type"]) == (1, "BudgetTooSmall")
    code, out, _ = call(*MADE, "--tenant", "other", "--json")
    assert (code, json.loads(out)["error"]["type"]) == (1, "SpecError")


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        ((), "give a task and --query"),
        (("answer",), "give a task and --query"),
        (("--query", "x"), "give a task and --query"),
        ((*MADE, "--k", "3"), "--k is for --records"),
        (("--replay", "x", "--records"), "give either"),
        (("--replay", "x", "--query", "y"), "--replay takes no --query"),
        (("--records", "--budget", "9"), "--records takes no --budget"),
        (("answer", "--replay", "x"), "--replay takes no task"),
        (("--replay", "x", "--conversation", "y"), "--replay takes no task"),
        (("--replay", "x"), "there is no record of a payload 'x'"),
        (("nothing", "--query", "x"), "there is no specification of 'nothing'"),
    ],
)
def test_what_does_not_go_together_is_refused(call, tokens, said):
    code, out, err = call(*tokens)
    assert (code, out) == (1, "")
    assert said in err


def test_a_store_that_is_not_there_is_not_made(tmp_path, capsys):
    assert run(["route", "--records", "--memory", str(tmp_path / "none")]) == 1
    assert "there is no store" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


# --- encryption ----------------------------------------------------------------------------------


@pytest.fixture
def locked(place, capsys):
    """Call the command on an encrypted store; the file `key` has its master key."""

    def call(*tokens):
        code = run(
            ["route", *map(str, tokens), "--memory", str(place / "locked"), "--json"]
            + (["--specs", str(place / "specs")] if tokens[0] == "answer" else [])
        )
        captured = capsys.readouterr()
        return code, json.loads(captured.out)

    (place / "key").write_text(MASTER.hex())
    return call


def test_a_store_with_a_master_key_takes_the_key_in_a_file(locked, place):
    fill(place / "locked", MASTER)
    with_key = ("--key-file", place / "key")
    code, made = locked(*MADE, *with_key)
    assert (code, made["notes"]) == (0, [])
    assert [one["memory_id"] for one in made["context_payload"]] == ["euro"]
    code, [record] = locked("--records", *with_key)
    assert (code, record["payload_id"]) == (0, made["payload_id"])
    assert locked("--replay", made["payload_id"], *with_key) == (0, made)
    for tokens in (MADE, (*MADE, "--no-record"), ("--records",), ("--replay", made["payload_id"])):
        code, failed = locked(*tokens)
        assert code == 1
        assert "master key" in failed["error"]["message"]
    (place / "key").write_bytes(bytes(32))
    assert locked("--records", *with_key)[0] == 1


def test_a_store_with_keys_of_its_own_needs_no_file(locked, place):
    fill(place / "locked", "keys")
    code, made = locked(*MADE)
    assert (code, len(made["context_payload"])) == (0, 1)
    assert len(locked("--records")[1]) == 1
    code, failed = locked("--records", "--key-file", place / "key")
    assert code == 1
    assert "under no master key" in failed["error"]["message"]
