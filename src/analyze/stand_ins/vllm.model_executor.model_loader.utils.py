"""Inner models of wrappers, by the registry of the tree under analysis."""

from tenon.config import current
from vllm.model_executor.models.registry import _VLLM_MODELS


def get_model_architecture(model_config):
    for name in model_config.hf_config.architectures or []:
        if name in _VLLM_MODELS:
            module, cls = _VLLM_MODELS[name]
            if not module.startswith("vllm."):
                module = "vllm.model_executor.models." + module
            return getattr(__import_module__(module), cls), name
    # A configuration without architectures, of a model that Transformers does not know.
    wanted = str(model_config.hf_config.model_type).replace("_", "").replace("-", "").lower()
    for name in _VLLM_MODELS:
        if name.lower() == wanted + "forcausallm":
            model_config.hf_config.architectures = [name]
            return get_model_architecture(model_config)
    raise ValueError("no registered architecture for " + str(model_config.hf_config.model_type))


def initialize_model(vllm_config, *, prefix="", model_class=None, model_config=None):
    if model_class is None:
        model_class, name = get_model_architecture(model_config or vllm_config.model_config)
        current.delegates.append(name)
    return model_class(vllm_config=vllm_config, prefix=prefix)
