"""`Memory.items.add_document`: read, cut, stored under names, and added again."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from warmset import Memory
from warmset.errors import InvalidInputError, MissingExtraError, NotFound, ReadOnly, RedactionError
from warmset.items import Document, NewItem
from warmset.items.documents.source import read

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PAGE = "# ACME\n\n## Item 7. Discussion\n\nWe had cash.\n\n## Item 8\n\nIncome was 3.\n"


@pytest.fixture
def items(memory):
    return memory.items


def records(memory):
    return memory.stats()["records"]


def test_a_document_becomes_items_that_its_sections_find(items):
    added = items.add_document(PAGE, name="10-K", format="markdown")
    chunks = [items.get(name) for name in added.chunks]
    assert added == Document(
        name="10-K",
        chunks=("10-K#0001", "10-K#0002"),
        archived=(),
        tokens=sum(one.token_count for one in chunks),
    )
    assert chunks[0].text == "# ACME\n\n## Item 7. Discussion\n\nWe had cash."
    assert chunks[0].sections == ("ACME", "Item 7", "Item 7. Discussion")
    assert chunks[0].summary == "ACME > Item 7. Discussion: We had cash."
    assert [one.meta for one in chunks] == [
        {"document": "10-K", "order": 1, "parent": None},
        {"document": "10-K", "order": 2, "parent": "10-K#0001"},
    ]
    assert chunks[1].dependencies == ()
    assert (chunks[1].memory_type, chunks[1].origin) == ("document_chunk", "import")
    assert [one.memory_id for one in items.query(sections=["Item 7"])] == ["10-K#0001"]
    assert {one.memory_id for one in items.query(keys=["10-K"])} == set(added.chunks)


def test_every_chunk_has_the_fields_of_the_document(items):
    items.put(NewItem(memory_type="t", text="x", memory_id="raw", origin="web"))
    added = items.add_document(
        PAGE,
        name="d",
        memory_type="filing",
        conversation="c",
        session_id="s",
        timestamp=NOON,
        module_context="m",
        pipeline="p",
        keys=["k"],
        entities=["ACME"],
        relevance_decay=0.5,
        derived_from=["raw"],
        origin="user",
        meta={"year": 2026, "order": "mine"},
    )
    for name in added.chunks:
        one = items.get(name)
        assert (one.memory_type, one.conversation, one.session_id) == ("filing", "c", "s")
        assert (one.timestamp, one.module_context, one.pipeline) == (NOON, "m", "p")
        assert (one.keys, one.entities, one.relevance_decay) == (("d", "k"), ("ACME",), 0.5)
        assert (one.derived_from, one.origin) == (("raw",), "web")
        assert one.meta["year"] == 2026
        assert one.meta["order"] in (1, 2)
    items.erase("raw")
    assert items.query() == []


def test_the_same_document_is_not_written_again(memory, items):
    added = items.add_document(PAGE, name="d")
    before, versions = records(memory), [items.get(name).id for name in added.chunks]
    assert items.add_document(PAGE, name="d") == added
    assert records(memory) == before
    assert [items.get(name).id for name in added.chunks] == versions


def test_what_changed_is_a_new_version_and_what_is_gone_is_archived(items):
    def told(*words):
        return "".join(f"# {word}\n\nabout {word} and more\n\n" for word in words)

    first = items.add_document(told("a", "b", "c", "d"), name="d", format="markdown")
    versions = {name: items.get(name).id for name in first.chunks}
    items.put_many(
        [
            NewItem(memory_type="t", text="mine", memory_id="note", keys=["d"]),
            NewItem(memory_type="t", text="other", memory_id="d#x", keys=["d"]),
            NewItem(memory_type="t", text="other", memory_id="dd#0009", keys=["e"]),
            NewItem(memory_type="t", text="heir", memory_id="heir", supersedes=["d#0003"]),
        ]
    )
    second = items.add_document(told("a", "B"), name="d", format="markdown")
    assert second.chunks == ("d#0001", "d#0002")
    assert second.archived == ("d#0003", "d#0004")
    assert items.get("d#0001").id == versions["d#0001"]
    assert items.get("d#0002").id > versions["d#0002"]
    assert {one.memory_id for one in items.query()} == {
        "d#0001", "d#0002", "note", "d#x", "dd#0009", "heir"
    }  # fmt: skip
    assert items.add_document(told("a", "B"), name="d", format="markdown").archived == ()
    third = items.add_document(told("a", "B", "c"), name="d", format="markdown")
    assert third.archived == ()
    assert not items.get("d#0003").archived
    assert items.get("d#0004").archived


def test_other_sizes_of_chunks_take_the_place_of_the_old_ones(items):
    text = "One is here now. " * 60
    small = items.add_document(text, name="d", chunk_tokens=32)
    large = items.add_document(text, name="d")
    assert len(large.chunks) == 1
    assert large.archived == small.chunks[1:]
    assert all(items.get(name).token_count <= 32 for name in small.chunks[1:])


def test_progress_is_told_after_each_batch(items):
    told = []
    text = "".join(f"# {n}\n\nx\n" for n in range(1_001))
    added = items.add_document(
        text, name="d", format="markdown", progress=lambda done, every: told.append((done, every))
    )
    assert told == [(1_000, 1_001), (1_001, 1_001)]
    assert added.chunks[-1] == "d#1001"


def test_an_asynchronous_twin(items):
    added = asyncio.run(items.aadd_document("some text", name="d"))
    assert items.get(added.chunks[0]).text == "some text"


# --- where it comes from --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "text", "kind"),
    [
        ("a.md", "x", "markdown"),
        ("a.MARKDOWN", "x", "markdown"),
        ("a.htm", "x", "html"),
        ("a.html", "# a", "html"),
        ("a.xhtml", "x", "html"),
        ("a.txt", "<!doctype html><p>x", "text"),
        ("a", "<!doctype html><p>x", "html"),
        ("a.bin", "\n<!-- a --> <!-- b -->\n<HTML lang=de>", "html"),
        ("a", "<?xml version='1.0'?>\n<html>", "html"),
        ("a", "<htmlx>", "text"),
        ("a", "<p>x</p>", "text"),
        ("a", "# a\n\n```\nx\n```\n", "markdown"),
        ("a", "# a\n\n| a | b |\n|---|:-:|\n", "markdown"),
        ("a", "# a [b](c)", "markdown"),
        ("a", "# a", "text"),
        ("a", "- a\n**b**\n[c](d)\n", "text"),
        ("a", "#a\n- b\n", "text"),
    ],
)
def test_the_format_is_found_by_the_name_of_the_file_else_by_the_text(tmp_path, file, text, kind):
    path = tmp_path / file
    path.write_text(text)
    assert read(path, name=None, format=None).format == kind
    assert read(path, name="n", format="text").format == "text"
    assert read(path, name=None, format=None).name == file


def test_a_text_of_comments_alone_is_judged_at_once():
    assert read("<!---->" * 2_000, name="n", format=None).format == "text"
    assert read("\n" * 15_000 + "x" + "|-" * 5_000 + "[" * 9_000, name="n", format=None).text


def test_a_file_is_read_as_utf_8(items, tmp_path):
    path = tmp_path / "nästy.txt"
    path.write_bytes("\ufeffcafé\r\n\r\nfoo\rbar".encode())
    added = items.add_document(path)
    assert added.name == "nästy.txt"
    assert items.get("nästy.txt#0001").text == "café\n\nfoo\nbar"
    assert items.add_document(path, name="other").chunks == ("other#0001",)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"abc\xe9", "byte 3 is 0xe9; read it with its encoding"),
        ("é".encode("utf-16"), "this is UTF-16"),
        (b"\xfe\xff\x00a\x00", "this is UTF-16"),
    ],
)
def test_a_file_in_another_encoding_is_refused_with_what_to_do(items, tmp_path, data, words):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(InvalidInputError, match=words) as caught:
        items.add_document(path)
    assert "give the text and a name" in str(caught.value)


WRONG = {
    "a text without a name": ("x", {}, "give the path of a file as a pathlib.Path"),
    "bytes": (b"x", {"name": "n"}, "found bytes; decode bytes first"),
    "no text": ("\ufeff \r\n", {"name": "n"}, "no text"),
    "only a script": ("<script>x</script>", {"name": "n", "format": "html"}, "no text"),
    "a format": ("x", {"name": "n", "format": "pdf"}, "expected one of markdown, html, text"),
    "a size": ("x", {"name": "n", "chunk_tokens": 31}, "chunk_tokens: expected"),
    "a name": ("x", {"name": " "}, "name: expected a name"),
    "a number": ("x", {"name": 5}, "name: expected a name"),
    "a long name": ("x", {"name": "n" * 990}, "name: expected at most 989 characters, found 990"),
    "half a name": ("x", {"name": "\ud800"}, "name: expected Unicode"),
    "a type": ("x", {"name": "n", "memory_type": "conversation"}, "memory_type"),
    "keys": ("x", {"name": "n", "keys": "k"}, "keys: expected a list"),
    "meta": ("x", {"name": "n", "meta": [1]}, "meta: expected a mapping"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_added_is_refused(items, wrong):
    source, fields, words = WRONG[wrong]
    with pytest.raises(InvalidInputError, match=words):
        items.add_document(source, **fields)
    assert items.query() == []


def test_a_name_at_the_limit_and_a_missing_file(items, tmp_path):
    assert items.add_document("x", name="n" * 989).chunks
    with pytest.raises(FileNotFoundError):
        items.add_document(tmp_path / "missing.txt")
    with pytest.raises(NotFound, match="'raw'"):
        items.add_document("x", name="n", derived_from=["raw"])


@pytest.mark.parametrize(
    ("text", "kind", "module"), [("# a", "markdown", "markdown_it"), ("<p>x", "html", "lxml")]
)
def test_a_missing_parser_is_named_and_plain_text_needs_none(
    items, monkeypatch, text, kind, module
):
    for name in [one for one in sys.modules if one.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"warmset\[documents\]"):
        items.add_document(text, name="n", format=kind)
    assert items.add_document(text, name="n").chunks == ("n#0001",)


# --- beside others --------------------------------------------------------------------------------


def test_a_secret_is_redacted_though_a_chunk_ends_in_it(tmp_path):
    secret = "sesame opens the door " * 12

    def hide(text):
        return text.replace(secret.strip(), "[hidden]").replace("Bob", "B")

    text = "One is here now. " * 5 + secret + "and more. " * 5
    with Memory.open(tmp_path, embedder="lexical", redact=hide) as memory:
        added = memory.items.add_document(text, name="Bob", chunk_tokens=32)
        assert added.name == "B"
        assert added.chunks[0] == "B#0001"
        said = " ".join(memory.items.get(name).text for name in added.chunks)
        assert "[hidden]" in said
        assert "sesame" not in said
        assert memory.stats()["redacted"]["messages"] >= 1
        small = memory.items.add_document("x", name="Bob")
        assert small.archived == added.chunks[1:]
    files = [file for file in Path(tmp_path).rglob("*") if file.is_file()]
    assert not any(word in file.read_bytes() for file in files for word in (b"sesame", b"Bob"))

    def broken(_text):
        raise OSError

    with (
        Memory.open(None, embedder="lexical", redact=broken) as memory,
        pytest.raises(RedactionError),
    ):
        memory.items.add_document("x", name="n")


def test_a_store_that_is_only_read_takes_no_document(tmp_path):
    Memory.open(tmp_path, embedder="lexical").close()
    with (
        Memory.open(tmp_path, embedder="lexical", mode="read") as memory,
        pytest.raises(ReadOnly),
    ):
        memory.items.add_document(tmp_path / "missing")


def test_documents_of_a_conversation_are_erased_with_it(memory, items):
    items.add_document(PAGE, name="d", conversation="c")
    items.add_document(PAGE, name="e")
    memory.erase(conversation="c")
    assert {one.meta["document"] for one in items.query()} == {"e"}
