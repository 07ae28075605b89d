"""The choice by itself, against one that writes every list out, at budgets that are met exactly."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from vectors_by_word import WordEmbedder

from warmset import Memory, compact_context, count_tokens
from warmset.compact import timeline
from warmset.compact.choice import Choice
from warmset.compact.distil import clip, confidence_of, is_novel
from warmset.compact.reading import read_list
from warmset.compact.shared import cache_of, forget_vectors
from warmset.errors import InvalidMessageError
from warmset.messages import facts, units

REPLY = 3
FILLER = "(Earlier messages were left out.)"
WORDS = ["crate", "tide", "harbour", "rope", "7"]
SEEDS = range(20)


class Counting(WordEmbedder):
    """Counts the texts that it is given."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def embed(self, texts):
        self.texts += texts
        return super().embed(texts)


def tokens(message):
    return count_tokens([message]) - REPLY


def talk(rng):
    """Make up an OpenAI list: talk, tool steps, system messages anywhere, calls nobody answers."""

    def text(most):
        return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))

    def called(*ids):
        function = {"name": "look", "arguments": "{}"}
        calls = [{"id": one, "type": "function", "function": function} for one in ids]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    out = [{"role": "user", "content": "The task: count the crates."}]
    for step in range(rng.randint(5, 12)):
        match rng.choice(["user", "assistant", "tools", "system", "loose", "tangled"]):
            case "tools":
                ids = [f"{step}a", f"{step}b"]
                results = [
                    {"role": "tool", "tool_call_id": one, "content": text(20)} for one in ids
                ]
                out += [called(*ids), *results]
            case "tangled":
                result = {"role": "tool", "tool_call_id": f"{step}c", "content": text(20)}
                out += [called(f"{step}c"), {"role": "user", "content": text(9)}, result]
            case "loose":
                out.append(called(f"{step}d"))
            case role:
                out.append({"role": role, "content": text(25)})
    return out


def turns(rng):
    """Make up an Anthropic list, in which neighbours of a role need a filler message."""
    out = [{"role": "user", "content": "The task: count the crates."}]
    for at in range(rng.randint(8, 16)):  # some neighbours of a role are the caller's own
        role = ("assistant", "user")[at % 2] if rng.random() < 0.7 else "user"
        out.append({"role": role, "content": " ".join(rng.choices(WORDS, k=rng.randint(1, 25)))})
    return out


class Puzzle:
    """A list, its units, and what must stay, by the rules in words."""

    def __init__(self, given, dialect, pinned=()):
        self.given, self.dialect = given, dialect
        told = [facts(one, dialect) for one in given]
        self.units = units(told)
        asked = [at for at, one in enumerate(given) if one["role"] == "user"]
        spoken = [at for at, one in enumerate(self.units) if one.kind != "system"]
        order = sorted(spoken, key=lambda at: self.units[at].members[-1])
        must = {at for at, one in enumerate(self.units) if one.kind == "system"}
        must |= set(order[-4:])
        for at, one in enumerate(self.units):
            waits = one.open and one.members[-1] > asked[-1]
            if waits or not {asked[0], asked[-1], *pinned}.isdisjoint(one.members):
                must.add(at)
        self.must = must

    def out(self, kept):
        """Write the list of some units, with filler messages."""
        places = sorted(at for one in kept for at in self.units[one].members)
        out = []
        for before, at in zip([None, *places], places, strict=False):
            if self.dialect == "anthropic" and before is not None and at > before + 1:
                roles = {self.given[before]["role"], self.given[at]["role"]}
                if len(roles) == 1:
                    other = "assistant" if roles == {"user"} else "user"
                    out.append({"role": other, "content": FILLER})
            out.append(self.given[at])
        return out

    def plan(self, values, budget):
        """Return the units that stay, and the score of the last one that was taken."""
        best = [max(values[at] for at in one.members) for one in self.units]
        cost = [sum(tokens(self.given[at]) for at in one.members) for one in self.units]
        kept, taken = set(self.must), []
        left = budget - REPLY - sum(cost[at] for at in kept)
        rest = [at for at in range(len(self.units)) if at not in kept]
        for one in sorted(rest, key=lambda at: (-best[at], self.units[at].members)):
            if cost[one] <= left:
                taken.append(one)
                left -= cost[one]
        while taken and count_tokens(self.out(kept | set(taken))) > budget:
            taken.pop()
        return kept | set(taken), best[taken[-1]] if taken else None


def budgets(told, values):
    """Return budgets that the list of some best units meets exactly, and one token beside."""
    order = sorted(
        range(len(told.units)), key=lambda at: -max(values[i] for i in told.units[at].members)
    )
    kept, sizes = set(told.must), {count_tokens(told.given), count_tokens(told.out(told.must))}
    for one in order:
        kept.add(one)
        sizes.add(count_tokens(told.out(kept)))
        sizes.add(REPLY + sum(tokens(told.given[i]) for at in kept for i in told.units[at].members))
    return sorted({one + off for one in sizes for off in (-1, 0, 1)})


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_choice_is_the_best_that_fits(dialect, seed):
    rng = Random(seed)
    given = talk(rng) if dialect == "openai" else turns(rng)
    pinned = [rng.randrange(len(given))] if seed % 3 == 0 else []
    told = Puzzle(given, dialect, pinned)
    _, reads, _ = read_list(given, dialect, "o200k_base")
    choice = Choice(reads, dialect, "o200k_base", pinned)
    assert {at for one in told.must for at in told.units[one].members} == set(
        np.flatnonzero(choice.must).tolist()
    )
    assert choice.total == count_tokens(given)
    values = [rng.choice([0.1, 0.25, 0.5, 0.5, 0.75, rng.random()]) for _ in given]
    for budget in budgets(told, values):
        kept, floor = told.plan(values, budget)
        stays = choice.choose(np.array(values), budget)
        wanted = sorted(at for one in kept for at in told.units[one].members)
        assert choice.places == np.flatnonzero(stays).tolist() == wanted, budget
        assert choice.floor == floor
        out, inserted = choice.written(given)
        assert out == told.out(kept)
        assert choice.tokens == count_tokens(out)
        for one in inserted:
            assert out[one.index]["content"] == FILLER
            before = max(at for at in wanted if at < one.stands_for[0])
            after = min(at for at in wanted if at > one.stands_for[-1])
            assert one.stands_for == tuple(range(before + 1, after))
        fillers = sum(one["content"] == FILLER for one in out)
        assert len(inserted) == fillers


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_reasons_name_the_last_unit_that_was_taken(seed):
    given = talk(Random(seed))
    made = compact_context(given, target_ratio=0.5)
    told = [facts(one, "openai") for one in given]
    gone = set(made.dropped.ids)
    assert gone
    worth = {one.id: one.score for one in compact_context(given, budget=1).dropped}
    taken = [
        max(worth[at] for at in one.members)
        for one in units(told)
        if gone.isdisjoint(one.members) and all(at in worth for at in one.members)
    ]
    for one in made.dropped:
        if taken:
            assert f"the last of them has {min(taken):.3f}" in one.reason
        else:
            assert "no room for anything else" in one.reason


# --- exactly the budget --------------------------------------------------------------------------


def chat(count=30):
    rng = Random(7)
    roles = ("user", "assistant")
    return [
        {"role": roles[at % 2], "content": f"{at} " + " ".join(rng.choices(WORDS, k=15))}
        for at in range(count)
    ]


def test_a_list_of_exactly_the_budget_is_not_embedded():
    given = chat()
    whole = count_tokens(given)
    for budget, embedded in ((whole, False), (whole - 1, True)):
        forget_vectors()
        embedder = Counting()
        made = compact_context(given, budget=budget, embedder=embedder, query="rope")
        assert bool(embedder.texts) == embedded
        assert bool(made.dropped) == embedded
        assert ("similarity" in made.stats.missing) == (not embedded)


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_a_blank_text_is_not_embedded(blank):
    given = chat()
    given[9] = {"role": "assistant", "content": blank}
    forget_vectors()
    embedder = Counting()
    compact_context(given, embedder=embedder, query="rope")
    assert blank not in embedder.texts
    assert given[8]["content"] in embedder.texts


def test_over_budget_begins_a_token_above_it():
    given = chat()
    least = compact_context(given, budget=1).stats.after_tokens
    for budget, over in ((least, False), (least - 1, True)):
        stats = compact_context(given, budget=budget).stats
        assert (stats.after_tokens, stats.budget, stats.over_budget) == (least, budget, over)


@pytest.mark.parametrize("query", ["", " \n\t"])
def test_a_blank_query_is_none(query):
    given = chat()
    embedder = Counting()
    made = compact_context(given, query=query, embedder=embedder)
    assert made.stats.missing == {"similarity": "there is no query"}
    assert "coverage" in made.stats.signals
    assert {one.terms.similarity for one in made.dropped} == {0.5}
    none = compact_context(given, embedder=embedder)
    assert none.messages == made.messages
    assert query not in embedder.texts


def test_a_last_turn_of_exactly_a_fifth_over_the_budget_is_taken():
    for words in range(8, 60):
        given = [{"role": "user", "content": "rope " * words + "end"}]
        cost = timeline(given, "rope", tokens=10_000).tokens + 1  # the line's end
        if cost % 6 == 0 and cost // 6 * 5 * 1.2 == cost:
            tokens_ = cost // 6 * 5
            break
    assert len(timeline(given, "rope", tokens=tokens_).turns) == 1
    assert len(timeline(given, "rope", tokens=tokens_ - 1).turns) == 0


@pytest.mark.parametrize(("text", "taken"), [("x" * 20, 1), ("x" * 19, 0), ("é" * 10, 1)])
def test_a_turn_of_twenty_bytes_is_no_short_one(text, taken):
    assert len(timeline([{"role": "user", "content": text}], "rope").turns) == taken


def test_a_memory_is_made_of_what_is_less_than_half_known():
    assert not is_novel("x" * 40, 0.5)
    assert is_novel("x" * 40, 0.499)
    assert not is_novel("x" * 39 + "  ", 0.0)
    assert (confidence_of(0.0), confidence_of(1.0)) == (0.75, 0.5)


def test_a_text_of_exactly_the_most_is_whole():
    assert clip("abcde", 5) == "abcde"
    assert clip("abcdef", 5) == "abcde"
    assert clip("  abcd e  ", 5) == "abcd"
    accented = "abcde\u0301"
    assert clip(accented, 6) == accented
    assert clip(accented, 5) == "abcd"


def test_what_is_redacted_is_not_embedded():
    forget_vectors()
    embedder = Counting()
    given = chat()
    for at in (3, 8):
        given[at] = {**given[at], "content": f"{given[at]['content']} hunter{at}"}

    def redact(text):
        return text.replace("hunter", "[secret]")

    with Memory.open(None, embedder=embedder, redact=redact) as memory:
        made = compact_context(given, memory=memory, query="rope hunter3")
    assert 3 in made.dropped.ids
    assert any("[secret]3" in one for one in embedder.texts)
    assert any(one == "rope [secret]3" for one in embedder.texts)
    assert not [one for one in embedder.texts if "hunter" in one]


# --- what is kept between calls ------------------------------------------------------------------


def test_the_embedder_that_was_used_longest_ago_is_forgotten_first():
    makers = [WordEmbedder() for _ in range(9)]
    for at, maker in enumerate(makers):
        maker.fingerprint = f"maker {at}"
    forget_vectors()
    caches = [cache_of(maker, maker) for maker in makers[:8]]
    assert cache_of(makers[0], None) is caches[0]
    cache_of(makers[8], None)
    assert cache_of(makers[0], None) is caches[0], "it was used since"
    assert cache_of(makers[7], None) is caches[7]
    assert cache_of(makers[1], None) is not caches[1]


def test_an_error_names_the_place_in_the_whole_list():
    given = chat(6)
    read_list(given, "openai", "o200k_base")
    for broken in ({"role": "user", "content": 5}, {"role": "user"}, {"role": "nobody"}):
        with pytest.raises(InvalidMessageError) as error:
            read_list([*given, broken], "openai", "o200k_base")
        assert error.value.index == 6


def test_the_tokens_of_thinking_that_leaves_are_not_counted():
    rng = Random(3)

    def thought(at):
        text = " ".join(rng.choices(WORDS, k=20))
        thinking = {"type": "thinking", "thinking": f"hm {at} " * 20, "signature": "c2ln"}
        return {"role": "assistant", "content": [thinking, {"type": "text", "text": text}]}

    given = [{"role": "user", "content": "The task: count the crates."}]
    for at in range(8):
        given += [thought(at), {"role": "user", "content": f"{at} " * 20}]
    made = compact_context(given, dialect="anthropic", target_ratio=0.6)
    assert made.dropped
    assert made.thinking.changed
    assert made.stats.after_tokens == count_tokens(made.messages)
    for one in made.inserted:
        assert made.messages[one.index]["content"] == FILLER


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        (
            "anthropic",
            {
                "role": "assistant",
                "content": [
                    {"type": "compaction", "content": "Much was counted.", "signature": "s"}
                ],
            },
        ),
        ("responses", {"type": "compaction", "id": "cmp_1", "encrypted_content": "b3BhcXVl"}),
        ("responses", {"type": "compaction_trigger"}),
    ],
)
def test_a_compaction_of_the_provider_never_leaves(dialect, written):
    """It stands for messages that the list does not have any more."""
    given = [*chat(11), written, *chat(12)[1:]]
    made = compact_context(given, dialect=dialect, budget=1)
    assert made.dropped
    assert 11 not in made.dropped.ids
    assert any(one is written for one in made.messages)
