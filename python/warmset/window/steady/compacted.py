"""The next epoch behind a provider's compaction, and the list that the provider compacts.

```text
message … message │ reply, results, request …     the list that was sent, and what came since
   compaction     │ reply, results, request …     the next epoch: the rest is unchanged
```

A model takes the thinking behind a compaction only under conditions, all of which are looked at
here. Source: the page on compaction and preserved thinking of platform.claude.com/docs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from warmset.llm import ListRequest
from warmset.messages import facts
from warmset.messages.anthropic.walk import blocks, is_summary
from warmset.messages.responses.kinds import BESIDE, COMPACTION, item_kind
from warmset.messages.thinking import THOUGHTS
from warmset.store.epochs import Insertion, Moved
from warmset.tokens import message_tokens
from warmset.window.render import render, total
from warmset.window.steady.epoch import FRONT, Epoch
from warmset.window.steady.resume import leading
from warmset.window.steady.write import in_list, write
from warmset.window.summaries import SentOut
from warmset.window.thinking import prefixes_of, without_unbound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine.engine import Engine
    from warmset.messages import ConversionResult, Facts, Message
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.render import Call
    from warmset.window.steady.resume import Plan
    from warmset.window.summaries import Returned

COMPACTED: Final = "the provider compacted the list"
FOLLOWED: Final = "the provider had compacted the messages before"

ANOTHER: Final = "another epoch began meanwhile"
BRANCHED: Final = "the conversation branched before the end of the compacted list"
ROLE: Final = (
    "the provider would merge the first message behind the compaction into the last before"
)
UNEQUAL: Final = "the messages behind the compaction would not follow unchanged"
LARGE: Final = "the list is near the budget behind the compaction, too"
OPEN: Final = "a tool call has no result yet"
SYSTEM: Final = "a system message among the messages would stop to apply"


def obstacle(ledger: Ledger, call: Call) -> str | None:
    """Return why a conversation's messages cannot be compacted now; None if they can.

    Args:
        ledger: The conversation.
        call: The call that the list is for.
    """
    accounts, live = ledger.accounts(), ledger.live()
    if any(not accounts.is_left(unit) for unit in accounts.open):
        return OPEN
    lead = len(leading(ledger))
    if call.target == "anthropic" and any(one.facts.is_system for one in live[lead:]):
        return SYSTEM
    return None


def sent_out(
    engine: Engine, ledger: Ledger, call: Call, now: Epoch, made: Assembled, token: str
) -> SentOut | None:
    """Return the list of an epoch as the provider is asked to compact it.

    That is the list as it was sent, without a request that is not a message of the conversation.

    Args:
        engine: The store.
        ledger: The conversation.
        call: The call that the list is for.
        now: The epoch.
        made: Its list.
        token: The name of its record.

    Returns:
        The list; None if its last message is not shown.
    """
    if now.head not in made.turns:
        return None
    until = _end(made, now.head) + _behind(call, now, now.count)
    path = ledger.history.path
    shown = [path[at] for at in (*now.held, *range(now.start, now.count))]
    places = (at for one in now.insertions for at in (*one.quoted, *one.listed, *one.dated))
    quoted = [path[at] for at in places if at < len(path)]
    done = render(call, list(made.plain[:until]))
    return SentOut(
        request=_request(call, done),
        token=token,
        count=now.count,
        head=now.head,
        behind=prefixes_of(call, made)[until],
        tokens=total(engine, call, done),
        sources=tuple(dict.fromkeys([now.head, *shown, *quoted, *now.made_of])),
    )


def part_of(
    engine: Engine, ledger: Ledger, call: Call, now: Epoch, boundary: int
) -> ListRequest | None:
    """Return the part of an epoch's list before a boundary; the caller holds the engine's lock.

    Args:
        engine: The store.
        ledger: The conversation.
        call: The call that the list is for.
        now: The epoch.
        boundary: A number of the conversation's messages.

    Returns:
        The part; None if it does not end there, or is in another dialect than the conversation.
    """
    last = ledger.history.path[boundary - 1]
    if call.source != call.target or boundary <= now.start or boundary > now.count:
        return None
    made, _ = without_unbound(engine, ledger, call, write(engine, ledger, call, now), now.moved)
    if last not in made.turns:
        return None
    return _request(call, render(call, list(made.plain[: _end(made, last)])))


def behind(
    engine: Engine, ledger: Ledger, call: Call, plan: Plan, returned: Returned, most: int
) -> Epoch | str | None:
    """Plan the epoch behind a compaction; the caller holds the engine's lock.

    Args:
        engine: The store.
        ledger: The conversation.
        call: The call that the list is for.
        plan: The epoch before.
        returned: What the provider returned.
        most: The most tokens that its list may have, so that it can grow.

    Returns:
        The epoch; why there is none; or None if no message follows yet.
    """
    last, count = plan.now, returned.count
    why = _left(ledger, plan, returned)
    if why is not None or (last.count == count and call.request is None):
        return why
    written = write(engine, ledger, call, last)
    whole, _ = without_unbound(engine, ledger, call, written, last.moved)
    why, cut = _uncut(call, whole, returned, _behind(call, last, count))
    if why is not None:
        return why
    lead = leading(ledger)
    stands = _stands(engine, call, returned, whole.plain[len(lead) : cut], whole.plain[: len(lead)])
    rest = (one for one in last.insertions if _is_behind(call, one, count))
    epoch = Epoch(
        number=last.number + 1,
        why=COMPACTED,
        start=count,
        held=lead,
        lead=len(lead),
        insertions=(stands, *_beside(last), *rest),
        count=last.count,
        head=last.head,
        beside=last.beside,
        asked=last.asked,
        token=last.token,
        made_of=returned.sources if returned.id is None else (returned.id,),
    )
    made = write(engine, ledger, call, epoch)
    first = len(lead) + len(stands.messages)
    raw = _end(written, returned.head) + _behind(call, last, count)
    if made.tokens > most or list(made.plain[first:]) != list(written.plain[raw:]):
        return LARGE if made.tokens > most else UNEQUAL
    then = replace(
        made,
        plain=[*made.plain[:first], *whole.plain[cut:]],
        turns=[*made.turns[:first], *whole.turns[cut:]],
    )
    moved = _moved(ledger, call, then, first)
    return replace(epoch, insertions=(replace(stands, moved=moved), *epoch.insertions[1:]))


def at_compaction(
    engine: Engine, ledger: Ledger, call: Call, plan: Plan, most: int
) -> Epoch | None:
    """Plan an epoch that begins with the newest compaction among the conversation's messages.

    A provider that compacts by itself returns it with a reply, and does not read what is before it.

    Args:
        engine: The store.
        ledger: The conversation.
        call: The call that the list is for.
        plan: The epoch before.
        most: The most tokens that the list may have, so that it can grow.

    Returns:
        The epoch; None if there is no compaction behind the first message, or too much behind it.
    """
    last, live, path = plan.now, ledger.live(), ledger.history.path
    kept = (at for at in range(last.count - 1, last.start, -1) if live[at].facts.keep)
    start = next((at for at in kept if _is_compaction(engine.message(path[at]))), None)
    if start is None or call.source != call.target or call.target not in THOUGHTS:
        return None
    lead = leading(ledger)
    stands = Insertion(name="compaction", at=start, text="")
    rest = (one for one in last.insertions if _is_behind(call, one, start))
    epoch = replace(
        last,
        number=last.number + 1,
        why=FOLLOWED,
        start=start,
        held=lead,
        lead=len(lead),
        insertions=(stands, *_beside(last), *rest),
        made_of=(),
    )
    made, written = (write(engine, ledger, call, one) for one in (epoch, last))
    whole, _ = without_unbound(engine, ledger, call, written, last.moved)
    first = path[start]
    if made.tokens > most or first not in whole.turns or first not in made.turns:
        return None
    cut, at = _end(whole, first) - 1, _end(made, first) - 1
    then = replace(
        made,
        plain=[*made.plain[:at], *whole.plain[cut:]],
        turns=[*made.turns[:at], *whole.turns[cut:]],
    )
    moved = _moved(ledger, call, then, at)
    return replace(epoch, insertions=(replace(stands, moved=moved), *epoch.insertions[1:]))


def _is_compaction(message: Message) -> bool:
    if message.get("type") == COMPACTION:
        return True
    return "content" in message and any(map(is_summary, blocks(message)))


def _end(made: Assembled, turn: int) -> int:
    """Return the number of a list's messages up to a turn."""
    return list(made.turns).index(turn) + 1


def _behind(call: Call, epoch: Epoch, count: int) -> int:
    """Return how many messages of ours belong to the request that is the last of so many."""
    return sum(_belongs(call, one) and one.at == count for one in epoch.insertions)


def _beside(epoch: Epoch) -> tuple[Insertion, ...]:
    """Return what is pinned in the system prompt, which must be the same behind a compaction."""
    return tuple(one for one in epoch.insertions if not in_list(one))


def _is_behind(call: Call, one: Insertion, count: int) -> bool:
    """Return whether a message of ours stands behind so many messages and what belongs to them."""
    return one.name not in FRONT and one.at >= count + _belongs(call, one)


def _belongs(call: Call, one: Insertion) -> bool:
    """Return whether a message of ours stands behind its request, and not before."""
    return one.name == "listing" and call.target == "anthropic"


def _request(call: Call, done: ConversionResult) -> ListRequest:
    return ListRequest(
        messages=done.messages,
        system=done.system,
        tools=call.tools,
        model=call.model,
        dialect=call.target,
    )


def _left(ledger: Ledger, plan: Plan, returned: Returned) -> str | None:
    """Return why the list that was compacted is not the front of the epoch's any more."""
    last, was, path = plan.now, plan.recorded, ledger.history.path
    if was is None or (last.number, last.why) != (was.number, was.why):
        return ANOTHER
    if last.count < returned.count or path[returned.count - 1] != returned.head:
        return BRANCHED
    return None


def _uncut(call: Call, whole: Assembled, returned: Returned, more: int) -> tuple[str | None, int]:
    """Return why an epoch's list cannot be cut behind what was compacted; and where it can."""
    if returned.head not in whole.turns:
        return UNEQUAL, 0
    cut = _end(whole, returned.head) + more
    if prefixes_of(call, whole)[cut] != returned.behind or cut == len(whole.plain):
        return UNEQUAL, cut
    if call.target == "anthropic" and not _changes_role(whole.plain[cut - 1], whole.plain[cut]):
        return ROLE, cut
    return None, cut


def _changes_role(before: Message, after: Message) -> bool:
    return after["role"] not in (before["role"], "system")


def _stands(
    engine: Engine,
    call: Call,
    returned: Returned,
    covered: Sequence[Message],
    lead: Sequence[Message],
) -> Insertion:
    """Return what stands in the place of the compacted messages.

    Of OpenAI's items, those that the list has before them anyway are left out; configuration
    updates and added tools, which end with a compaction, are said again.
    """
    said = list(returned.messages)
    if call.target == "responses":
        system = [] if call.system is None else [{"role": "system", "content": call.system}]
        shown = [(one.role, one.text) for one in map(_facts, (*system, *lead))]
        said = [one for one in said if (_facts(one).role, _facts(one).text) not in shown]
        said += _restored(covered, said)
    counted = sum(message_tokens(said, engine.encoding))
    hidden = 0 if returned.text else max(returned.tokens - counted, 0)
    return Insertion(
        name="compaction",
        at=returned.count,
        text=returned.text,
        messages=tuple(said),
        hidden=hidden,
    )


def _restored(covered: Sequence[Message], said: Sequence[Message]) -> list[Message]:
    """Return the items of a compacted list that have to be sent again."""
    beside = [one for one in covered if item_kind(one) in BESIDE and one not in said]
    updates = [one for one in beside if item_kind(one) == "configuration_update"]
    return [one for one in beside if one not in updates[:-1]]


def _facts(item: Message) -> Facts:
    return facts(item, "responses")


def _moved(ledger: Ledger, call: Call, then: Assembled, first: int) -> tuple[Moved, ...]:
    """Return what stands before each thinking reply behind a compaction, before and after."""
    thoughts, stands = THOUGHTS[call.target], prefixes_of(call, then)
    found: list[Moved] = []
    for at in range(first, len(then.plain)):
        entry = ledger.entries.get(then.turns[at])
        if entry is None or entry.behind is None or not thoughts.count(then.plain[at]):
            continue
        was, now = entry.behind.messages.hex(), stands[at]
        found.append(Moved(was=was, messages=now.messages.hex(), spoken=now.spoken.hex()))
    return tuple(found)
