"""Metrics: each event in the text that Prometheus reads, and nothing in it that a caller chose."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from prometheus_client.parser import text_string_to_metric_families

from warmset.serve.proxy.metrics import CONTENT_TYPE, Metrics, ended

CANARY = "sk-canary-5e0bd1"


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)


def values(text):
    families = text_string_to_metric_families(text.decode())
    return {
        (one.name, *(one.labels[name] for name in sorted(one.labels))): one.value
        for family in families
        for one in family.samples
        if not one.name.endswith("_created")
    }


def counted(metrics, *key):
    return values(metrics.text()).get(key)


def test_requests_by_surface_and_status():
    one = Metrics()
    for surface, status in [("chat", 200), ("chat", 200), ("chat", 429), ("gemini", 599)]:
        one.answered(surface, status)
    found = {key[1:]: n for key, n in values(one.text()).items() if "requests" in key[0]}
    assert found == {("200", "chat"): 2, ("429", "chat"): 1, ("599", "gemini"): 1}


@pytest.mark.parametrize(("status", "label"), [(99, "other"), (100, "100"), (600, "other")])
def test_what_is_no_surface_or_status_is_other(status, label):
    one = Metrics()
    one.answered(CANARY, status)
    assert counted(one, "warmset_requests_total", label, "other") == 1
    assert CANARY.encode() not in one.text()


def test_tokens_money_and_thinking():
    one = Metrics()
    one.sent(given=1_000, sent=300, thinking_kept=2, thinking_dropped=1)
    one.sent(given=10, sent=12)  # a window may be longer: nothing is saved
    one.used(cached=250, saved_usd=0.25)
    one.used(cached=-1, saved_usd=-3)
    one.used(saved_usd=float("nan"))
    one.used(saved_usd=float("inf"))
    found = values(one.text())
    tokens = {key[1]: n for key, n in found.items() if key[0] == "warmset_tokens_total"}
    assert tokens == {"in": 1_010, "sent": 312, "saved": 700, "cached": 250}
    assert found["warmset_saved_usd_total",] == 0.25
    assert found["warmset_thinking_blocks_total", "kept"] == 2
    assert found["warmset_thinking_blocks_total", "dropped"] == 1


@pytest.mark.parametrize(
    ("seconds", "bound", "count"),
    [(0.003, "0.003", 1), (0.0031, "0.003", 0), (0.0031, "0.005", 1), (-1, "0.001", 1)],
)
def test_added_latency_by_its_bounds(seconds, bound, count):
    one = Metrics()
    one.added(seconds)
    assert counted(one, "warmset_added_latency_seconds_bucket", bound) == count
    assert counted(one, "warmset_added_latency_seconds_count") == 1
    assert counted(one, "warmset_added_latency_seconds_sum") == max(seconds, 0)


@pytest.mark.parametrize("name", ["bypass", "refus"])
def test_reasons_are_few_words(name):
    one = Metrics()
    count = one.bypassed if name == "bypass" else one.refused
    key = "warmset_bypasses_total" if name == "bypass" else "warmset_refusals_total"
    for reason in ("too_slow", "StoreFull", "too_slow", CANARY, "", "a b", "x" * 41, 'a"\n'):
        count(reason)
    assert counted(one, key, "too_slow") == 2
    assert counted(one, key, "StoreFull") == 1
    assert counted(one, key, "other") == 5
    for at in range(62):
        count(f"w{chr(97 + at % 26)}{'_' * (at // 26)}")
    assert counted(one, key, "wj__") == 1
    count("one_more")
    count("too_slow")
    assert counted(one, key, "one_more") is None
    assert counted(one, key, "other") == 6
    assert counted(one, key, "too_slow") == 3
    assert CANARY.encode() not in one.text()


def test_gauges_go_up_and_down():
    one = Metrics()
    one.stream_opened()
    one.stream_opened()
    one.stream_closed()
    one.backlog(7)
    one.backlog(5)
    assert counted(one, "warmset_open_streams") == 1
    assert counted(one, "warmset_vectors_backlog") == 5


def test_two_proxies_in_a_process_count_apart():
    one, other = Metrics(), Metrics()
    one.answered("chat", 200)
    assert counted(other, "warmset_requests_total", "200", "chat") is None
    assert CONTENT_TYPE.startswith("text/plain")
    assert b"python_info" not in one.text()


def test_no_label_holds_who_is_talking():
    one = Metrics()
    one.answered("chat", 200)
    one.bypassed("x")
    one.refused("x")
    one.sent(given=1, sent=1)
    one.used(cached=1)
    families = text_string_to_metric_families(one.text().decode())
    names = {name for family in families for each in family.samples for name in each.labels}
    assert names == {"surface", "status", "reason", "kind", "fate", "le"}


def test_threads_lose_no_count():
    one = Metrics()

    def work():
        for _ in range(500):
            one.answered("chat", 200)
            one.bypassed("too_slow")
            one.stream_opened()
            one.stream_closed()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert counted(one, "warmset_requests_total", "200", "chat") == 2_000
    assert counted(one, "warmset_bypasses_total", "too_slow") == 2_000
    assert counted(one, "warmset_open_streams") == 0


WORKER = """
import os, sys
from warmset.serve.proxy.metrics import Metrics, ended
one = Metrics()
one.answered("chat", 200); one.stream_opened(); one.backlog(int(sys.argv[1]))
if len(sys.argv) > 2:
    ended(int(sys.argv[2]))
print(os.getpid(), file=sys.stderr)
sys.stdout.buffer.write(one.text())
"""


def test_several_workers_answer_with_the_sums_of_all(tmp_path):
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}

    def worker(*args):
        made = subprocess.run(  # noqa: S603
            [sys.executable, "-c", WORKER, *args],
            env=environment,
            check=True,
            capture_output=True,
            timeout=60,
        )
        return made.stderr.decode().split()[-1], values(made.stdout)

    first, found = worker("3")
    assert found["warmset_requests_total", "200", "chat"] == 1
    second, found = worker("9")
    assert found["warmset_requests_total", "200", "chat"] == 2
    assert found["warmset_open_streams",] == 2
    assert found["warmset_vectors_backlog",] == 9
    _, found = worker("4", second)
    assert found["warmset_requests_total", "200", "chat"] == 3  # what was counted stays
    assert found["warmset_open_streams",] == 2  # the first one and itself
    assert found["warmset_vectors_backlog",] == 4
    assert first != second


def test_without_workers_nobody_ends():
    ended(1)


def test_what_whole_lists_would_have_cost_less_and_thinking_that_is_refused():
    one = Metrics()
    one.used(saved_usd=-0.25)
    one.used(saved_usd=float("-inf"))
    one.used(saved_usd=0.5, thinking_refused=2)
    one.used(thinking_refused=-1)
    found = values(one.text())
    assert (found["warmset_extra_usd_total",], found["warmset_saved_usd_total",]) == (0.25, 0.5)
    assert found["warmset_thinking_blocks_total", "refused"] == 2
