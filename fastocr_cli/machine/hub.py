"""Models on this machine: the one that ships, folders, and the Hugging Face cache.

Knows names, files and the hub's client; loads no weights and imports no torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastocr_cli.errors import MissingModelError, UsageError
from fastocr_cli.models.names import EMBEDDED, embedded_weights, source_named, split_revision

KNOWN = {
    "Qwen/Qwen2.5-VL-3B-Instruct": "Qwen2.5-VL",
    "Qwen/Qwen3-VL-4B-Instruct": "Qwen3-VL",
    "deepseek-ai/DeepSeek-OCR": "DeepSeek-OCR",
    "deepseek-community/DeepSeek-OCR-2": "DeepSeek-OCR-2",
    "baidu/Unlimited-OCR": "Unlimited-OCR",
    "zai-org/GLM-OCR": "GLM-OCR",
    "PaddlePaddle/PaddleOCR-VL": "PaddleOCR-VL",
    "lightonai/LightOnOCR-1B-1025": "LightOnOCR",
    "OpenGVLab/InternVL3-1B-hf": "InternVL",
    "stepfun-ai/GOT-OCR-2.0-hf": "GOT-OCR2",
    "tencent/HunyuanOCR": "HunyuanOCR",
    "HuggingFaceTB/SmolVLM2-2.2B-Instruct": "SmolVLM",
    "HuggingFaceM4/Idefics3-8B-Llama3": "Idefics3",
    "ibm-granite/granite-docling-258M": "Granite-Docling",
}
"""One checkpoint of each family with an adapter of its own; others of a family work as well."""

WANTED_FILES = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja", "*.tiktoken")
"""Weights only as safetensors, and no code: what a model needs, and nothing that could run."""


@dataclass(frozen=True)
class ModelEntry:
    """A model one may name. folder: where it lies, or None if it has to be fetched first."""

    name: str
    family: str
    folder: Path | None
    size_bytes: int = 0


def list_models() -> list[ModelEntry]:
    """The embedded reader, the known checkpoints, and other vision models in the hub's cache."""
    cached = _cached_models()
    names = [*KNOWN, *sorted(cached.keys() - KNOWN.keys())]
    entries = [cached.get(name) or ModelEntry(name, KNOWN[name], None) for name in names]
    return [_embedded_entry(), *entries]


def find_folder(model: str) -> Path:
    """The folder of a model on this machine. Raises MissingModelError with how to fetch it."""
    if model == EMBEDDED:
        return Path(source_named(model))
    if Path(model).is_dir():
        return Path(model)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    name, revision = split_revision(model)
    try:
        return Path(snapshot_download(name, revision=revision, local_files_only=True))
    except (LocalEntryNotFoundError, HfHubHTTPError, FileNotFoundError) as error:
        raise MissingModelError(
            f"{model} is not on this machine; fetch it by: fastocr models download {model}"
        ) from error
    except HFValidationError as error:
        raise _no_such_name(model) from error


def download(model: str) -> Path:
    """Fetch a model from the hub into its cache, again if its weights there are damaged.

    Returns the folder. Raises MissingModelError.
    """
    if model == EMBEDDED or Path(model).is_dir():
        return find_folder(model)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
    )

    name, revision = split_revision(model)
    wanted: dict[str, Any] = {"revision": revision, "allow_patterns": list(WANTED_FILES)}
    try:
        folder = Path(snapshot_download(name, **wanted))
        if is_damaged(folder):
            folder = Path(snapshot_download(name, **wanted, force_download=True))
        return folder
    except HFValidationError as error:
        raise _no_such_name(model) from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        raise MissingModelError(f"{model} could not be fetched: {reason}") from error


def is_damaged(folder: Path) -> bool:
    """Whether a file of weights is cut short or is none; reads only what it says of itself."""
    from safetensors import SafetensorError, safe_open

    try:
        for file in folder.glob("*.safetensors"):
            safe_open(file, framework="numpy")
    except SafetensorError:
        return True
    return False


def _no_such_name(model: str) -> UsageError:
    return UsageError(f"there is no model '{model}': not a folder, and a hub id is owner/name")


def _embedded_entry() -> ModelEntry:
    folder = embedded_weights()
    is_there = (folder / "config.json").is_file()
    return ModelEntry(EMBEDDED, "ships with fastocr", folder if is_there else None, _size(folder))


def _cached_models() -> dict[str, ModelEntry]:
    """Models in the hub's cache that an adapter of ours names, or that are known."""
    from huggingface_hub import CacheNotFound, scan_cache_dir

    try:
        repos = scan_cache_dir().repos
    except CacheNotFound:
        return {}
    entries = {}
    for repo in repos:
        newest = max(repo.revisions, key=lambda r: r.last_modified, default=None)
        if repo.repo_type != "model" or newest is None:
            continue
        family = KNOWN.get(repo.repo_id) or _model_type(newest.snapshot_path)
        if family is not None and any(newest.snapshot_path.glob("*.safetensors")):
            entries[repo.repo_id] = ModelEntry(
                repo.repo_id, family, newest.snapshot_path, newest.size_on_disk
            )
    return entries


def _model_type(folder: Path) -> str | None:
    """The config's model_type if the model takes images in, else None."""
    import orjson

    try:
        config = orjson.loads((folder / "config.json").read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    kind = config.get("model_type") if isinstance(config, dict) else None
    return str(kind) if kind and "vision_config" in config else None


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*") if file.is_file())
