"""Whatever is asked, nobody gets another tenant's or another conversation's turns.

Some thousand searches by default; over a million with ``HYPOTHESIS_PROFILE=deep``.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np
import pytest
from fitting import cases

from warmset import Filter, Memory, Weights
from warmset.errors import NotFound
from warmset.native import HotIndex
from warmset.retrieve import cues
from warmset.retrieve.search import scope

if TYPE_CHECKING:
    from collections.abc import Iterator

TENANTS = ("acme", "acme\0log", "Acme", "é", "e\u0301")
NAMES = ("log", "log\0a", "a", "Log")
WORDS = ["boat", "lake", "kite", "ladder", "harbour", "budget", "Postgres", "2023", "May", "Anna"]
BATCH = 500


def said(rng, tenant, name, n):
    """Words that everybody uses, and a mark of who said them."""
    text = " ".join(rng.choice(WORDS, rng.integers(3, 12)))
    role = ("user", "assistant")[n % 2]
    return {"role": role, "content": f"{text} mark{tenant}x{name}."}


def marks(text):
    return set(re.findall(r"mark\d+x\d+", text))


# --- the index by itself --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_vectors_are_found_by_their_owners_only(seed):
    rng = np.random.default_rng(seed)
    rows, dim, tenants, names = 6_000, 24, 7, 5
    ids = rng.permutation(rows * 3)[:rows].astype(np.uint64)
    owner, name = rng.integers(1, tenants + 1, rows), rng.integers(1, names + 1, rows)
    # Few directions, so that everybody has turns that are next to everybody's questions.
    centres = rng.normal(size=(20, dim))
    vectors = centres[rng.integers(0, 20, rows)] + rng.normal(scale=0.05, size=(rows, dim))
    at = rng.integers(0, 1_000, rows)
    index = HotIndex(dim)
    index.add(ids, vectors.astype(np.float32), tenant=owner, conversation=name, at=at)
    gone = rng.choice(rows, 500, replace=False)
    index.remove(ids[gone])
    of = dict(zip(ids.tolist(), zip(owner.tolist(), name.tolist(), strict=True), strict=True))
    own = np.zeros((rows * 3, 2), np.int64)
    own[ids.astype(np.int64)] = np.stack([owner, name], axis=1)
    own[ids[gone].astype(np.int64)] = 0
    there = set(ids.tolist()) - set(ids[gone].tolist())
    found = 0
    for asked in range(0, cases(4_000, 500_000), BATCH):
        tenant = int(rng.integers(0, tenants + 2))
        within = int(rng.integers(1, names + 2)) if rng.random() < 0.7 else None
        anybody = rng.choice(ids, 200).tolist() if rng.random() < 0.3 else None
        since = int(rng.integers(0, 1_000)) if rng.random() < 0.3 else None
        where = Filter(tenant=tenant, conversation=within, ids=anybody, since=since)
        queries = vectors[rng.integers(0, rows, BATCH)].astype(np.float32)
        k = int(rng.integers(1, 40))
        answer, _, counts = index.search_batch(queries, k, where=where)
        held = answer[np.arange(answer.shape[1])[None, :] < counts[:, None]].astype(np.int64)
        assert np.all(own[held, 0] == tenant)
        assert within is None or np.all(own[held, 1] == within)
        found += len(held)
        allowed = {
            id_
            for id_, (a, b) in of.items()
            if id_ in there and a == tenant and within in (None, b)
        }
        if asked % (20 * BATCH) == 0 and anybody is None and since is None:
            assert set(counts.tolist()) == {min(k, len(allowed))}, "its own are all there"
    assert found > 1_000


# --- a memory -------------------------------------------------------------------------------------


class Shared:
    """One store of several tenants whose conversations have the same names and words."""

    def __init__(self, path, bag, held):
        rng = np.random.default_rng(0)
        self.memories = [
            held.enter_context(Memory.open(path, embedder=bag, tenant=tenant)) for tenant in TENANTS
        ]
        for n in range(30):
            for tenant, memory in enumerate(self.memories):
                for name, conversation in enumerate(NAMES):
                    memory.conversation(conversation).append(said(rng, tenant, name, n))
        for tenant, memory in enumerate(self.memories):
            # An edit leaves a branch behind.
            log = memory.conversation(NAMES[0])
            log.sync([*log.fetch(log.ids[:20]), said(rng, tenant, 0, 20), said(rng, tenant, 0, 21)])
            assert memory.flush(60)
        self._engine = self.memories[0]._engine
        self.of = {
            id_: (tenant, name)
            for tenant, memory in enumerate(self.memories)
            for name, conversation in enumerate(NAMES)
            for id_ in self._engine.ledger(TENANTS[tenant], conversation).entries
        }
        self.ids = list(self.of)

    def asks(self, count):
        """Make up who asks, about what, and how."""
        rng = np.random.default_rng(1)
        for _ in range(count):
            tenant, name = int(rng.integers(len(TENANTS))), int(rng.integers(len(NAMES)))
            query = " ".join(rng.choice(WORDS, rng.integers(1, 6)))
            if rng.random() < 0.3:  # somebody who knows what to ask for
                query += f" mark{rng.integers(len(TENANTS))}x{rng.integers(len(NAMES))}"
            where = Filter(
                role=("user", None)[rng.integers(2)],
                since=0 if rng.random() < 0.2 else None,
                ids=rng.choice(self.ids, 60).tolist() if rng.random() < 0.3 else None,
                exclude=rng.choice(self.ids, 9).tolist() if rng.random() < 0.2 else None,
                branches=bool(rng.random() < 0.5),
            )
            yield rng, tenant, name, query, where


@pytest.fixture
def shared(tmp_path, bag) -> Iterator[Shared]:
    with ExitStack() as held:
        yield Shared(tmp_path, bag, held)


def test_the_retriever_returns_its_scope_only(shared, bag):
    engine, found = shared._engine, 0
    vectors = {word: bag.embed([word])[0] for word in WORDS}
    for rng, tenant, name, query, where in shared.asks(cases(1_500, 60_000)):
        inside = (Filter(**{**_fields(where), "conversation": NAMES[name]}), where)
        narrow = bool(rng.random() < 0.6)
        ledger = engine.ledger(TENANTS[tenant], NAMES[name]) if narrow else None
        words, cue = cues.read(query, engine.numbers, ledger)
        ids, *_ = engine.retriever.search(
            vectors[query.split()[0]] if rng.random() < 0.8 else None,
            words,
            int(rng.integers(1, 60)),
            where=scope(engine, TENANTS[tenant], inside[0 if narrow else 1]),
            weights=Weights(),
            cue=cue,
        )
        owners = {shared.of[id_] for id_ in ids.tolist()}
        assert {owner for owner, _ in owners} <= {tenant}
        assert not narrow or owners <= {(tenant, name)}
        found += len(ids)
    assert found > 1_000


def test_searches_windows_and_fetches_stay_at_home(shared):
    count = cases(400, 20_000)
    found = windows = refused = 0
    for n, (rng, tenant, name, query, where) in enumerate(shared.asks(count)):
        memory = shared.memories[tenant]
        chat = memory.conversation(NAMES[name])
        hits = chat.search(query, k=20, where=where)
        assert {shared.of[id_] for id_ in hits.ids} <= {(tenant, name)}
        wide = memory.search(query, k=20, where=where)
        assert {shared.of[id_][0] for id_ in wide.ids} <= {tenant}
        assert {hit.conversation for hit in wide} <= set(NAMES)
        found += len(hits) + len(wide)
        asked = int(rng.choice(shared.ids))
        if shared.of[asked] == (tenant, name):
            assert marks(str(chat.fetch(asked))) == {f"mark{tenant}x{name}"}
        else:
            refused += 1
            with pytest.raises(NotFound):
                chat.fetch([asked])
        if n % 8 == 0:
            mode = ("jit", "recency", "full")[int(rng.integers(3))]
            window = chat.window(query, budget=int(rng.integers(700, 2_000)), mode=mode)
            shown = marks(str(window.messages).replace(query, ""))
            assert shown <= {f"mark{tenant}x{name}"}
            ids = {choice.id for choice in window.report.choices}
            assert {shared.of[id_] for id_ in ids} <= {(tenant, name)}
            windows += bool(shown)
    assert min(found, refused, windows * 8) > count // 4


def _fields(where):
    return {name: getattr(where, name) for name in Filter.__dataclass_fields__}
