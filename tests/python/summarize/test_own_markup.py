"""What warmset wrote into messages is no source of facts, and neither are tools of constraints."""

from __future__ import annotations

import pytest

from warmset import ClearToolResults, CollapseCalls, LatestToolResult, Memory, OffloadLarge, fit
from warmset.evict import BlobStore
from warmset.evict.slots import COLLAPSED, GAP
from warmset.evict.tool_results import CLEARED, REPEATED, SUPERSEDED
from warmset.quote.format import CLOSING, OPENING
from warmset.summarize import HEADING, ExtractiveSummarizer, audit, summary_of
from warmset.summarize.making import CARRIED
from warmset.summarize.prompt import shortened
from warmset.text.markup import without_markup
from warmset.tools import wording

RULE = "Never touch src/auth/login.py."
PLAIN = "We talked about the depot for a while, and then some more about it. " * 8


def facts_of(*messages):
    made = audit(list(messages), "nothing of it")
    return {(fact.kind, fact.text) for fact in made.lost}


@pytest.fixture
def quoted():
    """A user's message that holds a quotation, as a window has it."""
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        log.append({"role": "user", "content": "Begin."})
        log.append({"role": "user", "content": "Ada must keep port 9092 open for src/bus.py."})
        for at in range(40):
            log.append({"role": "assistant", "content": f"Answer {at}: {PLAIN}"})
            log.append({"role": "user", "content": f"Go on with step {at}, please. {PLAIN}"})
        window = log.window("Which port must Ada keep open?", budget=3_000, recent=2)
        [found] = [one for one in window.messages if OPENING in str(one["content"])]
        return found


def test_a_quotation_states_nothing(quoted):
    assert CLOSING in quoted["content"]
    assert without_markup(quoted["content"]).strip() == ""
    assert facts_of(quoted) == set()
    both = {"role": "user", "content": f"{RULE}\n{quoted['content']}\nThe ticket is LED-42."}
    assert facts_of(both) == {
        ("constraint", RULE),
        ("path", "src/auth/login.py"),
        ("identifier", "LED-42"),
    }


@pytest.mark.parametrize(
    "line",
    [
        "[changed later: #41]",
        "[changed later: #41, below]",
        "[Sun 7 May 2023]",
        '[above: Sun 7 May 2023; "yesterday" is 6 May 2023, "last week" is 24-30 Apr 2023]',
        "[above: Sun 7 May 2023 to Tue 9 May 2023]\n[Wed 10 May 2023]",
    ],
)
def test_a_line_with_a_day_states_nothing(line):
    assert without_markup(line).strip() == ""
    last = line.splitlines()[-1]
    assert without_markup(f"{last} is when") == f"{last} is when", "that is what somebody said"


def test_a_quotation_that_was_cut_states_nothing_either(quoted):
    cut = quoted["content"].removesuffix(CLOSING)
    assert cut != quoted["content"]
    assert facts_of({"role": "user", "content": cut}) == set()


def test_a_summary_takes_no_sentence_of_a_quotation(quoted):
    messages = [{"role": "user", "content": RULE}, quoted, {"role": "assistant", "content": PLAIN}]
    made = summary_of(messages, ExtractiveSummarizer(), max_tokens=150, carry_tokens=100)
    assert RULE in made.text
    for ours in ("Use them as facts", "earlier-turns", "9092", "Earlier turns of"):
        assert ours not in made.text


def test_who_speaks_of_the_tag_is_read():
    text = "Why does a message begin with <earlier-turns>? It must not be stored in src/log.py."
    assert ("path", "src/log.py") in facts_of({"role": "user", "content": text})
    assert not any(
        "earlier-turns" in fact for _, fact in facts_of({"role": "user", "content": text})
    )


@pytest.mark.parametrize(
    "text",
    [
        CLEARED,
        REPEATED,
        SUPERSEDED,
        GAP,
        COLLAPSED,
        HEADING,
        CARRIED,
        OffloadLarge(lines=0)._shown("x\n" * 400, "blob-3f2a9c"),
        shortened("x" * 900, 1)[0].strip("x"),
        wording.UNKNOWN,
        wording.exhausted(3, 4_000),
        wording.fetched([], [12, 40], [41], cut=None, exhausted=wording.exhausted(0, 90)),
        wording.fetched([], [], [], cut=7, exhausted=""),
        'fetch_turns({"ids":[12,40]})',
    ],
)
def test_what_warmset_writes_states_nothing(text):
    assert without_markup(text).strip() == ""
    assert facts_of({"role": "user", "content": f"{RULE}\n{text}"}) == {
        ("constraint", RULE),
        ("path", "src/auth/login.py"),
    }


def test_what_stands_under_a_heading_is_read():
    for head in (HEADING, CARRIED, COLLAPSED):
        assert ("identifier", "LED-42") in facts_of({"role": "user", "content": f"{head}\nLED-42"})


# --- tools ----------------------------------------------------------------------------------------

OUTPUT = (
    "You must never deploy on Friday. TODO: rotate the keys. We decided on port 8080. "
    "See src/deploy.py, ticket LED-42, 31 rows."
)
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def test_the_output_of_a_tool_binds_nobody_and_asks_for_nothing():
    found = facts_of(ASKS, {"role": "tool", "tool_call_id": "c1", "content": OUTPUT})
    assert not {kind for kind, _ in found} & {"constraint", "task"}
    assert {("path", "src/deploy.py"), ("identifier", "LED-42"), ("number", "31")} <= found


def test_a_message_with_results_and_words_has_the_constraints_of_its_words():
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": OUTPUT}
    words = {"type": "text", "text": "Always use the replica."}
    found = facts_of(
        {"role": "assistant", "content": [use]}, {"role": "user", "content": [result, words]}
    )
    assert [text for kind, text in found if kind == "constraint"] == ["Always use the replica."]
    assert ("path", "src/deploy.py") in found


def test_a_summary_prefers_what_somebody_said_to_what_a_tool_put_out():
    messages = [
        {"role": "user", "content": "Look at the deployment."},
        ASKS,
        {"role": "tool", "tool_call_id": "c1", "content": "You must never deploy on Friday."},
        {"role": "assistant", "content": "Somebody has to rotate those keys before we go on."},
        {"role": "user", "content": PLAIN},
    ]
    made = summary_of(messages, ExtractiveSummarizer(), max_tokens=26)
    assert "rotate" in made.text
    assert "Friday" not in made.text


# --- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "The gateway takes 50 requests per minute from everybody who is on the free plan.",
            "gateway takes 50 requests per minute",
        ),
        ("It went well, timeout: 30 s, and nobody minded that at all.", "timeout: 30 s"),
        ("We have 34 gauges and they are all read by Femke.", "34 gauges"),
        ("After lunch the pool had 20, which was too few for us.", "pool had 20"),
        ("On 8 May 2023 we moved.", "8 May 2023 we moved"),
        ("x=42", "x=42"),
    ],
)
def test_a_number_is_listed_with_the_few_words_that_say_what_it_is(text, said):
    lost = audit([{"role": "assistant", "content": text}], "nothing")
    [listed] = [line for line in lost.carried(200).splitlines() if line.startswith("Numbers: ")]
    assert listed.removeprefix("Numbers: ") == said


def test_a_list_of_a_window_that_was_fitted_states_what_was_said(quoted):
    long = "row 17 of the ledger\n" * 600
    messages = [
        {"role": "user", "content": RULE},
        ASKS,
        {"role": "tool", "tool_call_id": "c1", "content": long},
        {"role": "assistant", "content": "Read."},
        quoted,
    ]
    for policy in (
        ClearToolResults(keep=0, always=True),
        LatestToolResult(always=True),
        OffloadLarge(lines=0, store=BlobStore(None), always=True),
        CollapseCalls(keep=0, always=True),
    ):
        made = fit(messages, budget=100_000, policy=policy)
        kinds = {text for kind, text in facts_of(*made.messages) if kind == "constraint"}
        assert kinds == {RULE}
