"""What services publish of their models, once more: an embedder is made before it is asked."""

from __future__ import annotations

import pytest

from warmset.embed import CohereEmbedder, OpenAIEmbedder, VoyageEmbedder

DIMENSIONS = {
    OpenAIEmbedder: {
        "text-embedding-3-small": 1_536,
        "text-embedding-3-large": 3_072,
        "text-embedding-ada-002": 1_536,
    },
    CohereEmbedder: {
        "embed-v4.0": 1_536,
        "embed-english-v3.0": 1_024,
        "embed-multilingual-v3.0": 1_024,
        "embed-english-light-v3.0": 384,
        "embed-multilingual-light-v3.0": 384,
    },
    VoyageEmbedder: {
        "voyage-3.5": 1_024,
        "voyage-3.5-lite": 1_024,
        "voyage-3-large": 1_024,
        "voyage-3": 1_024,
        "voyage-3-lite": 512,
        "voyage-code-3": 1_024,
    },
}


@pytest.mark.parametrize("kind", DIMENSIONS)
def test_the_dimensions_of_a_service_s_models_are_known(kind):
    for model, dimensions in DIMENSIONS[kind].items():
        assert kind(model, api_key="k").dim == dimensions, model
    assert kind("a-model-of-next-year", api_key="k").dim is None
