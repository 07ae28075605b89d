"""The vector store of LangChain's adapter, judged by LangChain's own suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("langchain_tests")
from langchain_tests.integration_tests import VectorStoreIntegrationTests

from warmset.adapters.langchain import WarmsetVectorStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class TestWarmsetVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture(params=["files", "memory", "erasing"])
    def vectorstore(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator:
        path = None if request.param == "memory" else tmp_path / "store"
        how = "erase" if request.param == "erasing" else "remove"
        with WarmsetVectorStore(self.get_embeddings(), path, delete=how) as store:
            yield store
