"""Windows of mode "steady": when an epoch goes on, what is recalled, and when the next begins."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from checked_locks import alone
from fitting import cases
from growing_oracle import pieces
from preparing import LINE, Clock, Hand, Writer

from warmset import Memory, PreparedCompaction, count_tokens
from warmset.errors import BudgetTooSmall
from warmset.messages import validate
from warmset.state.branches import History
from warmset.testing import random_history
from warmset.window.steady.epoch import Epoch, on_path
from warmset.window.steady.record import recorded

BUDGET = 900
WORDS = ("crane", "steel", "harbour", "lamp", "teapot", "garden", "bicycle", "umbrella", "boat")


def said(role, text):
    return {"role": role, "content": text}


def asked(number, about=None):
    words = " ".join(WORDS[(number + at) % len(WORDS)] for at in range(25))
    return said("user", f"question {number} about code{about or number}: {words}")


def answered(number):
    words = " ".join(WORDS[(number * 2 + at) % len(WORDS)] for at in range(25))
    return said("assistant", f"code{number} is {number * 7}: {words}")


def look(chat, query=None, budget=BUDGET, **options):
    """A steady window, which is valid and within its budget."""
    made = chat.window(query, budget=budget, mode="steady", recall_share=0.3, **options)
    assert made.tokens <= budget
    assert list(validate(made.messages, dialect=made.dialect)) == []
    return made


def talk(chat, count, start=1, **options):
    """Exchanges, each with a window; the windows."""
    made = []
    for number in range(start, start + count):
        chat.append(asked(number))
        made.append(look(chat, **options))
        chat.append(answered(number))
    return made


def grows(before, after):
    """Whether a list begins with another one, as the provider's cache compares them."""
    first = pieces(before.messages)
    return pieces(after.messages)[: len(first)] == first


@pytest.fixture
def chat():
    with Memory.open(None, embedder="lexical") as memory:
        yield memory.conversation("log")


def recalling(chat, **options):
    """A window that recalls, of a conversation of which most is hidden."""
    talk(chat, 20, **options)
    chat.append(asked(21, about=2))
    made = look(chat, **options)
    assert made.report.epoch.recalled
    return made


def texts(made):
    return [one["content"] for one in made.messages]


# --- within an epoch -----------------------------------------------------------------------------


def test_a_list_begins_with_the_list_before_it(chat):
    made = talk(chat, 20)
    for before, after in pairwise(made):
        assert grows(before, after) is not after.report.epoch.began
    assert [one.report.epoch.number for one in made] == sorted(
        one.report.epoch.number for one in made
    )
    assert sum(one.report.epoch.began for one in made) == made[-1].report.epoch.number > 2


def test_asked_again_without_new_messages_it_is_the_same(chat):
    made = recalling(chat)
    again = look(chat)
    assert again.messages == made.messages
    assert again.report.epoch.recalled == ()
    assert not again.report.epoch.began


def test_what_is_recalled_stands_before_its_request_and_stays(chat):
    made = recalling(chat)
    assert "code2" in texts(made)[-2]
    assert texts(made)[-1] == asked(21, about=2)["content"]
    chat.append(answered(21))
    chat.append(asked(22, about=2))
    after = look(chat)
    assert grows(made, after) or after.report.epoch.began


def test_an_exchange_begins_with_the_message_behind_the_list(chat):
    talk(chat, 20)
    assert look(chat).report.epoch.recalled == ()  # it has the last answer
    chat.append(asked(21, about=2))
    assert look(chat).report.epoch.recalled


def test_what_stands_in_the_list_is_not_recalled_again(chat):
    made = recalling(chat)
    chat.append(said("assistant", "It is 14."))
    chat.append(said("user", "And code2 once more?"))
    after = look(chat)
    assert grows(made, after)
    assert not set(after.report.epoch.recalled) & set(made.report.epoch.recalled)


def test_nothing_is_recalled_within_a_loop(chat):
    recalling(chat)
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat.append({"role": "assistant", "content": None, "tool_calls": [call]})
    chat.append({"role": "tool", "tool_call_id": "a", "content": "code3 is asked for"})
    assert look(chat).report.epoch.recalled == ()


def test_no_share_recalls_nothing(chat):
    talk(chat, 20)
    chat.append(asked(21, about=2))
    made = chat.window(budget=BUDGET, mode="steady", recall_share=0)
    assert made.report.epoch.recalled == ()
    assert made.report.epoch.hidden


def test_a_request_that_is_appended_later_keeps_what_was_recalled_for_it(chat):
    talk(chat, 20)
    request = asked(21, about=2)
    made = look(chat, request["content"])
    assert made.report.epoch.recalled
    chat.append(request)
    after = look(chat)
    assert after.messages == made.messages
    chat.append(answered(21))
    chat.append(said("user", "thanks"))
    assert grows(made, look(chat))


@pytest.mark.parametrize("instead", ["appended", "asked", "answered"])
def test_another_request_loses_what_was_recalled(chat, instead):
    talk(chat, 20)
    made = look(chat, asked(21, about=2)["content"])
    assert made.report.epoch.recalled
    recalled = texts(made)[-2]
    if instead == "asked":
        after = look(chat, "thanks for all of it")
    elif instead == "appended":
        chat.append(said("user", "thanks for all of it"))
        after = look(chat)
    else:
        chat.append(answered(21))
        after = look(chat)
    assert recalled not in texts(after)
    assert after.report.epoch.number == made.report.epoch.number
    assert look(chat, *(["thanks for all of it"] if instead == "asked" else [])).messages == (
        after.messages
    )


def test_an_answer_with_the_words_of_the_request_is_not_the_request(chat):
    talk(chat, 20)
    made = look(chat, asked(21, about=2)["content"])
    assert made.report.epoch.recalled
    chat.append(said("assistant", asked(21, about=2)["content"]))
    assert texts(made)[-2] not in texts(look(chat))


def test_a_first_message_near_the_budget_begins_no_second_list(chat):
    chat.append(said("user", "harbour " * 100))
    whole = look(chat).tokens
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        chat.append(said("user", "harbour " * 100))
        assert look(chat, budget=whole + 5).report.epoch.why == "the conversation began"


# --- branches ------------------------------------------------------------------------------------


def edited(chat, at, text="something else"):
    """The conversation with another message at a position, as its last one."""
    history = [dict(one) for one in chat][:at]
    chat.sync([*history, said("user", text)])


def test_an_edit_at_each_position_keeps_what_is_before_it():
    """The front too, unless the edit is before the first message from which on all are shown."""
    kept = []
    for at in range(0, 42, 2):
        with Memory.open(None, embedder="lexical") as memory:
            chat = memory.conversation("log")
            made = recalling(chat)
            hidden, number = made.report.epoch.hidden, made.report.epoch.number
            edited(chat, at)
            after = look(chat)
            same = after.report.epoch.number == number
            kept.append(same)
            if same:
                whole, now = pieces(made.messages), pieces(after.messages)
                until = now.index('{"type": "text", "text": "something else"}')
                assert now[:until] == whole[:until]
                assert look(chat).messages == after.messages
            else:
                whys = ("a message in it was edited", "the list came near", "the list reached")
                assert after.report.epoch.why.startswith(whys)
                assert after.report.epoch.began
            assert same == (at > hidden)  # the task is held, so one more is hidden than counted
    assert kept == sorted(kept)
    assert any(kept)
    assert not all(kept)


def test_an_edit_of_the_request_loses_what_was_recalled_for_it(chat):
    made = recalling(chat)
    edited(chat, len(chat) - 1)
    after = look(chat)
    assert texts(made)[-2] not in texts(after)
    assert texts(after)[:-1] == texts(made)[:-2]


def test_an_edit_behind_the_request_keeps_it(chat):
    made = recalling(chat)
    chat.append(answered(21))
    edited(chat, len(chat) - 1)
    assert grows(made, look(chat))


# --- when the next one begins --------------------------------------------------------------------


def test_a_new_list_over_the_budget_has_a_number_of_its_own(tmp_path):
    """Both are made anew for the same reason, and have no message of ours in common."""
    with Memory.open(tmp_path / "a", embedder="lexical") as memory:
        chat = memory.conversation("log")
        history = [one for number in range(1, 31) for one in (asked(number), answered(number))]
        chat.append(history)
        first = look(chat).report.epoch
        chat.sync([*history[:2], said("user", "no"), *history[3:50]])
        made = look(chat)
        assert (first.number, made.report.epoch.number) == (1, 2)
        assert first.why == made.report.epoch.why == "the list reached the budget"
        assert made.report.epoch.began
    with Memory.open(tmp_path / "a", embedder="lexical") as memory:
        assert look(memory.conversation("log")).messages == made.messages


@pytest.mark.parametrize("changed", [{"system": "Be brief."}, {"model": "n"}])
def test_beside_another_system_prompt_or_model_the_list_stays(chat, changed):
    made = recalling(chat, model="m")
    after = look(chat, **{"model": "m"} | changed)
    assert after.messages[-len(made.messages) :] == made.messages
    assert after.report.epoch.began
    assert after.report.epoch.recalled == ()
    assert after.report.epoch.hidden == made.report.epoch.hidden
    assert not look(chat, **{"model": "m"} | changed).report.epoch.began


def test_back_at_an_earlier_model_its_list_goes_on(chat):
    made = recalling(chat, model="m")
    look(chat, model="n")
    chat.append(answered(21))
    chat.append(said("user", "thanks"))
    look(chat, model="n")
    after = look(chat, model="m")
    assert grows(made, after)
    assert not after.report.epoch.began


def test_epochs_have_the_numbers_one_two_three(chat):
    numbers, systems = [], ["a", "b"]
    for number in range(1, 30):
        chat.append(asked(number))
        made = look(chat, budget=700, system=systems[number // 8 % 2])
        chat.append(answered(number))
        if made.report.epoch.began:
            numbers.append(made.report.epoch.number)
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 4


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "responses", "gemini"])
def test_too_small_a_budget_names_the_smallest_that_is_enough(dialect):
    seen, seeds = 0, cases(5, 12)
    for seed in range(seeds):
        history = random_history(seed, dialect).messages
        with Memory.open(None, embedder="lexical") as memory:
            for end in range(1, len(history), 3):
                chat = memory.conversation(f"{seed} {end}")
                chat.append(history[:end])
                with pytest.raises(BudgetTooSmall) as error:
                    chat.window(budget=3, mode="steady")
                need = error.value.need
                assert error.value.have == 3
                for less in (need - 1, need // 2):
                    with pytest.raises(BudgetTooSmall) as error:
                        chat.window(budget=less, mode="steady")
                    assert error.value.need == need
                assert chat.window(budget=need, mode="steady").tokens <= need
                seen += 1
    assert seen > 3 * seeds


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini"])
def test_a_list_that_fits_is_not_made_anew(dialect):
    """Merged neighbours have fewer tokens than they are counted with."""
    for seed in range(20):
        history = random_history(Random(seed), dialect, exchanges=5).messages
        with Memory.open(None, embedder="lexical") as memory:
            chat = memory.conversation("log")
            chat.append(history)
            whole = chat.window(budget=10**7, mode="steady").tokens
            made = memory.conversation("log").window(budget=whole, mode="steady", swap_at=1)
            assert not made.report.epoch.began, seed
            for share in (30, 60, 90):
                options = {"budget": whole * share // 100, "mode": "steady", "dialect": dialect}
                try:
                    made = chat.window(**options)
                except BudgetTooSmall:
                    continue
                again = chat.window(**options)
                assert again.messages == made.messages
                assert not again.report.epoch.began, (seed, share)


# --- what the next epoch begins with -------------------------------------------------------------


@pytest.fixture
def hand():
    return Hand(Clock())


def summarising(hand, answer="good", share=0.35, budget=600, **options):
    """A conversation whose summaries are written by hand; its windows that began an epoch."""
    writer = Writer()
    writer.answer = answer
    policy = PreparedCompaction(summarizer=writer, worker=hand, clock=hand.clock, **options)
    made, last = [], None
    with Memory.open(None, embedder="lexical", compaction=policy) as memory:
        log = memory.conversation("log")
        log.append(said("user", "The task: count crates."))
        for at in range(40):
            log.append(said("user", f"Question {at}: {LINE}?"))
            window = log.window(budget=budget, mode="steady", swap_to=share)
            if window.report.epoch.began:
                made.append(window)
            assert window.report.epoch.began or grows(last, window)
            last = window
            log.append(said("assistant", f"Answer {at}: {LINE}."))
    return made[1:]


def test_a_summary_that_is_ready_is_shown_by_each_new_epoch(hand):
    hand.ends_in = 1
    made = summarising(hand, deadline=5)
    assert len(made) >= 3
    for window in made:
        assert "What was said in" in texts(window)[1]
        assert window.report.compaction.applied
        assert window.report.epoch.between < window.report.epoch.hidden
        assert window.tokens <= 600 * 0.35
    assert max(hand.waited) == 1


def test_what_a_summary_stands_for_is_not_shown_beside_it(hand):
    """Even where it would fit."""
    hand.ends_in = 1
    made = summarising(hand, deadline=5, share=0.8)
    assert made
    for window in made:
        assert window.report.epoch.between == 0
        assert window.report.epoch.hidden + 1 == window.report.compaction.boundary


@pytest.mark.parametrize("share", [0.35, 0.8])
def test_an_index_beside_a_summary_lists_what_lies_between_alone(hand, share):
    """With much room nothing lies between, and there is no index."""
    hand.ends_in = 1
    made = summarising(hand, deadline=5, share=share, budget=1_200)
    listed = 0
    for window in made:
        ids = [id_ for part in window.parts if part.name == "index" for id_ in part.ids]
        assert len(ids) <= window.report.epoch.between
        listed += len(ids)
    assert (listed > 0) == (share == 0.35)


@pytest.mark.parametrize("deadline", [0, 5])
def test_without_a_summary_in_time_the_newest_units_stand_alone(hand, deadline):
    made = summarising(hand, deadline=deadline)
    assert len(made) >= 3
    for window in made:
        assert not window.report.compaction.applied
        assert window.report.epoch.between == window.report.epoch.hidden
        assert window.tokens <= 600 * 0.35
    assert sum(hand.waited) == deadline  # once for each summary


def test_a_late_summary_serves_the_next_epoch(hand):
    policy = PreparedCompaction(summarizer=Writer(), worker=hand, clock=hand.clock, deadline=5)
    with Memory.open(None, embedder="lexical", compaction=policy) as memory:
        log, applied = memory.conversation("log"), []
        log.append(said("user", "The task: count crates."))
        for at in range(24):
            log.append(said("user", f"Question {at}: {LINE}?"))
            window = log.window(budget=600, mode="steady")
            if window.report.epoch.began:
                applied.append(window.report.compaction.applied)
                if len(applied) == 2:
                    hand.run()
            log.append(said("assistant", f"Answer {at}: {LINE}."))
    assert applied == [False, False, True]


@pytest.mark.parametrize("budget", [300, 450, 600, 900, 1500])
def test_a_new_epoch_has_its_share_of_the_budget(budget):
    """The index too is within its share, with the words around it."""
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        for number in range(1, 60):
            chat.append(asked(number))
            made = chat.window(budget=budget, mode="steady")
            tokens = {part.name: part.tokens for part in made.parts}
            now = kept(memory)[0]
            assert all(at < now.start for one in now.insertions for at in one.listed)
            if made.report.epoch.began and number > 1:
                assert made.tokens <= budget * 0.35 or made.report.epoch.over
                assert tokens.get("index", 0) <= budget * 0.1
            chat.append(
                [
                    answered(number),
                    said("user", f"We decided to use code{number}."),
                    answered(number),
                ]
            )
    assert made.report.epoch.number > 4
    assert tokens.get("index", 0) > 0 or budget < 900


def test_where_more_must_stay_than_its_share_the_list_can_still_grow(chat):
    """It is not filled up to the budget, or each exchange would begin an epoch."""
    made = []
    for number in range(1, 60):
        chat.append(asked(number))
        window = chat.window(budget=BUDGET, mode="steady", swap_to=0.05, recall_share=0)
        made.append(window)
        chat.append(answered(number))
    began = [one for one in made[1:] if one.report.epoch.began]
    assert 2 < len(began) < 8
    for one in began:
        assert one.report.epoch.over
        assert one.tokens < BUDGET * 0.25
    assert not any(one.report.epoch.over for one in made if not one.report.epoch.began)


# --- an epoch ------------------------------------------------------------------------------------


def kept(memory):
    """The epoch of the conversation as it is recorded, and its messages."""
    engine = memory._engine
    ledger = engine.ledger("default", "log")
    with engine.lock:
        return recorded(engine, ledger, ("openai", "")), ledger


@pytest.mark.parametrize("share", [0.1, 0.3, 0.34])
def test_what_is_recalled_is_hidden_said_once_and_within_its_share(share):
    found = 0
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        for number in range(1, 60):
            chat.append(asked(number, about=(number * 7) % 60 + 1))
            before = kept(memory)[0]
            made = chat.window(budget=2_000, mode="steady", recall_share=share)
            now, _ = kept(memory)
            fresh = [one for one in now.insertions if one.name == "recall"]
            old = [] if before is None or made.report.epoch.began else before.insertions
            fresh = [one for one in fresh if one not in old]
            said_already = {at for one in old for at in (*one.quoted, *one.listed)}
            for one in fresh:
                found += 1
                tokens = count_tokens([said("user", one.text)])
                left = 2_000 - (made.tokens - tokens)
                assert tokens <= min(share * 2_000, left * 0.25) + 1
                assert not {*one.quoted} & {*one.listed}
                for at in (*one.quoted, *one.listed):
                    assert at < now.start
                    assert at not in now.held
                for at in one.listed:
                    assert at not in said_already
                assert not {*one.quoted} & {at for other in old for at in other.quoted}
            chat.append(answered(number))
    assert found > 3


class First:
    """A picker that picks the first few candidates."""

    fingerprint = "first"

    def pick(self, _request, candidates, *, limit):
        return [one.id for one in candidates][: min(limit, 3)]


def test_a_line_is_said_once_and_a_recall_is_within_its_room():
    """Of many turns about one thing a few are quoted, and others have a line."""
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("log")
        for number in range(1, 100):
            about = "zebra " * (number % 3 == 0)
            chat.append(said("user", f"{about}{asked(number)['content']} " + "tide " * 40))
            chat.append(answered(number))
        for number in range(4):
            chat.append(said("user", f"what is known of each zebra, number {number}?"))
            options = {"recall_share": 0.1, "swap_to": 0.4, "picker": First()}
            made = chat.window(budget=8_000, mode="steady", **options)
            assert len(made.report.epoch.recalled) > 1
            chat.append(said("assistant", "little"))
            assert not made.report.epoch.began or number == 0
        recalls = [one for one in kept(memory)[0].insertions if one.name == "recall"]
        listed = [at for one in recalls for at in one.listed]
        quoted = [at for one in recalls for at in one.quoted]
        assert len(recalls) == 4
        assert len(quoted) == len(set(quoted))
        assert len(listed) == len(set(listed)) > 3
        for one in recalls:
            assert count_tokens([said("user", one.text)]) <= 0.1 * 8_000
        lists = sum(len(part.ids) for part in made.parts if part.name == "index")
        assert lists >= len(listed)


def test_an_epoch_knows_what_it_shows():
    one = Epoch(start=4, held=(0, 2), count=9)
    assert [at for at in range(9) if one.has(at)] == [0, 2, 4, 5, 6, 7, 8]


@alone()
def test_an_epoch_of_which_a_message_is_gone_does_not_stand():
    history = History()
    for id_ in (1, 2, 3):
        history.add(id_, b"%016d" % id_)
    assert on_path(Epoch(count=3, head=3), history) == Epoch(count=3, head=3)
    assert on_path(Epoch(count=2, head=9), history) is None  # it was erased
    history.move(1)
    history.add(4, b"%016d" % 4)
    assert on_path(Epoch(count=3, head=3), history) == Epoch(count=1, head=1)
    assert on_path(Epoch(count=4, head=3), history) is None  # one before it was
    assert on_path(Epoch(start=2, count=3, head=3), history) is None
    assert on_path(Epoch(), history) == Epoch()
