"""The live page in a real browser."""

from __future__ import annotations

import time
from functools import partial

import pytest
from browser import browsing
from proxy_requests import LIST, REPLY, chat

from warmset.serve.proxy.guard import GuardOptions
from warmset.serve.proxy.recent import SHOWN, WINDOWS, Row
from warmset.serve.proxy.saving import Before

LONG = [
    {"role": ("user", "assistant")[at % 2], "content": f"Shelf {at}: {at * 7} boxes. " * 30}
    for at in range(31)
]
LIVE = "document.getElementById('live').textContent === 'Live'"
ROWS = "document.querySelectorAll('#windows li').length"
NOW = "document.dispatchEvent(new Event('visibilitychange'))"
BAR = "3,000 cached · 1,000 rest · 6,000 left out · 10,000 tokens in all · $0.001 saved"
HOSTILE = "<img src=x onerror=document.title='pwned'><script>document.title='pwned'</script>"


@pytest.fixture(scope="module")
def browser():
    with browsing() as page:
        yield page


@pytest.fixture
def page(browser):
    """A page of 1,200 points in light colours, of which the browser has nothing to complain."""
    browser.size(1_200)
    browser.prefers(color_scheme="light")
    yield browser
    browser.value("1")  # hear what it still has to say
    # A proxy ends while its page is still open, which may notice.
    assert [one for one in browser.complaints if "ERR_CONNECTION_REFUSED" not in one] == []


@pytest.fixture
def upstream(httpserver):
    httpserver.expect_request("/v1/chat/completions").respond_with_json(REPLY)
    return httpserver


@pytest.fixture
def guarded(proxied):
    """Return a function that starts a proxy as users have it, with its guard in front."""
    return partial(proxied, guard=GuardOptions())


def seen(page, proxy):
    """Open the page of a proxy."""
    page.open(f"{proxy.url}/_warmset/")
    page.until(LIVE)


def filled(proxy, count, **changed):
    """Let a proxy have seen that many conversations."""
    for at in range(count):
        row = Row(
            at=time.time() - count + at,
            conversation=f"{at:012x}",
            model="claude-opus-5-5",
            mode="steady",
            turns=at,
            **{
                "tokens_in": 10_000,
                "tokens_sent": 4_000,
                "cached": 3_000,
                "measured": True,
                "saved_usd": 0.001,
                **changed,
            },
        )
        proxy.watcher.recent.window(row, Before(10_000, None, 0.0))


def test_it_shows_what_happens_while_it_is_open(page, guarded, upstream):
    with guarded(upstream.url_for(""), mode="recency") as proxy:
        seen(page, proxy)
        text = page.text()
        assert "No window yet." in text
        assert "None: every request with a list got a window." in text
        assert "None yet." in text
        assert page.value(ROWS) == 0
        chat(proxy.url, messages=LONG, **{"x-warmset-budget": "1500"})
        page.until(f"{ROWS} === 1")
        [row] = proxy.watcher.recent.state()["windows"]
        out = row["tokens_in"] - row["tokens_sent"]
        text = page.text()
        assert f"0 cached · {row['tokens_sent']:,} rest · {out:,} left out" in text
        assert row["conversation"] in text
        assert "No window yet." not in text
        page.value("document.querySelector('#windows li').mark = 'the same'")
        chat(proxy.url, messages=[{"role": "oracle", "content": 7}])
        chat(proxy.url, messages=LIST, **{"x-warmset-conversation": "d"})
        page.until(f"{ROWS} === 2")
        assert page.value("document.querySelectorAll('#windows li')[1].mark") == "the same"
        assert page.value("document.querySelectorAll('#talks tr').length") == 2
        assert page.value("document.getElementById('reasons').innerText") == "not_understood\t1"
        assert page.value("document.getElementById('requests').firstChild.data") == "3"
        assert page.value("document.getElementById('bypassed').firstChild.data") == "1"
    page.until("document.getElementById('live').classList.contains('gone')")
    assert "The proxy does not answer. What is shown is of" in page.text()
    assert page.value("document.title") == "warmset: no answer"
    page.complaints.clear()  # that it does not answer


def test_bars_are_as_long_as_their_tokens(page, guarded, upstream):
    with guarded(upstream.url_for("")) as proxy:
        filled(proxy, 1)
        filled(proxy, 1, tokens_in=20_000, cached=0)
        seen(page, proxy)
        bars = page.value(
            "[...document.querySelectorAll('#windows .bar')].map((bar) => [...bar.children]"
            ".map((part) => Math.round(1000 * part.offsetWidth / bar.offsetWidth)))"
        )
        money = page.value("document.getElementById('saved').firstChild.data")
    expected = [[0, 200, 800], [150, 50, 300]]
    for bar, parts in zip(bars, expected, strict=True):
        assert bar == pytest.approx(parts, abs=4)
    assert money == "$0.002"


def test_it_comes_back_when_the_proxy_does(page, guarded, upstream):
    with guarded(upstream.url_for("")) as proxy:
        seen(page, proxy)
        page.offline(is_so=True)
        page.value(NOW)
        page.until("document.getElementById('live').classList.contains('gone')")
        page.offline(is_so=False)
        page.until(LIVE)
        assert page.value("document.title") == "warmset"
        assert not page.value("document.querySelector('.stale, .gone')")
        page.complaints.clear()  # that there was no network


def test_of_many_conversations_it_shows_the_newest(page, guarded, upstream):
    with guarded(upstream.url_for("")) as proxy:
        filled(proxy, 10_000)
        seen(page, proxy)
        assert f"The newest {SHOWN} of 10,000." in page.text()
        shown = page.value("[...document.querySelectorAll('#talks code')].map((e) => e.innerText)")
        assert shown == [f"{at:012x}" for at in range(9_999, 9_999 - SHOWN, -1)]
        assert page.value(ROWS) == WINDOWS


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1_200])
def test_it_fits_and_can_be_read(page, guarded, upstream, scheme, width):
    with guarded(upstream.url_for(""), names=True) as proxy:
        chat(proxy.url, **{"x-warmset-conversation": "n" * 500})
        filled(proxy, 30, saved_usd=None)
        page.size(width)
        page.prefers(color_scheme=scheme)
        seen(page, proxy)
        assert page.value("document.documentElement.scrollWidth") <= width
        ground = page.value("getComputedStyle(document.body).backgroundColor")
        for what in ("body", "h2", "#live", ".soft", "dt", "thead th", "#windows time"):
            colours = page.value(
                f"[getComputedStyle(document.querySelector('{what}')).color,"
                " getComputedStyle(document.querySelector('section')).backgroundColor]"
            )
            assert contrast(*colours) >= 4.5, what
            assert contrast(colours[0], ground) >= 4.5, what
        assert (luminance(ground) > 0.5) == (scheme == "light")


def luminance(colour):
    parts = [int(one) / 255 for one in colour.removeprefix("rgb(").rstrip(")").split(",")]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(share * one for share, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_it_can_be_used_by_keyboard_and_read_out(page, guarded, upstream):
    with guarded(upstream.url_for("")) as proxy:
        filled(proxy, 3)
        proxy.watcher.recent.request(failed=False, bypass="too_slow", cached=0)
        seen(page, proxy)
        assert [page.press_tab() for _ in range(2)] == ["reasons-box", "talks-box"]
        assert page.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        told = page.read_out()
    for role, name in [
        ("heading", "warmset"),
        ("heading", "Last windows"),
        ("region", "Conversations"),
        ("columnheader", "Turns"),
        ("rowheader", "000000000002"),
        ("StaticText", "Live"),
        (
            "StaticText",
            "3,000 cached · 1,000 rest · 6,000 left out · 10,000 tokens in all · $0.001 saved",
        ),
    ]:
        assert (role, name) in told
    assert "status" in [role for role, _name in told]


def test_what_callers_choose_is_text(page, guarded, upstream):
    with guarded(upstream.url_for(""), names=True) as proxy:
        chat(proxy.url, **{"x-warmset-conversation": HOSTILE})
        seen(page, proxy)
        assert page.value("document.querySelector('#talks code').textContent") == HOSTILE
        assert page.value("document.querySelectorAll('img, #talks script').length") == 0
        assert page.value("document.title") == "warmset"
        # Its policy forbids what is not its own, even if it stood there.
        page.value(
            "document.body.append(Object.assign(document.createElement('script'),"
            " {textContent: 'document.title = \"pwned\"'}))"
        )
        assert page.value("document.title") == "warmset"
        page.value("1")
        assert any("Content Security Policy" in one for one in page.complaints)
        page.complaints.clear()
