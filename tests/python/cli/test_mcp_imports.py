"""The tool `import` of ``warmset mcp``: transcripts, from one directory alone."""

from __future__ import annotations

import pytest
from transcript_files import SESSION, claude_code, codex

from warmset import Memory
from warmset.cli.mcp import _import
from warmset.errors import InvalidInputError
from warmset.maintenance import Access, export, open_store


@pytest.fixture
def imports(tmp_path):
    """A directory for imports, with links that lead out of it."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside / "deep", outside):
        folder.mkdir(parents=True)
    claude_code(inside / "deep")
    codex(outside)
    for n, file in enumerate(outside.iterdir()):
        (inside / f"link{n}.jsonl").symlink_to(file)
    (inside / "folder").symlink_to(outside)
    return inside


def imported(imports, path, memory, progress=lambda *_step: None, **given):
    return _import(imports, memory, path, given, progress)


def test_transcripts_are_imported_into_the_open_memory(imports):
    steps = []
    with Memory.open(None, embedder="lexical") as memory:
        made = imported(imports, imports, memory, lambda *step: steps.append(step))
        assert (made["messages"], made["conversations"], made["failed"]) == (14, 2, [])
        assert steps[-1][0] == steps[-1][1] > 0
        assert memory.conversations() == [SESSION, f"{SESSION}/a1b2c3d4"]
        again = imported(imports, imports, memory)
        assert (again["messages"], again["beside"]) == (0, 0)
        assert again["known"] == made["messages"] + made["beside"]
        memory.erase(conversation=SESSION)
        assert imported(imports, imports, memory)["messages"] == 0


def test_an_import_stays_in_its_directory(imports):
    with Memory.open(None, embedder="lexical") as memory:
        for path in (imports / "link0.jsonl", imports / "folder"):
            assert imported(imports, path, memory)["messages"] == 0
        assert memory.conversations() == []


def test_options_of_an_import(imports):
    (imports / "note.jsonl").write_text('{"role": "user", "content": "Hello."}\n')
    with Memory.open(None, embedder="lexical") as memory:
        made = imported(imports, imports / "note.jsonl", memory, conversation="c", dry_run=True)
        assert made["messages"] == 1
        assert memory.conversations() == []
        imported(imports, imports / "note.jsonl", memory, conversation="c", source="messages")
        assert memory.conversations() == ["c"]
        (imports / "bad.jsonl").write_text('{"role": "user", "content": "Ada."}\nno json\n')
        made = imported(imports, imports / "bad.jsonl", memory)
        assert (made["messages"], made["beside"]) == (1, 1)
        with pytest.raises(InvalidInputError, match="source: expected one of"):
            imported(imports, imports / "note.jsonl", memory, source="mail")


def test_errors_of_an_import_name_no_directory(imports):
    (imports / "a.json").write_text("7")
    (imports / "b.json").write_bytes(b"\xff\xfe{}")
    with Memory.open(None, embedder="lexical") as memory:
        with pytest.raises(InvalidInputError, match=r"^a\.json: it is of no known source"):
            imported(imports, imports / "a.json", memory)
        made = imported(imports, imports, memory)
        assert made["skipped"] == 1
        assert made["failed"] == ["b.json: it is in UTF-16; convert it to UTF-8 first"]


def test_an_import_that_is_stopped_is_finished_by_the_next(imports, monkeypatch):
    monkeypatch.setattr("warmset.maintenance.transcripts.run._STEP", 4)
    monkeypatch.setattr("warmset.maintenance.transcripts.writer.RECORDS", 2)

    def stop(_done, _total):
        raise KeyboardInterrupt

    with Memory.open(None, embedder="lexical") as memory:
        with pytest.raises(KeyboardInterrupt):
            imported(imports, imports, memory, stop)
        some = sum(len(memory.conversation(name)) for name in memory.conversations())
        assert 0 < some < 14
        assert imported(imports, imports, memory)["messages"] == 14 - some


def test_an_export_is_refused_with_records_of_others_and_told_in_shares(imports, tmp_path):
    place = tmp_path / "source"
    with Memory.open(place, embedder="lexical") as memory:
        memory.conversation("a").append([{"role": "user", "content": f"{n}"} for n in range(600)])
    steps = []
    with open_store(Access(path=place), mode="read") as store, (imports / "e").open("w") as out:
        export(store, out)
    refused = pytest.raises(InvalidInputError, match=r"^e: it has records of other tenants")
    with Memory.open(None, embedder="lexical", tenant="other") as memory, refused:
        imported(imports, imports / "e", memory)
    with Memory.open(None, embedder="lexical") as memory:
        made = imported(imports, imports / "e", memory, lambda *step: steps.append(step))
        assert made["records"] == 600
        size = (imports / "e").stat().st_size
        assert steps[:2] == [(int(256 / 600 * size), size), (int(512 / 600 * size), size)]
        assert steps[-1] == (size, size)
