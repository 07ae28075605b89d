"""A memory on a store with records of others: it opens, works, and says what it passed over."""

from __future__ import annotations

import json

import pytest
from bag import Bag
from cold_rows import row

from warmset import Memory
from warmset.native import ColdStore
from warmset.store.derived import KINDS

KEY = (b"default", b"log")
GOOD = json.dumps({"role": "user", "content": "foreign"}).encode()


def meta(**fields):
    return json.dumps(fields).encode()


def vector(of=1, view="turn", dim=4, gen=1):
    return meta(of=of, view=view, dim=dim, gen=gen)


IDENTITY = {"what": "embedder", "name": "x", "dim": 4, "gen": 1}

FOREIGN = {
    "no JSON": row(b"\xff\0", key=KEY),
    "no meta": row(GOOD, key=KEY, meta=b""),
    "meta is a list": row(GOOD, key=KEY, meta=b"[]"),
    "meta is a number": row(GOOD, key=KEY, meta=b"7"),
    "meta nests": row(GOOD, key=KEY, meta=b"[" * 100_000),
    "payload is a list": row(b"[]", key=KEY, meta=b"{}"),
    "payload is a number": row(b"7", key=KEY, meta=b"{}"),
    "payload nests": row(b"[" * 100_000, key=KEY, meta=b"{}"),
    "no key": row(GOOD, key=(), meta=b"{}"),
    "one part": row(GOOD, key=(b"default",), meta=b"{}"),
    "three parts": row(GOOD, key=(*KEY, b"x"), meta=b"{}"),
    "item without key": row(b"x", kind="item", key=(), meta=b"{}"),
    "item of three parts": row(b"x", kind="item", key=(*KEY, b"x"), meta=b"{}"),
    "no text": row(GOOD, key=(b"default", b"\xff"), meta=b"{}"),
    "no time": row(GOOD, key=KEY, meta=meta(at="noon")),
    "a list as time": row(GOOD, key=KEY, meta=meta(at=[])),
    "an endless time": row(GOOD, key=KEY, meta=b'{"at":1e999}'),
    "a time that is none": row(GOOD, key=KEY, meta=b'{"at":NaN}'),
    "a time far away": row(GOOD, key=KEY, meta=meta(at=1e300)),
    "a number as speaker": row(GOOD, key=KEY, meta=meta(at=1.0, by=7)),
    "a list as session": row(GOOD, key=KEY, meta=meta(at=1.0, session=[1])),
    "a text as parent": row(GOOD, key=KEY, meta=meta(at=1.0, parent="x")),
    "a list as parent": row(GOOD, key=KEY, meta=meta(at=1.0, parent=[])),
    "a list as fields": row(GOOD, key=KEY, meta=meta(at=1.0, meta=[1])),
    "vector without meta": row(b"1234", kind="embedding", key=KEY, meta=b"x"),
    "vector of a list": row(b"1234", kind="embedding", key=KEY, meta=b"[]"),
    "vector of nothing": row(b"1234", kind="embedding", key=KEY, meta=b"{}"),
    "vector of another view": row(bytes(16), kind="embedding", key=KEY, meta=vector(view=[])),
    "half a value": row(bytes(9), kind="half_embedding", key=KEY, meta=vector()),
    "vector cut short": row(bytes(15), kind="embedding", key=KEY, meta=vector()),
    "vector of no numbers": row(b"", kind="embedding", key=KEY, meta=vector(dim=0)),
    "checkpoint without meta": row(b"", kind="checkpoint", key=KEY, meta=b""),
    "checkpoint as a list": row(b"", kind="checkpoint", key=KEY, meta=b"[]"),
    "head without id": row(b"", kind="checkpoint", key=KEY, meta=meta(what="head")),
    "head of a text": row(b"", kind="checkpoint", key=KEY, meta=meta(what="head", id="x")),
    "head without key": row(b"", kind="checkpoint", key=(), meta=meta(what="head", id=1)),
    "embedder without name": row(b"", kind="checkpoint", key=(), meta=meta(what="embedder")),
    "embedder with half a probe": row(b"1", kind="checkpoint", key=(), meta=meta(**IDENTITY)),
}

UNKNOWN = [row(b"\0", kind=kind) for kind in ("summary", "episode", "item", "distilled")]


def said(text):
    return {"role": "user", "content": text}


def works(path, embedder):
    with Memory.open(path, embedder=embedder) as memory:
        log = memory.conversation("log")
        log.append([said("a car"), said("a boat")])
        assert memory.flush(60)
        assert memory.search("boat", k=1)[0].summary == "a boat"
        assert [one["content"] for one in log.fetch(log.ids)] == ["a car", "a boat"]
        assert memory.conversations() == ["log"]
        damaged = memory.stats()["damaged"]
    with Memory.open(path, embedder=embedder) as memory:
        assert memory.stats()["damaged"] == damaged
        assert len(memory.conversation("log")) == 2
    return damaged


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
def test_a_record_that_is_not_its_own_is_passed_over_and_told(foreign, first, tmp_path):
    if first:
        with ColdStore.open(tmp_path) as store:
            store.append([foreign])
        (told,) = works(tmp_path, Bag())
        assert told.startswith("record 1 is not as warmset writes it")
        return
    with Memory.open(tmp_path, embedder=Bag()) as memory:
        with ColdStore.open(tmp_path) as store:
            (id_,) = store.append([foreign])
        log = memory.conversation("log")
        log.append(said("a car"))
        assert memory.flush(60)
        assert memory.search("car", k=1)[0].summary == "a car"
        (told,) = memory.stats()["damaged"]
        assert told.startswith(f"record {id_} is not as warmset writes it")


@pytest.mark.parametrize("embedder", ["lexical", Bag()], ids=["lexical", "bag"])
def test_all_of_them_at_once_and_kinds_that_it_does_not_know(embedder, tmp_path):
    with ColdStore.open(tmp_path) as store:
        store.append(UNKNOWN)
        store.append([one for one in FOREIGN.values() if one[0] == "turn"])
    told = works(tmp_path, embedder)
    turns = sum(one[0] == "turn" for one in FOREIGN.values())
    assert len(told) == turns + sum(one[0] in KINDS for one in UNKNOWN)
