"""``warmset doctor | verify | erase | export | import``: what they print, change and return."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading

import pytest
from cold_rows import everything, payloads, row, segments

from warmset import Memory, compact_context
from warmset.cli.app import run
from warmset.errors import Erased
from warmset.native import ColdStore

MASTER = bytes(range(32))


def said(text, role="user"):
    return {"role": role, "content": text}


@pytest.fixture
def path(tmp_path):
    """A store with two conversations of one tenant and one of another."""
    for tenant, names in (("default", ["plans", "\ud800"]), ("other", ["plans"])):
        with Memory.open(tmp_path / "store", embedder="lexical", tenant=tenant) as memory:
            for name in names:
                memory.conversation(name).append([said(f"SECRET {n}") for n in range(3)])
    return tmp_path / "store"


@pytest.fixture
def call(capsys):
    """Run a command line; gives its exit code, standard output and standard error."""

    def call(*tokens):
        code = run([str(token) for token in tokens])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def image(path):
    """Every file of a store with its bytes and its time."""
    files = [file for file in path.rglob("*") if file.is_file()]
    return {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


# --- doctor --------------------------------------------------------------------------------------


def test_a_healthy_store(path, call):
    before = image(path)
    code, out, err = call("doctor", path)
    assert (code, err) == (0, "")
    assert "3 conversations of 2 tenants" in out
    assert "9 records: 9 turn" in out
    assert "not encrypted" in out
    assert out.endswith("nothing is wrong\n")
    code, out, _ = call("doctor", path, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["healthy"] is True
    assert found["records"] == {"turn": 9}
    assert (found["conversations"], found["tenants"], found["segments"]) == (3, 2, 1)
    assert found["bytes"] == sum(file.stat().st_size for file in segments(path))
    assert (found["next_id"], found["durable_id"]) == (10, 9)
    assert (found["aside"], found["spooled"], found["damages"]) == ({}, [], [])
    assert image(path) == before


def test_what_was_set_aside_spooled_and_erased_is_told_and_is_not_wrong(path, call):
    (segment,) = segments(path)
    with segment.open("ab") as file:
        file.write(b"torn tail")
    with ColdStore.open(path, on_busy="spool", lock_wait=0.0) as store:
        store.erase(records=[1])
        with segments(path)[-1].open("ab") as file:
            file.write(b"torn again")
    with ColdStore.open(path, on_busy="spool", lock_wait=0.0) as store:
        owner = ColdStore.open(path, mode="exclusive")
        store.append_or_spool([row()])
        before = image(path)
        code, out, _ = call("doctor", path, "--json")
        assert image(path) == before
        owner.close()
    found = json.loads(out)
    assert (code, found["problems"]) == (0, [])
    assert list(found["aside"].values()) == [10]
    assert len(found["spooled"]) == 1
    assert (found["erasures"], found["pending"]) == (1, 1)


def test_damage_is_wrong(path, call):
    (segment,) = segments(path)
    data = bytearray(segment.read_bytes())
    data[data.index(b"SECRET 1")] ^= 1
    segment.write_bytes(data)
    before = image(path)
    for command in ("doctor", "verify"):
        code, out, _ = call(command, path)
        assert code == 1
        assert segment.name in out
        assert "#2 to #2" in out
        code, out, _ = call(command, path, "--json")
        (damage,) = json.loads(out)["damages"]
        assert (code, damage["seqs"], damage["kind"]) == (1, [2, 2], "corrupt")
    code, out, err = call("export", path)
    assert (code, len(out.splitlines())) == (1, 9)
    assert "1 damaged places left out" in err
    out_file = path.parent / "export.jsonl"
    code, out, _ = call("export", path, "--out", out_file, "--json")
    assert (code, json.loads(out)["damages"]) == (1, 1)
    assert image(path) == before


@pytest.mark.parametrize("command", ["doctor", "verify", "export"])
def test_where_there_is_no_store_none_is_made(command, tmp_path, call):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    for place in ("none", "notes"):
        code, out, err = call(command, tmp_path / place)
        assert (code, out) == (1, "")
        assert place in err
    assert [p.name for p in tmp_path.iterdir()] == ["notes"]
    assert [p.name for p in (tmp_path / "notes").iterdir()] == ["mine.txt"]


def test_what_was_set_aside_is_called_no_more_than_that(path, call):
    (path / "torn").mkdir(exist_ok=True)
    (path / "torn" / "some").write_bytes(b"1234")
    code, out, _ = call("doctor", path)
    assert code == 0
    assert "set aside by recovery: some, 4 bytes" in out
    assert "acknowledged" not in out


@pytest.mark.parametrize(
    "harm",
    [
        lambda _data: b"",
        lambda data: data[:63],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data: data[:30] + bytes([data[30] ^ 1]) + data[31:],
    ],
)
def test_a_batch_that_waits_and_cannot_be_read_is_wrong(harm, path, call):
    with (
        ColdStore.open(path, mode="exclusive"),
        ColdStore.open(path, on_busy="spool", lock_wait=0.0) as store,
    ):
        store.append_or_spool([row(), row(bytes(5000))])
        store.append_or_spool([row()])
    first, second = sorted((path / "spool").glob("*.spl"))
    assert json.loads(call("doctor", path, "--json")[1])["unreadable"] == []
    first.write_bytes(harm(first.read_bytes()))
    code, out, _ = call("doctor", path)
    assert code == 1
    assert f"spool/{first.name}: it is no whole batch" in out
    assert second.name not in out
    found = json.loads(call("doctor", path, "--json")[1])
    assert (found["healthy"], found["unreadable"]) == (False, [first.name])


@pytest.mark.parametrize("harm", ["corrupt", "truncated", "missing"])
@pytest.mark.parametrize("locked", [False, True])
def test_every_damage_is_wrong_behind_records_without_a_key_too(harm, locked, tmp_path, call):
    path = tmp_path / "store"
    with ColdStore.open(path, encryption="keys" if locked else None, segment_bytes=4096) as store:
        for _ in range(9):
            store.append([row(bytes(1000))])
    for key in (path / "keys").glob("*.key"):
        key.unlink()
    assert call("doctor", path)[0] == int(locked)
    middle = segments(path)[1]
    data = middle.read_bytes()
    if harm == "missing":
        middle.unlink()
    else:
        half = len(data) // 2
        middle.write_bytes(data[:half] + (b"\xff" * 8 + data[half + 8 :]) * (harm == "corrupt"))
    code, out, _ = call("doctor", path, "--json")
    found = json.loads(out)
    assert (code, found["healthy"]) == (1, False)
    assert found["damages"]
    assert len(found["problems"]) == len(found["damages"]) + locked


# --- verify --------------------------------------------------------------------------------------


def test_verify_reads_every_byte(path, call):
    code, out, err = call("verify", path)
    assert (code, err) == (0, "")
    size = sum(file.stat().st_size for file in segments(path))
    assert out == f"9 records in {size:,} bytes are intact; 0 damages\n"
    code, out, _ = call("verify", path, "--json")
    assert (code, json.loads(out)) == (0, {"records": 9, "bytes": size, "locked": 0, "damages": []})


# --- erase ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("compact", [True, False])
def test_erase_takes_one_conversation(compact, path, call):
    flag = "--compact" if compact else "--no-compact"
    for name in ("index", "index.7-0.new"):
        (path / name).write_bytes(b"words")
    code, out, _ = call("erase", path, "--conversation", "plans", flag, "--yes")
    assert code == 0
    assert out.startswith("erased 3 records, 0 made from them, 0 keys\n")
    assert [one.name for one in path.glob("index*")] == ["index.lock"]
    with ColdStore.open(path, mode="read") as store:
        assert {record.key for record in everything(store)} == {
            (b"default", b"\xed\xa0\x80"),
            (b"other", b"plans"),
        }
        assert store.erasure_report()["pending"] == (0 if compact else 3)
    if not compact:
        code, out, _ = call("erase", path, "--conversation", "plans", "--yes")
        assert code == 0
        assert "1 files anew" in out
    code, _, err = call("erase", path, "--conversation", "plans", "--yes")
    assert code == 1
    assert "has no conversation 'plans'" in err
    code, _, _ = call("erase", path, "--conversation", "plans", "--tenant", "other", "--yes")
    assert code == 0
    code, _, _ = call("erase", path, "--conversation", "\ud800", "--yes")
    assert code == 0
    assert b"SECRET" not in b"".join(data for data, _ in image(path).values())


@pytest.mark.parametrize(("answer", "gone"), [("y\n", 3), ("YES\n", 3), ("n\n", 0), ("\n", 0)])
def test_erase_asks(answer, gone, path, call, monkeypatch):
    reader, writer = os.pipe()
    os.write(writer, answer.encode())
    os.close(writer)
    with os.fdopen(reader) as file:
        monkeypatch.setattr(sys, "stdin", file)
        code, out, _ = call("erase", path, "--conversation", "plans")
    assert code == (0 if gone else 1)
    assert "'plans' of 'default'" in out
    with ColdStore.open(path) as store:
        assert len(everything(store)) == 9 - gone


def test_nobody_to_ask_is_a_no(path, call, monkeypatch):
    with open(os.devnull) as nobody:  # noqa: PTH123 - a stream, not a path
        monkeypatch.setattr(sys, "stdin", nobody)
        code, out, _ = call("erase", path, "--conversation", "plans")
    assert code == 1
    assert "nothing was erased" in out


def dropped(memory, texts):
    """Let a compaction of a list that is no conversation store copies of messages."""
    more = [said(text) for text in ("The task.", *texts, *(f"more {n}" for n in range(9)))]
    made = compact_context(more, target_ratio=0.05, memory=memory)
    return [one.handle for one in made.dropped]


@pytest.mark.parametrize("cipher", [None, "keys"])
def test_erase_takes_the_copies_that_a_compaction_stored(cipher, tmp_path, call):
    path = tmp_path / "store"
    with Memory.open(path, embedder="lexical", encryption=cipher) as memory:
        memory.conversation("plans").append([said("SECRET one"), said("both say it")])
        memory.conversation("other").append([said("both say it")])
        handles = dropped(memory, ["SECRET one", "both say it", "nobody else"])
    with Memory.open(path, embedder="lexical", encryption=cipher, tenant="b") as memory:
        theirs = dropped(memory, ["SECRET one"])
    code, out, _ = call("erase", path, "--conversation", "plans", "--yes")
    assert code == 0
    assert out.startswith("erased 2 records, 1 made from them,")
    with Memory.open(path, embedder="lexical", encryption=cipher) as memory:
        with pytest.raises(Erased):
            memory.restore(handles[0])
        rest = [memory.restore(one)["content"] for one in handles[1:]]
        assert rest[:2] == ["both say it", "nobody else"]
    with Memory.open(path, embedder="lexical", encryption=cipher, tenant="b") as memory:
        assert memory.restore(theirs[0]) == said("SECRET one")
    code, _, _ = call("erase", path, "--conversation", "other", "--yes")
    with Memory.open(path, embedder="lexical", encryption=cipher) as memory:
        assert memory.restore(handles[2]) == said("nobody else")
        with pytest.raises(Erased):
            memory.restore(handles[1])


def lines_with_secret(text):
    return f"LINE {text}"


@pytest.mark.parametrize(
    ("options", "hidden"),
    [
        (("--redact", "secret_hook:hide"), 7),
        ((), 0),
    ],
)
def test_an_import_is_redacted(options, hidden, tmp_path, call, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "secret_hook.py").write_text(
        "def hide(text):\n    return text.replace('SECRET', '[hidden]')\n"
    )
    source, target, file = tmp_path / "source", tmp_path / "target", tmp_path / "file"
    with Memory.open(
        source, embedder="lexical", private_tags=False, summary_line=lines_with_secret
    ) as memory:
        memory.conversation("log").append(
            [said("a SECRET"), said("b", "assistant")], speaker="SECRET", meta={"SECRET": "SECRET"}
        )
        memory.conversation("log").append(said("c <private>PRIVATE</private>"))
        memory.remember("It is SECRET.", meta={"k": "SECRET"})
        dropped(memory, ["dropped SECRET"])
        memory.flush(20)
    assert call("export", source, "--out", file)[0] == 0
    code, out, _ = call("import", file, "--memory", target, "--json", *options)
    assert code == 0
    # Turns, their lines, a memory, and a dropped message; without a hook what is in tags alone.
    assert json.loads(out)["redacted"] == (hidden or 2)
    assert (b"SECRET" in b"".join(data for data, _ in image(target).values())) == (not hidden)
    assert b"PRIVATE" not in b"".join(data for data, _ in image(target).values())
    with Memory.open(target, embedder="lexical") as memory:
        assert memory.conversation("log").messages()[-1]["content"] == "c [private]"
        assert len(memory.memories()) == 1
    code, out, err = call("import", file, "--memory", tmp_path / "third", "--no-private-tags")
    assert code == 0
    assert "redaction" not in err
    with Memory.open(tmp_path / "third", embedder="lexical") as memory:
        assert "PRIVATE" in memory.conversation("log").messages()[-1]["content"]


@pytest.mark.parametrize("hook", ["nobody:hide", "json:nothing", "json", ":x", "json:__name__"])
def test_a_hook_that_is_not_there_is_refused(hook, path, tmp_path, call):
    assert call("export", path, "--out", tmp_path / "file")[0] == 0
    code, _, err = call("import", tmp_path / "file", "--memory", tmp_path / "new", "--redact", hook)
    assert code == 1
    assert "redact: expected" in err
    assert not (tmp_path / "new").exists()


# --- export and import ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ([], 9),
        (["--conversation", "plans"], 3),
        (["--conversation", "plans", "--tenant", "other"], 3),
        (["--tenant", "default"], 6),
    ],
)
def test_export_and_import_again(options, lines, path, tmp_path, call):
    before = image(path)
    code, out, err = call("export", path, *options)
    assert (code, err) == (0, f"{lines} records written\n")
    assert len(out.splitlines()) == lines + 1
    code, silent, _ = call("export", path, *options, "--out", tmp_path / "file")
    assert (code, silent) == (0, "")
    assert (tmp_path / "file").read_text() == out
    assert image(path) == before
    code, silent, err = call("import", tmp_path / "file", "--memory", tmp_path / "new")
    assert (code, silent, err) == (0, "", f"{lines} records imported\n")
    again = [json.loads(line) for line in call("export", tmp_path / "new")[1].splitlines()]
    first = [json.loads(line) for line in out.splitlines()]
    assert [one | {"id": 0} for one in again] == [one | {"id": 0} for one in first]
    code, _, err = call("import", tmp_path / "file", "--memory", tmp_path / "new")
    assert (code, err) == (0, f"0 records imported\n{lines} items were imported before\n")


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
def test_an_export_is_for_its_owner_alone(path, tmp_path, call):
    before = os.umask(0)
    try:
        assert call("export", path, "--out", tmp_path / "new")[0] == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


def test_files_that_cannot_be_written_or_read_are_named(path, tmp_path, call):
    code, _, err = call("export", path, "--out", tmp_path / "none" / "file")
    assert code == 1
    assert "none/file" in err.replace("\n", "")
    code, _, err = call("import", tmp_path / "none", "--memory", path)
    assert code == 1
    assert "none" in err
    (tmp_path / "bad").write_text('{"warmset": "export", "version": 1}\nnonsense\n')
    code, _, err = call("import", tmp_path / "bad", "--memory", path)
    assert code == 1
    assert "line 2" in err.replace("\n", " ")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--conversation", "typo"], "'typo'"),
        (["--conversation", "plans", "--tenant", "typo"], "'typo'"),
        (["--tenant", "typo"], "'typo'"),
    ],
)
def test_what_is_not_there_is_not_exported(options, name, path, tmp_path, call):
    code, out, err = call("export", path, *options)
    assert (code, out) == (1, "")
    assert name in err
    assert call("export", path, *options, "--out", tmp_path / "file")[0] == 1
    assert [one.name for one in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("text", [None, "", "nonsense", '{"warmset": "export", "version": 1}\n{}'])
def test_an_import_of_nothing_makes_no_store(text, tmp_path, call):
    if text is not None:
        (tmp_path / "file").write_text(text)
    code, _, err = call("import", tmp_path / "file", "--memory", tmp_path / "new")
    assert code == 1
    assert "file" in err
    assert not (tmp_path / "new").exists()


# --- encryption ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["raw", "hexadecimal"])
def test_a_store_with_a_master_key(form, tmp_path, call):
    path, key = tmp_path / "store", tmp_path / "key"
    key.write_bytes(MASTER if form == "raw" else MASTER.hex().encode() + b"\n")
    with ColdStore.open(path, encryption=MASTER) as store:
        store.append([row(b"{}", key=[b"default", b"plans"])])
    code, out, _ = call("doctor", path)
    assert code == 1
    assert "--key-file FILE" in out
    assert "under a master key" in out
    code, out, _ = call("verify", path)
    assert code == 1
    assert "1 records could not be decrypted" in out
    assert "0 records in" in out
    assert json.loads(call("verify", path, "--json")[1])["locked"] == 1
    assert call("export", path)[0] == 1
    with_key = ("--key-file", key)
    assert call("doctor", path, *with_key)[0] == 0
    assert call("verify", path, *with_key)[0] == 0
    code, out, _ = call("export", path, *with_key)
    assert code == 0
    (tmp_path / "file").write_text(out)
    assert call("import", tmp_path / "file", "--memory", tmp_path / "new", *with_key)[0] == 0
    with ColdStore.open(tmp_path / "new", encryption=MASTER) as store:
        assert payloads(store).count(b"{}") == 1  # beside what says that it was imported
    code, _, err = call("erase", path, "--conversation", "plans", "--yes")
    assert code == 1
    assert "master key" in err
    code, out, _ = call("erase", path, "--conversation", "plans", "--yes", *with_key)
    assert code == 0
    assert "1 keys" in out
    assert list((path / "keys").iterdir()) == []


def test_what_is_no_key_is_refused(path, tmp_path, call):
    for data in (b"", b"x" * 31, b"zz" * 32, b"\xff" * 64):
        (tmp_path / "key").write_bytes(data)
        code, _, err = call("doctor", path, "--key-file", tmp_path / "key")
        assert code == 1
        assert "32 bytes" in err
    assert call("doctor", path, "--key-file", tmp_path / "none")[0] == 1


def test_a_store_with_keys_of_its_own_stays_encrypted(tmp_path, call):
    with ColdStore.open(tmp_path / "store", encryption="keys") as store:
        store.append([row(b"{}", key=[b"default", b"one"])])
    (tmp_path / "file").write_text(
        '{"warmset": "export", "version": 1}\n'
        '{"id": 1, "kind": "turn", "key": ["t", "c"], "meta": {}, "payload": {"x": "PLAIN"}}\n'
    )
    assert call("import", tmp_path / "file", "--memory", tmp_path / "store")[0] == 0
    assert b"PLAIN" not in b"".join(data for data, _ in image(tmp_path / "store").values())
    code, out, _ = call("doctor", tmp_path / "store")
    assert code == 0
    assert "keys that lie in the store" in out


def test_without_its_keys_nothing_is_called_intact(tmp_path, call):
    with ColdStore.open(tmp_path / "store", encryption="keys") as store:
        store.append([row(b"{}", key=[b"default", name]) for name in (b"one", b"two", b"two")])
    assert call("verify", tmp_path / "store")[0] == 0
    first, *others = sorted((tmp_path / "store" / "keys").glob("*.key"))
    assert len(others) == 1
    first.unlink()
    code, out, _ = call("verify", tmp_path / "store", "--json")
    told = json.loads(out)
    gone = told["locked"] + len(told["damages"])
    assert (code, gone in {1, 2}) == (1, True)
    assert told["records"] == 3 - gone
    others[0].unlink()
    code, out, _ = call("verify", tmp_path / "store")
    assert code == 1
    assert "3 records could not be decrypted" in out
    assert "0 records in" in out


def test_an_export_writes_into_a_pipe_and_behind_a_link(path, tmp_path, call):
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    target.write_text("old")
    link.symlink_to(target)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()), daemon=True)
    reader.start()
    assert call("export", path, "--out", pipe)[0] == 0
    reader.join(30)
    assert call("export", path, "--out", link)[0] == 0
    assert found == [target.read_text()]
    assert len(found[0].splitlines()) > 3
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_an_export_without_an_output_is_refused(path, call, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert call("export", path)[0] == 1
