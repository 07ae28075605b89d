"""The fields and types of all dialects that counting distinguishes."""

from __future__ import annotations

from typing import Final

SILENT: Final = frozenset(
    {
        "type",
        "role",
        "id",
        "call_id",
        "tool_call_id",
        "tool_use_id",
        "item_id",
        "file_id",
        "container_id",
        "status",
        "index",
        "cache_control",
        "signature",
        "thought",
        "thoughtSignature",
        "thought_signature",
        "encrypted_content",
        "encrypted_index",
        "encrypted_reasoning",
        "annotations",
        "logprobs",
        "citations",
        "caller",
        "execution",
        "created_by",
        "format",
        "detail",
        "mediaResolution",
        "media_resolution",
        "videoMetadata",
        "video_metadata",
        "partMetadata",
        "part_metadata",
    }
)
"""Fields that a provider reads, and the model does not."""

SEALED: Final = frozenset({"redacted_thinking", "item_reference"})
"""Blocks and items whose content is for the provider alone."""

IMAGES: Final = frozenset({"image", "image_url", "input_image", "computer_screenshot"})
"""Parts and blocks that are images."""

FILES: Final = frozenset(
    {"document", "file", "input_file", "input_audio", "container_upload", "audio", "video"}
)
"""Parts and blocks that are files, sounds or films."""

DRAWN: Final = frozenset({"image_generation_call"})
"""Items that hold an image that the model drew."""

CALLS: Final = frozenset({"functionCall", "function_call", "functionResponse", "function_response"})
"""Fields of Gemini's parts that hold a call or a response."""

PARTS: Final = frozenset(
    {
        "text",
        "functionCall",
        "function_call",
        "functionResponse",
        "function_response",
        "inlineData",
        "inline_data",
        "fileData",
        "file_data",
        "executableCode",
        "executable_code",
        "codeExecutionResult",
        "code_execution_result",
    }
)
"""Fields by which a part of Gemini's, which names no type, is recognised."""
