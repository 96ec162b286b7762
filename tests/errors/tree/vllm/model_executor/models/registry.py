_TEXT_GENERATION_MODELS = {
    "TinyForCausalLM": ("tiny", "TinyForCausalLM"),
    "TinierForCausalLM": ("tiny", "TinierForCausalLM"),
    "LostForCausalLM": ("lost", "LostForCausalLM"),
}

_VLLM_MODELS = {**_TEXT_GENERATION_MODELS}

_PREVIOUSLY_SUPPORTED_MODELS = {"OldForCausalLM": "0.9.2"}

_OOT_SUPPORTED_MODELS = {"PluginForCausalLM": "https://example.org/plugin"}
