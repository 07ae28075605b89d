"""Records what a list adds to its epoch, before the list is returned."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from warmset.errors import StoreError
from warmset.messages.thinking import THOUGHTS
from warmset.receipts import Spooled
from warmset.store.epochs import Beginning, Step, decode_step, step_draft
from warmset.window.steady.epoch import FRONT, Epoch, built, on_path
from warmset.window.thinking import sent_list

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.messages.prefix import Prefix
    from warmset.state.epochs import Epochs, Recorded
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.choices import Settled
    from warmset.window.render import Call

RECORDED: Final = "recorded"
LOST: Final = "another process was first"

TOKEN_BYTES: Final = 8


def recorded(engine: Engine, ledger: Ledger, key: tuple[str, str]) -> Epoch | None:
    """Return the last recorded epoch of a dialect and a model, whatever the path is now.

    The caller holds the engine's lock.

    Raises:
        StoreError: A record could not be read.
    """
    epochs = engine.epochs_of(ledger.tenant, ledger.name)
    chain = epochs.chain(key)
    if not chain:
        return None
    token, made = epochs.built.get(key, ("", None))
    if token == chain[-1].step.token and isinstance(made, Epoch):
        return made
    made = _built(engine, chain)
    if made is not None:
        epochs.built[key] = made.token, made
    return made


def earlier(engine: Engine, ledger: Ledger, key: tuple[str, str]) -> Epoch | None:
    """Return the epoch before the current one, as far as the conversation's path goes with it.

    The caller holds the engine's lock.

    Raises:
        StoreError: A record could not be read.
    """
    made = _built(engine, engine.epochs_of(ledger.tenant, ledger.name).before(key))
    return None if made is None else on_path(made, ledger.history)


def standing(engine: Engine, ledger: Ledger, key: tuple[str, str]) -> Epoch | None:
    """Return the last recorded epoch as far as the conversation's path goes with it.

    The caller holds the engine's lock.

    Raises:
        StoreError: A record could not be read.
    """
    made = recorded(engine, ledger, key)
    return None if made is None else on_path(made, ledger.history)


def record(
    engine: Engine,
    ledger: Ledger,
    call: Call,
    before: Epoch | None,
    now: Epoch,
    made: Assembled,
    summary: Settled | None,
) -> str:
    """Record what a list adds; the caller holds the engine's lock.

    Args:
        engine: The store.
        ledger: The conversation.
        call: The call that the list is for.
        before: The epoch as it is recorded; None if there is none.
        now: The epoch of the list.
        made: The list.
        summary: The summary that it shows for the first time.

    Returns:
        `RECORDED`; `LOST` if another process recorded something meanwhile; or why it could not be
        recorded.
    """
    if not engine.opening.writes:
        return "the memory was opened to read only"
    epochs: Epochs = engine.epochs_of(ledger.tenant, ledger.name)
    key = (call.target, call.model)
    begins = before is None or before.number != now.number
    kept = () if begins or before is None else before.insertions
    fresh = tuple(one for one in now.insertions if one not in kept)
    lost = [one for one in kept if one not in now.insertions]
    step = Step(
        token=secrets.token_hex(TOKEN_BYTES),
        after=epochs.last(key),
        dialect=call.target,
        model=call.model,
        beside=now.beside,
        count=now.count,
        asked=now.asked,
        keep=min((one.at for one in lost if one.name not in FRONT), default=now.count + 1),
        behind=_behind(ledger, call, made),
        begins=_beginning(now) if begins else None,
        insertions=fresh,
    )
    path = ledger.history.path
    sources = [path[at] for one in fresh for at in (*one.quoted, *one.listed, *one.dated)]
    if summary is not None and any(one.name == "summary" for one in fresh):
        sources += summary.ids if summary.id is None else [summary.id]
    elif begins:
        sources += now.made_of
    draft = step_draft(ledger.tenant, ledger.name, step, now.head, sources)
    try:
        ids = engine.put([draft], sync=False)
    except StoreError as error:
        return f"it could not be recorded: {error}"
    if isinstance(ids, Spooled):
        return "another process has the store's lock"
    chain = epochs.chain(key)
    if not chain or chain[-1].id != ids[0]:
        return LOST
    epochs.noted = step.token
    epochs.built[key] = step.token, replace(now, token=step.token, made_of=chain[0].made_of)
    return RECORDED


def _built(engine: Engine, chain: list[Recorded]) -> Epoch | None:
    whole = [step for one in chain if (step := _read(engine, one)) is not None]
    return built(chain, whole) if len(whole) == len(chain) else None


def _read(engine: Engine, one: Recorded) -> Step | None:
    """Return a record with the texts of its insertions."""
    if not one.step.insertions:
        return one.step
    found = engine.derived.get(one.id)
    if found is None:
        return None
    return decode_step(found.fields, engine.store.get(one.id).payload, found.sources)


def _beginning(now: Epoch) -> Beginning:
    return Beginning(number=now.number, start=now.start, held=now.held, lead=now.lead, why=now.why)


def _behind(ledger: Ledger, call: Call, made: Assembled) -> Prefix | None:
    """Return what a reply to the list is made behind; None where no thinking is bound."""
    sent = sent_list(ledger, call, made) if call.target in THOUGHTS else None
    after = None if sent is None else sent.after(call.target)
    return None if after is None else after.prefix()
