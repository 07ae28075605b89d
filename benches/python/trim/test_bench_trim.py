"""Cuts of 10,000 messages: a conversation that warmset holds, a list of dicts, langchain-core's."""

from __future__ import annotations

from benches.python.cases import contestants, measure
from warmset import trim_messages
from warmset.lab.bench.trim import fit_held, trim


@contestants(fit_held(10_000))
def test_a_held_conversation(benchmark, tmp_path, case, name):
    measure(benchmark, tmp_path, case, name)


@contestants(trim(10_000, trim_messages))
def test_a_list_seen_for_the_first_time(benchmark, tmp_path, case, name):
    measure(benchmark, tmp_path, case, name)
