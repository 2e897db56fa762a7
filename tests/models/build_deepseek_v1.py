"""A tiny DeepSeek-OCR v1 checkpoint in its own layout: v1's config.json, tensor names and shards.

transformers has no class for version 1, so the weights come from the class that hosts it and are
written out under version 1's names, one rule per tensor, independent of the library's own
renaming table.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from tests.models.build_deepseek import deepseek_tokenizer, moe_text
from tests.models.tiny import randomise, recent

CLIP_WIDTH, SAM_WIDTH = 32, 16
SHARD = "model-00001-of-000001.safetensors"


def config_json(language: dict[str, Any], global_layers: Sequence[int]) -> dict[str, Any]:
    """config.json as the hub has it: language settings twice, towers described by width."""
    shared = {
        **language,
        "first_k_dense_replace": 1,
        "kv_lora_rank": None,
        "lm_head": True,
        "q_lora_rank": None,
        "qk_nope_head_dim": 0,
        "qk_rope_head_dim": 0,
        "rm_head": False,
        "topk_method": "greedy",
        "use_mla": False,
        "v_head_dim": 0,
    }
    remote = "modeling_deepseekocr.DeepseekOCR"
    return {
        "_name_or_path": "deepseek-ai/DeepSeek-OCR",
        "architectures": ["DeepseekOCRForCausalLM"],
        "auto_map": {"AutoConfig": f"{remote}Config", "AutoModel": f"{remote}ForCausalLM"},
        "candidate_resolutions": [[1024, 1024]],
        "global_view_pos": "head",
        "language_config": {
            "architectures": ["DeepseekV2ForCausalLM"],
            "auto_map": {
                "AutoConfig": "configuration_deepseekv2.DeepseekV2Config",
                "AutoModel": "modeling_deepseek.DeepseekV2Model",
                "AutoModelForCausalLM": "modeling_deepseek.DeepseekV2ForCausalLM",
            },
            "torch_dtype": "bfloat16",
            **shared,
        },
        "model_type": "deepseek_vl_v2",
        "projector_config": {
            "input_dim": CLIP_WIDTH * 2,
            "model_type": "mlp_projector",
            "n_embed": language["hidden_size"],
            "projector_type": "linear",
        },
        "tile_tag": "2D",
        "torch_dtype": "bfloat16",
        "transformers_version": "4.46.3",
        "vision_config": {
            "image_size": 1024,
            "mlp_ratio": 3.7362,
            "model_name": "deeplip_b_l",
            "model_type": "vision",
            "width": {
                "clip-l-14-224": {
                    "heads": 2,
                    "image_size": 224,
                    "layers": 2,
                    "patch_size": 14,
                    "width": CLIP_WIDTH,
                },
                "sam_vit_b": {
                    "downsample_channels": [24, CLIP_WIDTH],
                    "global_attn_indexes": list(global_layers),
                    "heads": 1,
                    "layers": 2,
                    "width": SAM_WIDTH,
                },
            },
        },
        **shared,
    }


def hosting_model(global_layers: Sequence[int] = ()) -> Any:
    """The same network on the classes that host it, written down independently of the adapter."""
    classes = recent("unlimited_ocr")
    tokenizer = deepseek_tokenizer()
    config = classes.UnlimitedOcrConfig(
        vision_config={
            "sam_config": {
                "hidden_size": SAM_WIDTH,
                "num_hidden_layers": 2,
                "num_attention_heads": 1,
                "global_attn_indexes": list(global_layers),
                "downsample_channels": [24, CLIP_WIDTH],
                "mlp_dim": 4 * SAM_WIDTH,
            },
            "encoder_config": {
                "hidden_size": CLIP_WIDTH,
                "intermediate_size": 4 * CLIP_WIDTH,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
            },
        },
        text_config={**moe_text(tokenizer), "layer_types": ["full_attention"] * 2},
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    model = classes.UnlimitedOcrForConditionalGeneration(config).eval()
    randomise(model)
    return model


def deepseek_ocr_v1(folder: Path, global_layers: Sequence[int] = ()) -> Path:
    """global_layers: SAM layers that attend to the whole view, which is slow at real page sizes."""
    tokenizer = deepseek_tokenizer()
    tokenizer.save_pretrained(folder)
    settings = folder / "tokenizer_config.json"
    named = {**json.loads(settings.read_text()), "tokenizer_class": "LlamaTokenizerFast"}
    settings.write_text(json.dumps(named))
    (folder / "config.json").write_text(json.dumps(config_json(moe_text(tokenizer), global_layers)))
    tensors = {
        name: tensor.clone() for name, tensor in v1_tensors(hosting_model(global_layers)).items()
    }
    save_file(tensors, folder / SHARD, metadata={"format": "pt"})
    index = {"metadata": {}, "weight_map": dict.fromkeys(tensors, SHARD)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def v1_tensors(model: Any) -> dict[str, Tensor]:
    """Every tensor of version 1, named as there; CLIP's stem is unused but present."""
    core: Any = model.model
    found = {
        "lm_head.weight": model.lm_head.weight,
        "model.image_newline": core.image_newline,
        "model.view_seperator": core.view_separator,
        "model.embed_tokens.weight": core.language_model.embed_tokens.weight,
        "model.norm.weight": core.language_model.norm.weight,
        **_named("model.projector.layers", core.multi_modal_projector),
    }
    found |= _sam("model.sam_model", core.vision_tower.sam_encoder)
    found |= _clip("model.vision_model", core.vision_tower.vision_encoder)
    for index, layer in enumerate(core.language_model.layers):
        found |= _decoder_layer(f"model.layers.{index}", layer)
    return {name: tensor.detach() for name, tensor in found.items()}


def _named(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    return {f"{prefix}.{name}": tensor for name, tensor in module.named_parameters()}


def _sam(prefix: str, sam: Any) -> dict[str, Tensor]:
    found = {
        f"{prefix}.pos_embed": sam.pos_embed,
        **_named(f"{prefix}.patch_embed.proj", sam.patch_embed.projection),
        f"{prefix}.neck.0.weight": sam.neck.conv1.weight,
        **_named(f"{prefix}.neck.1", sam.neck.layer_norm1),
        f"{prefix}.neck.2.weight": sam.neck.conv2.weight,
        **_named(f"{prefix}.neck.3", sam.neck.layer_norm2),
        f"{prefix}.net_2.weight": sam.proj.conv1.weight,
        f"{prefix}.net_3.weight": sam.proj.conv2.weight,
    }
    for index, layer in enumerate(sam.layers):
        block = f"{prefix}.blocks.{index}"
        found |= _named(f"{block}.norm1", layer.layer_norm1)
        found |= _named(f"{block}.norm2", layer.layer_norm2)
        found |= _named(f"{block}.attn", layer.attn)
        found |= _named(f"{block}.mlp", layer.mlp)
    return found


def _clip(prefix: str, clip: Any) -> dict[str, Tensor]:
    table = clip.embeddings.position_embedding.weight
    found = {
        f"{prefix}.embeddings.class_embedding": clip.embeddings.class_embedding,
        f"{prefix}.embeddings.position_embedding.weight": table,
        f"{prefix}.embeddings.patch_embedding.weight": torch.zeros(CLIP_WIDTH, 3, 14, 14),
        **_named(f"{prefix}.pre_layrnorm", clip.pre_layrnorm),
    }
    for index, layer in enumerate(clip.encoder.layers):
        block, attention = f"{prefix}.transformer.layers.{index}", layer.self_attn
        projections = (attention.q_proj, attention.k_proj, attention.v_proj)
        for kind in ("weight", "bias"):
            joined = torch.cat([getattr(one, kind) for one in projections])
            found[f"{block}.self_attn.qkv_proj.{kind}"] = joined
        found |= _named(f"{block}.self_attn.out_proj", attention.out_proj)
        found |= _named(f"{block}.layer_norm1", layer.layer_norm1)
        found |= _named(f"{block}.layer_norm2", layer.layer_norm2)
        found |= _named(f"{block}.mlp", layer.mlp)
    return found


def _decoder_layer(prefix: str, layer: Any) -> dict[str, Tensor]:
    found = {
        f"{prefix}.input_layernorm.weight": layer.input_layernorm.weight,
        f"{prefix}.post_attention_layernorm.weight": layer.post_attention_layernorm.weight,
        **_named(f"{prefix}.self_attn", layer.self_attn),
    }
    if not hasattr(layer.mlp, "experts"):
        return found | _named(f"{prefix}.mlp", layer.mlp)
    found[f"{prefix}.mlp.gate.weight"] = layer.mlp.gate.weight
    found |= _named(f"{prefix}.mlp.shared_experts", layer.mlp.shared_experts)
    experts = layer.mlp.experts
    for expert, (both, down) in enumerate(
        zip(experts.gate_up_proj, experts.down_proj, strict=True)
    ):
        gate, up = both.chunk(2)
        for name, tensor in (("gate_proj", gate), ("up_proj", up), ("down_proj", down)):
            found[f"{prefix}.mlp.experts.{expert}.{name}.weight"] = tensor
    return found
