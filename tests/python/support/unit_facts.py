"""What messages link to, made up."""

from __future__ import annotations

from hypothesis import strategies as st

from warmset.messages import Facts

IDS = ("a", "b", "c")


def fact(role, calls, results, request):
    return Facts(role, "text", tuple(calls), tuple(results), request=request)


FACTS = st.one_of(
    st.just(fact("system", (), (), False)),
    st.just(fact("user", (), (), True)),
    st.just(fact("assistant", (), (), False)),
    st.lists(st.sampled_from(IDS), min_size=1, max_size=2).map(
        lambda ids: fact("assistant", ids, (), False)
    ),
    st.tuples(st.lists(st.sampled_from(IDS), min_size=1, max_size=2), st.booleans()).map(
        lambda two: fact("user", (), two[0], two[1])
    ),
)
