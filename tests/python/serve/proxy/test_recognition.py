"""Recognition: rules one by one, against an oracle, and with crowds, forks and stores behind it."""

from __future__ import annotations

import hashlib
import os
import random
import threading

import pytest
from hypothesis import given, settings, strategies as st

from warmset.errors import InvalidInputError
from warmset.serve.proxy.listed import Listed, _Seen, listed_of
from warmset.serve.proxy.recognition import Recognition, Stored, _Tenant

T = "key-1"


def digest(text):
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def listed(text):
    """A list by words: s is a system prompt, u a user's message, r a reply; then more letters."""
    words = text.split()
    roles = [word[0] for word in words]
    opening = roles.index("u") + 1 if "u" in roles else len(roles)
    replies = [
        at for at, role in enumerate(roles) if role == "r" and (at == 0 or roles[at - 1] != "r")
    ]
    return Listed(b"".join(map(digest, words)), opening, replies[-2:])


@pytest.fixture
def one():
    return Recognition()


def test_a_loop_stays_in_its_conversation(one):
    first = one.recognise(T, listed("s u1"))
    assert (first.new, first.common) == (True, 0)
    assert first.name.startswith("auto-")
    assert len(first.name) == len("auto-") + 16
    int(first.name.removeprefix("auto-"), 16)
    text = "s u1"
    for turn in range(2, 30):
        text += f" r{turn} u{turn}"
        found = one.recognise(T, listed(text))
        assert (found.name, found.new) == (first.name, False)
        assert found.common == 2 * turn - 2


def test_the_same_question_anew_is_a_new_conversation_once_it_was_answered(one):
    first = one.recognise(T, listed("s u1"))
    assert one.recognise(T, listed("s u1")).name == first.name  # sent again
    one.replied(T, first.name, listed("s u1"))
    second = one.recognise(T, listed("s u1"))
    assert second.new
    assert second.name != first.name
    assert one.recognise(T, listed("s u1")).name == second.name


def test_the_newest_alone_may_be_sent_again(one):
    unanswered = one.recognise(T, listed("u1"))
    newest = one.recognise(T, listed("u1 u2 r u3"))
    assert newest.name == unanswered.name  # it goes on from there
    assert one.recognise(T, listed("u1")).new


def test_a_question_in_several_messages_goes_on_from_one_without_a_reply(one):
    first = one.recognise(T, listed("s u1")).name
    assert one.recognise(T, listed("s u1 u2")).name == first
    assert one.recognise(T, listed("s u1 u2 u3")).name == first
    assert one.recognise(T, listed("s u1 u4")).new
    assert one.recognise(T, listed("s u1")).new


@pytest.mark.parametrize(
    ("known", "given", "same"),
    [
        ("s u1 r1 u2", "s u1 r1 u2 r2 u3", True),  # goes on
        ("s u1 r1 u2", "s u1 r1 u3", True),  # edited after the opening
        ("s u1 r1 u2", "s u1 r1", True),
        ("s u1 r1 u2", "s u1 r2 u2", False),  # leaves it right after the opening
        ("s u1 r1", "s u1 r2", False),
        ("s u1 r1", "s u1 r1", True),
        ("s u1", "s u1 r1 u2", True),  # the reply was not seen
        ("s u1", "s u2 r1", False),
        ("s u1", "s2 u1 r1", False),
        ("u1", "s u1 r1", False),
        ("s", "s r", False),  # no user's message: what opens the list is all of it
        ("r1 u1", "r1 u1 r2", True),
    ],
)
def test_a_list_with_a_reply_shares_more_than_the_opening(one, known, given, same):
    first = one.recognise(T, listed(known)).name
    found = one.recognise(T, listed(given))
    assert (found.name == first, found.new) == (same, not same)


def test_two_that_begin_alike_are_told_apart_from_where_they_differ(one):
    a = one.recognise(T, listed("s u1")).name
    one.replied(T, a, listed("s u1"), digest("ra"))
    b = one.recognise(T, listed("s u1")).name
    one.replied(T, b, listed("s u1"), digest("rb"))
    assert a != b
    for turn in range(3):
        more = "".join(f" u{at} r{at}" for at in range(turn))
        assert one.recognise(T, listed(f"s u1 ra{more} u")).name == a
        assert one.recognise(T, listed(f"s u1 rb{more} u")).name == b
    assert one.recognise(T, listed("s u1 rc u")).new


def test_among_equals_what_the_list_goes_on_from_and_then_the_newest(one):
    first = one.recognise(T, listed("u1")).name
    one.replied(T, first, listed("u1"), digest("r"))
    second = one.recognise(T, listed("u1")).name
    one.replied(T, second, listed("u1"), digest("r"))
    assert one.recognise(T, listed("u1 r u2")).name == second
    assert one.recognise(T, listed("u1 r u3")).name == first
    assert one.recognise(T, listed("u1 r u4")).name == second  # both leave it: the newest


def test_a_shorter_list_forgets_nothing(one):
    name = one.recognise(T, listed("u1 r1 u2 r2 u3")).name
    assert one.recognise(T, listed("u1 r1 u2")).name == name
    assert one.recognise(T, listed("u1 r1 u2 r2 u3 r3")).common == 5


def test_tenants_have_nothing_in_common(one):
    first = one.recognise(T, listed("u1 r1")).name
    other = one.recognise("key-2", listed("u1 r1"))
    assert other.new
    assert other.name != first
    assert one.recognise(T, listed("u1 r1")).name == first


def test_all_is_forgotten_and_found_in_the_store_again(one):
    name = one.recognise(T, listed("u1 r1")).name
    one.recognise("key-2", listed("u1 r1"))
    one.forget()
    assert not one._tenants
    one.replied(T, name, listed("u1 r1 u2"), digest("r2"))
    assert not one._tenants[T].talks
    found = one.recognise(T, listed("u1 r1 u2"), lambda _: [Stored(name, listed("u1 r1"))])
    assert (found.name, found.new) == (name, False)
    one.close(1.0)
    assert one.recognise(T, listed("u1 r1 u2")).new


def test_a_late_reply_does_not_undo_what_came_after(one):
    name = one.recognise(T, listed("u1")).name
    one.recognise(T, listed("u1 r1 u2"))
    one.replied(T, name, listed("u1"), digest("other"))
    assert one.recognise(T, listed("u1 r1 u2 r2")).common == 3
    one.replied(T, "auto-unknown", listed("u1"), digest("r"))
    assert one.recognise(T, listed("u1")).new


# --- the oracle ---------------------------------------------------------------------------------


def _oracle(known, given):
    """The rules, said again over whole lists: known are (name, words, replied), oldest first."""
    words = given.split()
    opening = next(at for at, word in enumerate(words) if word[0] == "u") + 1
    alike = [one for one in known if one[1][:opening] == words[:opening]]
    alike = [one for one in alike if len(one[1]) >= opening]
    if not any(word[0] == "r" for word in words):
        if alike and not alike[-1][2] and words[: len(alike[-1][1])] == alike[-1][1]:
            return alike[-1][0]
        return None
    best, rank = None, (opening, False)
    for name, theirs, _ in alike:
        common = 0
        while common < min(len(words), len(theirs)) and words[common] == theirs[common]:
            common += 1
        mine = (common, common == len(theirs))
        if mine > (opening, False) and mine >= rank:
            best, rank = name, mine
    return best


LISTS = st.builds(
    lambda head, tail: " ".join(
        [*head, *(f"{'ru'[at % 2]}{word}" for at, word in enumerate(tail, len(head) % 2))]
    ),
    st.sampled_from([["u1"], ["u2"], ["s", "u1"], ["u1", "u3"]]),
    st.lists(st.sampled_from("ab"), max_size=5),
)


@given(st.lists(st.tuples(LISTS, st.booleans()), max_size=14))
@settings(max_examples=300)
def test_every_list_is_found_as_the_rules_say(steps):
    one, known = Recognition(), []
    for text, answered in steps:
        expected = _oracle(known, text)
        found = one.recognise(T, listed(text))
        assert (None if found.new else found.name) == expected
        words = text.split()
        entry = next((each for each in known if each[0] == found.name), None)
        if entry is None:
            entry = [found.name, words, False]
            known.append(entry)
        if entry[1][: len(words)] != words:
            entry[1] = words
        entry[2] |= any(word[0] == "r" for word in words)
        if answered:
            one.replied(T, found.name, listed(text), digest("rz"))
            entry[2] = True
            if words[: len(entry[1])] == entry[1]:
                entry[1] = [*words, "rz"]


@given(st.randoms(use_true_random=False), st.integers(2, 6))
@settings(max_examples=30)
def test_loops_whose_replies_differ_never_mix(rng, count):
    one = Recognition()
    talks = [["s u", f"t{at % 2}", "", 0] for at in range(count)]
    for _ in range(40):
        talk = rng.choice(talks)
        text, tenant, name, turn = talk
        found = one.recognise(tenant, listed(text))
        assert found.name == name or not name
        talk[2] = found.name
        reply = f"r{talks.index(talk)}-{turn}"
        one.replied(tenant, found.name, listed(text), digest(reply))
        talk[0], talk[3] = f"{text} {reply} u{turn}", turn + 1
    names = [talk[2] for talk in talks if talk[2]]
    assert len(set(names)) == len(names)


# --- bounds -------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 3])
def test_what_was_not_used_for_longest_is_forgotten_first(most):
    one = Recognition(conversations=most)
    names = [one.recognise(T, listed(f"u{at} r")).name for at in range(most)]
    assert one.recognise(T, listed("u0 r")).name == names[0]
    one.recognise(T, listed("u-one-more r"))
    kept = 1 if most > 1 else None
    for at in range(most):
        if most > 1 and at != kept:
            assert names[at] in one._tenants[T].talks
        else:
            assert names[at] not in one._tenants[T].talks


def test_messages_are_bounded_but_for_a_single_conversation():
    one = Recognition(messages=6)
    a = one.recognise(T, listed("u1 r1 u2")).name
    b = one.recognise(T, listed("u2 r1 u2")).name
    assert set(one._tenants[T].talks) == {a, b}
    b = one.recognise(T, listed("u2 r1 u2 r2")).name
    assert set(one._tenants[T].talks) == {b}
    one.replied(T, b, listed("u2 r1 u2 r2"), b"".join(digest(str(at)) for at in range(9)))
    assert one._tenants[T].size == 13


@pytest.mark.parametrize("most", [1, 2])
def test_tenants_are_bounded(most):
    one = Recognition(tenants=most)
    for at in range(most):
        one.recognise(f"t{at}", listed("u1 r1"))
    assert not one.recognise("t0", listed("u1 r1")).new
    one.recognise("more", listed("u1 r1"))
    assert len(one._tenants) == most
    assert ("t0" in one._tenants) == (most > 1)


@given(st.lists(st.tuples(LISTS, st.integers(0, 3)), max_size=30))
def test_counts_are_those_of_what_is_there(steps):
    one = Recognition(conversations=4, messages=12)
    for text, act in steps:
        found = one.recognise(T, listed(text))
        if act == 1:
            one.replied(T, found.name, listed(text), digest("r"))
        if act == 2:
            one.forget()
        if act == 3:
            one.recognise(T, listed(f"{text} rz"), lambda _: [Stored("n", listed("u1 r9"))])
        place = one._tenants.get(T) or _Tenant()
        assert place.size == sum(len(talk.joined) // 16 for talk in place.talks.values())
        assert (
            len(place.talks) == 1 or (len(place.talks) <= 4 and place.size <= 12) or not place.talks
        )
        named = [name for names in place.openings.values() for name in names]
        assert sorted(named) == sorted(place.talks)
        assert all(place.openings.values())


# --- the store ----------------------------------------------------------------------------------


def test_a_list_that_is_not_known_is_looked_for_in_the_store(one):
    asked = []

    def load(given):
        asked.append(given)
        return [
            Stored("old", listed("u1 r1 u2 r2")),
            Stored("new", listed("u1 r1 u3")),
            Stored("other", listed("u9 r1 u2 r2 u4 r4")),
        ]

    first = one.recognise(T, listed("u1"), load)
    one.replied(T, first.name, listed("u1"), digest("rq"))
    assert first.new
    assert asked == []
    found = one.recognise(T, listed("u1 r1 u2 r2 u3"), load)
    assert (found.name, found.common) == ("old", 4)
    assert len(asked) == 1
    assert one.recognise(T, listed("u1 r1 u2 r2 u3"), load).name == "old"
    assert one.recognise(T, listed("u1 r1 u2 r2 u3 r4"), load).name == "old"
    assert len(asked) == 1
    assert one.recognise(T, listed("u1 r9 u2"), load).new
    assert len(asked) == 2
    assert "other" not in one._tenants[T].talks


def test_turns_that_another_process_saw_are_looked_for_in_the_store(one):
    mine = one.recognise(T, listed("u1 r1")).name
    loaded = []

    def load(_given):
        loaded.append(1)
        return [Stored("theirs", listed("u1 r1 u2 r2 u3 r3"))]

    assert one.recognise(T, listed("u1 r1 u9 r9"), load).name == mine
    assert not loaded
    assert one.recognise(T, listed("u1 r1 u2 r2 u3 r3 u4"), load).name == "theirs"
    assert loaded == [1]


def test_what_is_known_is_newer_than_the_store(one):
    name = one.recognise(T, listed("u1 r1 u2 r2")).name
    unanswered = one.recognise(T, listed("u1")).name
    one.recognise(T, listed("u1 rx"), lambda _: [Stored(name, listed("u1 r1 u5"))])
    assert one.recognise(T, listed("u1 r1 u2 r2 u3")).common == 4
    one.recognise(T, listed("u1 ry"), lambda _: [Stored("stored", listed("u1 r7"))])
    order = list(one._tenants[T].openings[listed("u1").key])
    assert order[0] == "stored"
    assert order.index(name) < order.index(unanswered)


def test_what_is_dropped_is_found_in_the_store_again_and_nothing_else_goes(one):
    name = one.recognise(T, listed("u1 r1")).name
    other = one.recognise(T, listed("u2 r1")).name
    one.drop(T, name)
    one.drop(T, "auto-unknown")
    one.drop("key-2", other)
    assert one.recognise(T, listed("u2 r1 u3")).name == other
    found = one.recognise(T, listed("u1 r1 u2"), lambda _: [Stored(name, listed("u1 r1"))])
    assert (found.name, found.new) == (name, False)


def test_what_the_store_raises_is_raised_and_changes_nothing(one):
    def load(_given):
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        one.recognise(T, listed("u1 r1"), load)
    assert not one._tenants.get(T) or not one._tenants[T].talks


# --- threads and forks --------------------------------------------------------------------------


def test_threads_share_one():
    one, failed = Recognition(conversations=50), []

    def work(number):
        rng = random.Random(number)
        text, name = f"s u{number}", None
        for turn in range(100):
            found = one.recognise(f"t{number % 3}", listed(text))
            if name not in (None, found.name):
                failed.append(number)
            name = found.name
            one.replied(f"t{number % 3}", name, listed(text), digest(f"r{turn}"))
            text += f" r{turn} u{rng.random()}"

    threads = [threading.Thread(target=work, args=(at,)) for at in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_child_of_a_fork_begins_anew_while_a_thread_of_the_parent_is_inside(one):
    first = one.recognise(T, listed("u1 r1")).name
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with one._lock:
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(30)
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if one.recognise(T, listed("u1 r1")).new else 2
        finally:
            os._exit(code)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert one.recognise(T, listed("u1 r1")).name == first


# --- lists of messages --------------------------------------------------------------------------


def test_a_list_as_clients_write_it():
    plain = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "go"},
    ]
    noisy = [
        {**plain[0], "name": None},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {**plain[2], "refusal": None, "tool_calls": None, "reasoning_content": "hm"},
        plain[3],
    ]
    made = listed_of(plain, "openai")
    assert (made.opening, list(made.replies)) == (2, [2])
    assert listed_of(noisy, "openai") == made
    assert listed_of([*plain[:3], {"role": "user", "content": "no"}], "openai") != made


def test_a_list_of_each_dialect():
    gemini = [{"parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "yes"}]}]
    made = listed_of(gemini, "gemini")
    assert (made.opening, list(made.replies)) == (1, [1])
    items = [
        {"role": "developer", "content": "be kind"},
        {"role": "user", "content": "hi"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "1"},
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": "b"},
    ]
    made = listed_of(items, "responses")
    assert (made.opening, list(made.replies), len(made)) == (2, [2, 4], 6)
    assert listed_of([one for one in items if one.get("type") != "reasoning"], "responses") == made


def test_a_message_that_was_seen_is_told_as_it_was_each_time():
    texts = [f"seen {at}" for at in range(5)]
    messages = [
        {"role": ("user", "assistant")[at % 2], "content": one} for at, one in enumerate(texts)
    ]
    alone = [listed_of([one], "openai") for one in reversed(messages[1:4])][::-1]
    for _ in range(2):  # some are known, then all of them
        made = listed_of(messages, "openai")
        assert made.joined[16:64] == b"".join(one.joined for one in alone)
        assert len({made.joined[at : at + 16] for at in range(0, 80, 16)}) == len(made) == 5
        assert (made.opening, list(made.replies)) == (1, [1, 3])


def test_a_message_that_was_seen_is_none_of_another_dialect():
    messages = [{"role": "model", "parts": [{"text": "seen in one dialect"}]}]
    assert list(listed_of(messages, "gemini").replies) == [0]
    for dialect in ("anthropic", "responses"):
        with pytest.raises(InvalidInputError, match=dialect):
            listed_of(messages, dialect)
    assert list(listed_of(messages, "openai").replies) == []


@pytest.mark.parametrize(("most", "kept"), [(4, 4), (3, 1)])
def test_so_many_messages_are_remembered(most, kept):
    seen = _Seen(most)
    for at in range(4):
        seen.told([{"role": "user", "content": f"{at}"}], "openai")
    assert len(seen._known) == kept


@pytest.mark.parametrize("given", [[], [1], [{}], [[]]])
def test_what_is_no_list_of_messages_is_an_error(given):
    with pytest.raises(InvalidInputError):
        listed_of(given, "openai")


@pytest.mark.parametrize(
    ("digests", "opening", "replies"),
    [
        (b"x" * 15, 1, []),
        (b"x" * 17, 1, []),
        (b"x" * 31, 1, []),
        (b"x" * 16, 0, []),
        (b"x" * 16, 2, []),
        (b"", 0, []),
        (b"x" * 16, 1, [1]),
        (b"x" * 16, 1, [-1]),
    ],
)
def test_what_is_no_list_of_digests_is_an_error(digests, opening, replies):
    with pytest.raises(InvalidInputError):
        Listed(digests, opening, replies)
