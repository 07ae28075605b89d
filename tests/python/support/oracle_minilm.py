"""all-MiniLM-L6-v2 as a plain forward pass in f64: the oracle of the local embedder.

It shares no code with the package: its own safetensors reader, its own word pieces, no ONNX. Run it
to make the references that the package carries:

    python tests/python/oracle_minilm.py MODEL_DIR python/warmset/embed/reference.json
"""

from __future__ import annotations

import json
import sys
import unicodedata
from math import erf
from pathlib import Path

import numpy as np

SENTENCES = [
    "We decided to use Postgres for the event store.",
    "What did we agree on about the database?",
    "The quick brown fox jumps over the lazy dog.",
    "Yesterday Caroline went to the support group with her friend Melanie.",
    "ok",
    "TypeError: unsupported operand type(s) for +: 'int' and 'str' at src/app/main.py:42",
    "Café au lait, naïve résumé, Zürich, São Paulo, jalapeño!",
    "我们决定把会议改到星期五。",
    "🙂🚀 ship it",
    "https://example.com/a/b?c=d&e=f#frag",
    "Le train pour Marseille part à 8 h 05 du quai n° 3; prière de composter les billets.",
    "antidisestablishmentarianism " + "x" * 120 + " \t floccinaucinihilipilification",
    " ".join(
        f"Step {n}: the pump on deck {n * 7} lost pressure, so crew {n % 4} closed valve {n}."
        for n in range(1, 12)
    ),
]


def read_tensors(path):
    data = Path(path).read_bytes()
    size = int(np.frombuffer(data, "<u8", 1)[0])
    header = json.loads(data[8 : 8 + size])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
    return {name: array.astype(np.float64) for name, array in tensors.items()}


def basic_words(text):
    out = []
    for char in text:
        category = unicodedata.category(char)
        if char in "\t\n\r" or category == "Zs":
            out.append(" ")
        elif category.startswith("C") or char in "\x00\ufffd":
            continue
        elif 0x4E00 <= ord(char) <= 0x9FFF:
            out.append(f" {char} ")
        else:
            out.append(char)
    text = unicodedata.normalize("NFD", "".join(out))
    text = "".join(char for char in text if unicodedata.category(char) != "Mn").lower()
    spaced = []
    for char in text:
        ascii_mark = char.isascii() and not char.isalnum() and not char.isspace()
        mark = ascii_mark or unicodedata.category(char).startswith("P")
        spaced.append(f" {char} " if mark else char)
    return "".join(spaced).split()


def pieces(word, vocabulary):
    if len(word) > 100:
        return ["[UNK]"]
    found = []
    while word:
        for end in range(len(word), 0, -1):
            piece = ("##" if found else "") + word[:end]
            if piece in vocabulary:
                break
        else:
            return ["[UNK]"]
        found.append(piece)
        word = word[end:]
    return found


def token_ids(text, vocabulary):
    body = [piece for word in basic_words(text) for piece in pieces(word, vocabulary)]
    return [vocabulary[piece] for piece in ["[CLS]", *body[:254], "[SEP]"]]


def norm(x, w, name):
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    return scaled * w[name + ".weight"] + w[name + ".bias"]


def linear(x, w, name):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def embed_ids(ids, w):
    e = "embeddings."
    x = w[e + "word_embeddings.weight"][ids]
    x = x + w[e + "position_embeddings.weight"][: len(ids)]
    x = norm(x + w[e + "token_type_embeddings.weight"][0], w, e + "LayerNorm")
    for layer in range(6):
        p = f"encoder.layer.{layer}."
        q, k, v = (linear(x, w, f"{p}attention.self.{n}") for n in ("query", "key", "value"))
        heads = []
        for head in range(12):
            s = slice(head * 32, head * 32 + 32)
            scores = q[:, s] @ k[:, s].T / np.sqrt(32)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            heads.append(weights / weights.sum(-1, keepdims=True) @ v[:, s])
        attended = linear(np.concatenate(heads, 1), w, p + "attention.output.dense")
        x = norm(x + attended, w, p + "attention.output.LayerNorm")
        h = linear(x, w, p + "intermediate.dense")
        h = h * 0.5 * (1 + np.vectorize(erf)(h / np.sqrt(2)))
        x = norm(x + linear(h, w, p + "output.dense"), w, p + "output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def main(model_dir, out):
    w = read_tensors(Path(model_dir) / "model.safetensors")
    tokenizer = json.loads((Path(model_dir) / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    lines = [
        json.dumps(
            {
                "text": text,
                "vector": [round(x, 5) for x in embed_ids(token_ids(text, vocabulary), w).tolist()],
            },
            ensure_ascii=True,
            separators=(",", ":"),
        )
        for text in SENTENCES
    ]
    Path(out).write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
