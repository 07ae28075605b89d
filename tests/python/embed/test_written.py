"""What the local model writes, and where: nothing but our own directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from warmset.embed import MiniLM
from warmset.embed.weights import model_dir

USES = """
import os, sys
if sys.argv[1] == "before":
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime
    del os.environ["ORT_DISABLE_TELEMETRY"]
from warmset import Memory, compact_context
with Memory.open(sys.argv[2]) as memory:
    log = memory.conversation("log")
    log.append([{"role": "user", "content": f"the ferry leaves at {n}"} for n in range(4)])
    log.window(budget=1_000)
    memory.flush()
    print(memory.search("boat", k=1).by)
compact_context([{"role": "user", "content": f"turn {n}"} for n in range(9)], query="turn")
import onnxruntime
print(os.environ.get("ORT_DISABLE_TELEMETRY"))
"""


@pytest.fixture
def home(tmp_path, weights):  # noqa: ARG001 - they are there
    """A home directory that has the built model in the cache, and nothing else."""
    MiniLM()  # builds it, if it is not built yet
    built = model_dir()
    cache = tmp_path / "home" / ".cache" / "warmset" / "models"
    shutil.copytree(built, cache / built.name)
    return tmp_path / "home"


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.skipif(sys.platform == "win32", reason="its directories have other names")
@pytest.mark.parametrize("imported", ["before", "by us"])
def test_nothing_is_written_outside_of_our_own_directories(imported, home, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    before = files(home)
    hidden = ("XDG_", "WARMSET_", "HF_", "ORT_")
    kept = {name: one for name, one in os.environ.items() if not name.startswith(hidden)}
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-c", USES, imported, str(tmp_path / "store")],
        env={**kept, "HOME": str(home), "TMPDIR": str(temporary), "HF_HUB_OFFLINE": "1"},
        cwd=temporary,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["fused", "None"], "the environment is as it was"
    ours = ".cache/warmset"
    assert {name for name in files(home) - before if not name.startswith(ours)} == set()
    assert files(temporary) == set()


@pytest.mark.usefixtures("weights")
def test_what_the_user_says_about_telemetry_stays_in_force():
    code = (
        "import os; from warmset.embed.runtime import onnx_runtime; onnx_runtime();"
        "print(os.environ['ORT_DISABLE_TELEMETRY'])"
    )
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-c", code],
        env={**os.environ, "ORT_DISABLE_TELEMETRY": "true"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "true\n"
