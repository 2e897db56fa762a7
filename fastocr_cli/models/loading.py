"""From a model's name to a loaded adapter: which family, which device, which number format.

Knows names, folders and transformers' loading errors; the families know the rest. The network is
used only for a hub id that is not in the local cache, and never when offline.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from jinja2 import TemplateError
from safetensors import SafetensorError
from transformers import CONFIG_MAPPING, AutoConfig, PreTrainedConfig, __version__
from transformers.utils import logging as transformers_logging

from fastocr_cli.decoding import attention
from fastocr_cli.errors import MissingModelError, UsageError
from fastocr_cli.models.base import LoadRequest, ModelAdapter
from fastocr_cli.models.names import EMBEDDED, source_named

FAMILIES: dict[str, str] = {
    "deepseek_ocr2": "deepseek_ocr2:DeepseekOcr2Adapter",
    "deepseek_vl_v2": "deepseek_ocr:DeepseekOcrV1Adapter",
    "fastocr_reader": "embedded:EmbeddedAdapter",
    "got_ocr2": "got_ocr2:GotOcr2Adapter",
    "granite_docling": "idefics:GraniteDoclingAdapter",
    "hunyuan_vl": "hunyuan_ocr:HunyuanOcrAdapter",
    "idefics3": "idefics:IdeficsAdapter",
    "internvl": "internvl:InternVLAdapter",
    "lighton_ocr": "lighton_ocr:LightOnOcrAdapter",
    "qwen2_5_vl": "qwen:QwenVLAdapter",
    "qwen3_vl": "qwen:QwenVLAdapter",
    "glm_ocr": "qwen:GlmOcrAdapter",
    "paddleocr_vl": "qwen:PaddleOcrVLAdapter",
    "smolvlm": "idefics:IdeficsAdapter",
    "unlimited_ocr": "deepseek_ocr:UnlimitedOcrAdapter",
}
"""config.model_type -> module in this package and class; imported only when it is needed."""

HOSTED = ("deepseek_vl_v2",)
"""Types that transformers has no class for; the family reads their config.json itself."""

_UNLOADABLE = (OSError, ValueError, StrictDataclassError, TemplateError)
"""What transformers raises for files that are not there, or that hold what they should not."""

_DTYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}


def load_adapter(
    name_or_path: str = EMBEDDED,
    *,
    device: str = "auto",
    dtype: str = "auto",
    offline: bool = False,
    trust_remote_code: bool = False,
    revision: str | None = None,
    mode: str | None = None,
) -> ModelAdapter:
    """The model called `name_or_path`: "embedded", a local folder, or a hub id.

    device: auto, cpu, cuda, cuda:N, mps or xpu. dtype: auto, f32, f16, bf16, or their long names.
    mode: how pages are shown, for families that have several ways; None chooses by page.
    Raises MissingModelError if model, library or device is not there, UsageError for names that
    mean nothing.
    """
    attention.install()
    where = choose_device(device)
    request = LoadRequest(
        source=source_named(name_or_path),
        device=where,
        dtype=choose_dtype(dtype, where),
        revision=revision,
        local_only=offline or _is_set("HF_HUB_OFFLINE"),
        trust_remote_code=trust_remote_code,
    )
    try:
        config = _load_config(request)
        with _without_loading_bars():
            adapter = _family_class(config.model_type).load(request, config)
    except ImportError as error:
        raise MissingModelError(f"{name_or_path} needs a library: {_first_line(error)}") from error
    except SafetensorError as error:
        raise _damaged(name_or_path, request.revision, error) from error
    except _UNLOADABLE as error:
        raise _missing(request, error) from error
    adapter.name = name_or_path
    if mode is not None:
        adapter.use_mode(mode)
    return adapter


@contextmanager
def _without_loading_bars() -> Iterator[None]:
    """transformers draws a bar for each load, on the screen of whoever uses this as a library. The
    hub's bars are not meant: a download is long."""

    def silent(factory: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return factory(*args, **{**kwargs, "disable": True})

    before = transformers_logging.set_tqdm_hook(silent)
    try:
        yield
    finally:
        transformers_logging.set_tqdm_hook(before)


def choose_device(name: str) -> torch.device:
    """The device called `name`, checked to be there; auto takes the first accelerator."""
    if name == "auto":
        for kind in ("cuda", "xpu", "mps"):
            if _has(kind):
                return torch.device(kind)
        return torch.device("cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UsageError(f"unknown device '{name}'; try auto, cpu or cuda") from None
    if device.type != "cpu" and not _has(device.type):
        raise MissingModelError(
            f"device '{name}' is not available to this PyTorch ({torch.__version__}); "
            "use --device cpu, or install a build of PyTorch for it"
        )
    if device.index is not None and device.index >= _count(device.type):
        raise MissingModelError(f"there is no device '{name}'; this machine has fewer")
    return device


def choose_dtype(name: str, device: torch.device) -> torch.dtype:
    """auto: bfloat16 (float16 where that is missing) on an accelerator, float32 on the CPU."""
    if name == "auto":
        if device.type == "cpu":
            return torch.float32
        has_bf16 = device.type != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if has_bf16 else torch.float16
    if name not in _DTYPES:
        raise UsageError(f"unknown dtype '{name}'; known: auto, f32, f16, bf16")
    return _DTYPES[name]


def _has(kind: str) -> bool:
    backend: Any = getattr(torch, kind, None) if kind != "mps" else torch.backends.mps
    return backend is not None and bool(backend.is_available())


def _count(kind: str) -> int:
    module: Any = getattr(torch, kind, None)
    return int(module.device_count()) if hasattr(module, "device_count") else 1


def _family_class(model_type: str) -> type[ModelAdapter]:
    module, name = FAMILIES.get(model_type, "generic:GenericAdapter").split(":")
    family: type[ModelAdapter] = getattr(import_module(f"fastocr_cli.models.{module}"), name)
    return family


def _load_config(request: LoadRequest) -> Any:
    """The checkpoint's config; a folder is checked first, for a clearer message."""
    folder = Path(request.source)
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise MissingModelError(f"{folder} holds no config.json, so it is not a saved model")
    _register_reader(request)
    raw, _ = PreTrainedConfig.get_config_dict(request.source, **request.hub_arguments)
    kind = raw.get("model_type")
    if kind in HOSTED:
        return PreTrainedConfig.from_dict(raw)
    if kind and kind not in CONFIG_MAPPING and (kind in FAMILIES or "auto_map" not in raw):
        raise MissingModelError(
            f"{request.source} is of kind '{kind}', which transformers {__version__} does not "
            "know: pip install --upgrade transformers"
        )
    return AutoConfig.from_pretrained(request.source, **request.hub_arguments)


def _register_reader(request: LoadRequest) -> None:
    """Let transformers know the embedded reader's config, if that is what is asked for."""
    config_file = Path(request.source) / "config.json"
    if config_file.is_file() and '"fastocr_reader"' in config_file.read_text():
        from fastocr_cli.reader.configuration import ReaderConfig

        AutoConfig.register("fastocr_reader", ReaderConfig, exist_ok=True)


def _missing(request: LoadRequest, error: Exception) -> MissingModelError:
    """One line that says why the checkpoint could not be loaded, and what to do."""
    source = request.source
    if Path(source).is_dir():
        return MissingModelError(f"{source} cannot be loaded: {_first_line(error)}")
    if "trust_remote_code" in str(error):
        return MissingModelError(
            f"{source} runs code of its own; read it, then pass --trust-remote-code"
        )
    if "safetensors" in str(error):
        return MissingModelError(f"{source} has no safetensors weights, the only kind loaded here")
    if request.local_only and isinstance(error, OSError):
        why = "is not in the local cache; with a network,"
    else:
        why = f"cannot be loaded: {_first_line(error).rstrip('.')};"
    return MissingModelError(f"{source} {why} {_fetch(source, request.revision)}")


def _damaged(name: str, revision: str | None, error: Exception) -> MissingModelError:
    """Weights of which a part is missing or no longer what was written."""
    remedy = _fetch(name, revision)
    if name == EMBEDDED:
        remedy = "reinstall fastocr-cli"
    elif Path(name).is_dir():
        remedy = "copy them there again"
    return MissingModelError(f"the weights of {name} are damaged ({_first_line(error)}); {remedy}")


def _fetch(name: str, revision: str | None) -> str:
    model = f"{name}@{revision}" if revision else name
    return f"fetch it by: fastocr models download {model}"


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "").upper() in ("1", "ON", "YES", "TRUE")
