"""A real proxy of LiteLLM in processes of its own, before local providers."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

HOOKS = """
import os

from litellm.integrations.custom_logger import CustomLogger
from litellm.proxy._types import UserAPIKeyAuth
from warmset.adapters.litellm import WarmsetLogger

history = WarmsetLogger({path!r}, budget={budget}, memory={{"embedder": "lexical"}})


class Worker(CustomLogger):
    async def async_post_call_response_headers_hook(self, **_more):
        return {{"x-worker": str(os.getpid())}}


worker = Worker()


async def authorize(request, api_key):
    return UserAPIKeyAuth(api_key=api_key)
"""

CONFIG = """
model_list:
  - model_name: gpt
    litellm_params: {{model: openai/gpt-5.2, api_base: "{url}/v1", api_key: k}}
  - model_name: sonnet
    litellm_params: {{model: anthropic/claude-opus-5-5, api_base: "{url}", api_key: k}}
litellm_settings:
  callbacks: [hooks.history, hooks.worker]
  num_retries: 0
general_settings:
  custom_auth: hooks.authorize
"""


class Proxy:
    """A proxy that runs until it is stopped.

    Args:
        folder: Where its files are; the store is `agents.ws` there.
        upstream: The URL of the provider.
        budget: The tokens of a window.
        workers: How many processes answer.
    """

    def __init__(self, folder, upstream, *, budget, workers=1):
        self.store = folder / "agents.ws"
        (folder / "hooks.py").write_text(HOOKS.format(path=str(self.store), budget=budget))
        (folder / "config.yaml").write_text(CONFIG.format(url=upstream.rstrip("/")))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-c", "from litellm import run_server; run_server()"]
        command += ["--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
        paths = [str(folder), str(ROOT / "python"), str(ROOT)]
        self.log = folder / "proxy.log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(  # noqa: S603 - our own command
                [*command, "--num_workers", str(workers)],
                cwd=folder,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(paths),
                    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                    "LITELLM_MASTER_KEY": f"sk-{secrets.token_hex(32)}",
                },
            )
        self._ready()

    def _ready(self):
        until = time.monotonic() + 300
        while time.monotonic() < until:
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                _open(f"{self.url}/health/liveliness", 5).close()
                return
            time.sleep(0.1)
        self.stop()
        raise RuntimeError(self.log.read_text()[-4000:])

    def ask(self, path, body, *, key="sk-one", headers=()):
        """Return the status, the headers and the answer to a request; a stream as its text."""
        request = urllib.request.Request(  # noqa: S310 - our own address
            self.url + path,
            json.dumps(body).encode(),
            {"content-type": "application/json", "authorization": f"Bearer {key}", **dict(headers)},
        )
        try:
            with _open(request, 60) as answer:
                said = answer.read().decode()
                status, heads = answer.status, answer.headers
        except urllib.error.HTTPError as error:
            status, heads, said = error.code, error.headers, error.read().decode()
        return status, heads, said if body.get("stream") else json.loads(said)

    def chat(self, messages, *, model="gpt", session="talk", key="sk-one", **more):
        """Ask for a chat completion."""
        body = {"model": model, "messages": messages, "litellm_session_id": session, **more}
        return self.ask("/v1/chat/completions", body, key=key)

    def stop(self, how=signal.SIGTERM):
        """End it and its workers."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, how)
        self.process.wait(60)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


def _open(request, seconds):
    return urllib.request.urlopen(request, timeout=seconds)  # noqa: S310 - our own address
