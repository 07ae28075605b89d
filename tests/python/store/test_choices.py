"""What a window chose, and what a list added, are read from records as they were written."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, strategies as st

from warmset.store.choices import StoredChoices, choices_draft, decode_choices, is_choices
from warmset.store.derived import Made
from warmset.store.epochs import Insertion, Step, decode_step, head_of, step_draft
from warmset.store.records import load

IDS = st.lists(st.integers(1, 30), unique=True, max_size=4)
MAYBE = st.none() | st.integers(1, 30)
NOTHING = {"quoted": [], "picked": [], "changed": []}


@st.composite
def choices(draw):
    lines = draw(IDS)
    described = draw(st.lists(MAYBE, min_size=len(lines), max_size=len(lines)))
    return StoredChoices(
        request=draw(st.integers(1, 30)),
        key="k",
        since=draw(MAYBE),
        summary=draw(MAYBE),
        quoted=draw(IDS),
        lines=lines,
        described=described,
        picked=draw(IDS),
        changed=draw(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=3)),
        by=draw(st.sampled_from(["score", "picker"])),
        why=draw(st.none() | st.just("why")),
        least=draw(st.sampled_from([None, 0.0, 0.25, float("inf"), float("-inf")])),
        unused=draw(st.none() | st.just("unused")),
        memories=tuple(draw(IDS)),
        pinned=tuple(draw(IDS)),
    )


def made_of(draft):
    kind, key, meta, _, sources = draft
    tenant, *rest = (part.decode() for part in key)
    return Made(
        id=99,
        kind=kind,
        tenant=tenant,
        conversation=rest[0] if rest else None,
        fields=load(meta),
        hash=b"",
        sources=sources,
    )


def named(one):
    """All ids that choices name."""
    several = [*one.quoted, *one.lines, *one.described, *one.picked, *one.memories, *one.pinned]
    pairs = [id_ for pair in one.changed for id_ in pair]
    return {one.request, one.since, one.summary, *several, *pairs} - {None}


@given(choices())
def test_choices_are_read_as_they_were_written(one):
    made = made_of(choices_draft("t", "c", one))
    assert is_choices(made)
    assert decode_choices(made) == one
    assert set(made.sources) == named(one), "they are erased with any of these"
    assert len(made.sources) == len(set(made.sources))
    moved = replace(made, sources=tuple(id_ + 100 for id_ in made.sources))
    assert named(decode_choices(moved)) == {id_ + 100 for id_ in named(one)}


def test_a_whole_list_names_its_request_alone():
    one = StoredChoices(request=7, key="k", whole=True, **NOTHING, lines=[], described=[])
    made = made_of(choices_draft("t", "c", one))
    assert (decode_choices(made), made.sources) == (one, (7,))


def test_a_whole_list_names_the_memories_beside_it():
    one = StoredChoices(request=7, key="k", whole=True, memories=(9, 8), pinned=(8,), **NOTHING)
    made = made_of(choices_draft("t", "c", replace(one, lines=[], described=[])))
    read = decode_choices(made)
    assert (read.memories, read.pinned, made.sources) == ((9, 8), (8,), (7, 9, 8))


def test_choices_of_another_form_are_none():
    one = StoredChoices(request=1, key="k", lines=[2, 3], described=[4, None], **NOTHING)
    made = made_of(choices_draft("t", "c", one))
    assert decode_choices(made) == one
    for name, value in {
        "described": [1],
        "lines": [1, 2, 0],
        "quoted": [99],
        "by": ["score"],
        "cut": ["high", None],
        "key": None,
    }.items():
        fields = {**made.fields, name: value}
        if value is None:
            del fields[name]
        assert decode_choices(replace(made, fields=fields)) is None, name
    assert decode_choices(replace(made, sources=())) is None


INSERTIONS = [
    Insertion(name="recall", at=3, text="a", quoted=(1, 2), listed=(0,), dated=(2,)),
    Insertion(name="day", at=5, text="b", role="system"),
    Insertion(name="compaction", at=0, text="", messages=({"role": "user"},), hidden=7),
]


@given(st.lists(st.sampled_from(INSERTIONS), max_size=3), st.integers(0, 9), IDS)
def test_steps_are_read_as_they_were_written(insertions, head, sources):
    step = Step(
        token="x",  # noqa: S106 - a name
        after="w",
        dialect="openai",
        model="m",
        beside="b",
        count=9,
        insertions=tuple(insertions),
    )
    draft = step_draft("t", "c", step, head, [*sources, *sources])
    made, payload = made_of(draft), draft[3]
    assert decode_step(made.fields, payload) == step
    assert head_of(made) == head
    assert made.sources == ((head, *(id_ for id_ in sources if id_ != head)) if head else ()), (
        "erased with any of them"
    )
    if insertions:
        fewer = {**made.fields, "insertions": made.fields["insertions"][:-1]}
        more = {**made.fields, "insertions": made.fields["insertions"] * 2}
        assert decode_step(fewer, payload) is None
        assert decode_step(more, payload) is None


@given(st.integers(0, 9), IDS, st.lists(st.integers(20, 40), min_size=1, max_size=3, unique=True))
def test_the_memories_of_a_step_are_among_its_sources(head, sources, memories):
    made = [
        Insertion(name="pinned", at=0, text="a", role="system", memories=tuple(memories)),
        Insertion(name="memories", at=2, text="b", memories=tuple(memories[:1])),
        Insertion(name="recall", at=2, text="c", quoted=(1,)),
    ]
    step = Step(
        token="x",  # noqa: S106 - a name
        after="",
        dialect="openai",
        model="",
        beside="b",
        count=3,
        insertions=tuple(made),
    )
    draft = step_draft("t", "c", step, head, sources)
    record, payload = made_of(draft), draft[3]
    assert decode_step(record.fields, payload, record.sources) == step
    assert head_of(record) == head
    assert set(memories) <= set(record.sources), "erased with any of them"
    moved = tuple(id_ + 100 for id_ in record.sources)
    [first, *_] = decode_step(record.fields, payload, moved).insertions
    assert first.memories == tuple(id_ + 100 for id_ in memories)
    assert decode_step(record.fields, payload, ()) is None
    assert [len(row) for row in record.fields["insertions"]] == [6, 6, 5]
