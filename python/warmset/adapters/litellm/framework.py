"""The one place that imports LiteLLM."""

from __future__ import annotations

import sys
from typing import Any

from warmset._extras import extra

with extra("litellm"):
    from litellm.integrations.custom_logger import (  # pyright: ignore[reportMissingImports]
        CustomLogger,
    )

__all__ = ["CustomLogger", "models_behind"]


def models_behind(name: str) -> list[str]:
    """Return the models that a name stands for, as their providers call them.

    A proxy names groups of deployments, which may be of several models. Outside of one, a name
    stands for itself.
    """
    proxy = sys.modules.get("litellm.proxy.proxy_server")
    router = getattr(proxy, "llm_router", None)
    found: list[Any] = [] if router is None else router.get_model_list(model_name=name) or []
    real = [one["litellm_params"]["model"] for one in found]
    return list(dict.fromkeys(real)) or [name]
