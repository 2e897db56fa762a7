"""The tiny checkpoints of every family, as the adapters' own tests build and load them."""

from tests.models.conftest import adapter, checkpoint, prompts

__all__ = ["adapter", "checkpoint", "prompts"]
