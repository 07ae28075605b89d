"""Runs the adapters' tests in environments of their own, and prints the counts.

    python -m tests.frameworks DIR                     # the oldest versions, each alone
    python -m tests.frameworks DIR --newest            # the newest ones, together
    python -m tests.frameworks DIR --only langgraph

An environment is made in DIR with pip if it is not there. It has the framework, and what the tests
need besides; warmset itself is taken from this tree.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.frameworks.environment import environment, run

QUIET = ("DeprecationWarning", "UserWarning")
LOUD = {"litellm": ("FutureWarning", "ResourceWarning")}
"""What else a framework warns of."""

BESIDE = ("openai>=2", "pytest-httpserver>=1.1")
"""What the tests need that not every framework brings."""

ALL = "test_on_a_log.py"
"""Tests of all of them; those whose framework is missing are skipped."""

OLDEST = {
    "openai-agents": ["openai-agents==0.8.0"],
    "claude-agent-sdk": ["claude-agent-sdk==0.1.80"],
    "langgraph": ["langgraph==1.0.0", "langgraph-checkpoint-conformance==0.0.2"],
    "langchain": ["langchain==1.5.0", "langchain-tests==1.1.9", "langchain-anthropic==1.7.10"],
    "haystack": ["haystack-ai==3.4.0"],
    "pydantic-ai": ["pydantic-ai-slim==2.68.0", "pydantic-ai-slim[anthropic]==2.68.0"],
    "litellm": ["litellm==1.108.0", "litellm[proxy]==1.108.0"],
}
"""What pyproject.toml promises; `tests/python/house` compares the two."""

NEWEST = {
    "newest": [
        "openai-agents[encrypt]",
        "claude-agent-sdk",
        "langgraph",
        "langgraph-checkpoint-conformance",
        "langchain",
        "langchain-anthropic",
        "langchain-tests",
        "haystack-ai",
        "pydantic-ai-slim[anthropic]",
    ]
}
"""All but LiteLLM, which `tests.apart` runs alone: it does not go with the others' openai."""

FILES = {
    "openai-agents": ["test_openai_agents.py", "test_openai_agents_compaction.py"],
    "claude-agent-sdk": ["test_claude_agent_sdk.py"],
    "langgraph": ["test_langgraph_saver.py", "test_langgraph_store.py"],
    "langchain": [
        "test_langchain_agents.py",
        "test_langchain_calls.py",
        "test_langchain_standard.py",
        "test_langchain_vectors.py",
    ],
    "haystack": ["test_haystack_standard.py", "test_haystack_store.py"],
    "pydantic-ai": ["test_pydantic_history.py", "test_pydantic_requests.py"],
    "litellm": ["test_litellm.py", "test_litellm_lists.py"],
}


def main() -> int:
    """Run all of it; the number of environments in which a test failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", type=Path, help="the directory of the environments")
    parser.add_argument("--newest", action="store_true", help="the newest versions, together")
    parser.add_argument("--only", nargs="*", default=[*OLDEST], help=", ".join(OLDEST))
    options = parser.parse_args()
    failed = 0
    for name, packages in (NEWEST if options.newest else OLDEST).items():
        if not options.newest and name not in options.only:
            continue
        python = environment(options.place / name, [*BESIDE, *packages])
        print(f"\n{name}: {' '.join(packages)}", flush=True)
        together = [one for name, each in FILES.items() if name != "litellm" for one in each]
        files = together if options.newest else FILES[name]
        failed += run(python, [*files, ALL], [*QUIET, *LOUD.get(name, ())]) != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
