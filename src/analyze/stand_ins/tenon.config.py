"""The configuration objects that a model is constructed with."""


class Holder:
    value = None
    delegates = []  # architectures of inner models, outermost first


current = Holder()


class Part:
    pass


def architecture(hf_config, text_config):
    """Sizes that vLLM reads off a configuration when it is loaded."""
    heads = getattr(text_config, "num_attention_heads", 1)
    hidden = getattr(text_config, "hidden_size", 0)
    experts = 0
    for name in ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"):
        experts = experts or getattr(text_config, name, 0)
    return {
        "architectures": getattr(hf_config, "architectures", None),
        "model_type": getattr(hf_config, "model_type", ""),
        "text_model_type": getattr(text_config, "model_type", ""),
        "hidden_size": hidden,
        "total_num_hidden_layers": getattr(text_config, "num_hidden_layers", 0),
        "total_num_attention_heads": heads,
        "head_size": getattr(text_config, "head_dim", None) or hidden // (heads or 1),
        "vocab_size": getattr(text_config, "vocab_size", 0),
        "total_num_kv_heads": getattr(text_config, "num_key_value_heads", heads),
        "num_experts": experts,
        "num_experts_per_token": getattr(text_config, "num_experts_per_tok", 0),
        "quantization_config": None,
        "is_deepseek_mla": hasattr(text_config, "kv_lora_rank"),
        "is_mm_prefix_lm": False,
        "rswa_window": None,
        "per_layer_overrides": None,
    }


def parts(owner, hf_config, text_config, sets, model):
    """vLLM's configuration classes as blank instances: fields keep their defaults, nothing that
    their __post_init__ would look up on a machine."""
    def blank(cls, name, **values):
        part = __later__(Part, "vllm.config." + cls, "vllm_config." + name, **values)
        for key, value in sets.items():
            if key.startswith(name.removesuffix("_config") + "."):
                setattr(part, key.split(".", 1)[1], value)
        return part

    tp = __option__("tp")
    dtype = __option__("dtype")
    longest = getattr(text_config, "max_position_embeddings", None) or 8192
    multimodal = getattr(model, "supports_multimodal", False)
    kind = __option__("model_kind")
    pooling = kind == "pooling"
    pooler = dict(
        seq_pooling_type=getattr(model, "default_seq_pooling_type", "LAST"),
        tok_pooling_type=getattr(model, "default_tok_pooling_type", "ALL"),
    )
    model_config = blank(
        "model.ModelConfig",
        "model_config",
        hf_config=hf_config,
        hf_text_config=text_config,
        dtype=dtype,
        head_dtype=dtype,
        max_model_len=longest,
        model="model",
        tokenizer="model",
        quantization=None,
        multimodal_config=blank("multimodal.MultiModalConfig", "multimodal_config", limit_per_prompt={})
        if multimodal else None,
        pooler_config=blank("pooler.PoolerConfig", "pooler_config", **pooler) if pooling else None,
        runner_type="pooling" if pooling else "generate",
        is_encoder_decoder=getattr(hf_config, "is_encoder_decoder", False),
        use_mla=hasattr(text_config, "kv_lora_rank"),
        attn_type="decoder",
        is_hybrid=getattr(model, "is_hybrid", False),
        is_moe=False,
        model_arch_config=blank(
            "model_arch.ModelArchitectureConfig",
            "model_arch_config",
            **architecture(hf_config, text_config),
        ),
        is_multimodal_model=multimodal,
        enable_return_routed_experts=False,
    )
    return {
        "model_config": model_config,
        "cache_config": blank(
            "cache.CacheConfig", "cache_config", cache_dtype="auto", block_size=16, sliding_window=None
        ),
        "parallel_config": blank(
            "parallel.ParallelConfig",
            "parallel_config",
            tensor_parallel_size=tp,
            pipeline_parallel_size=1,
            data_parallel_size=1,
            world_size=tp,
            use_sequence_parallel_moe=False,
            enable_expert_parallel=False,
            enable_eplb=False,
            eplb_config=Eplb(),
        ),
        "scheduler_config": blank(
            "scheduler.SchedulerConfig",
            "scheduler_config",
            max_num_batched_tokens=8192,
            max_num_seqs=256,
            max_model_len=longest,
        ),
        "compilation_config": blank(
            "compilation.CompilationConfig",
            "compilation_config",
            static_forward_context={},
            static_all_moe_layers=[],
            custom_ops=["none"],
            enabled_custom_ops={},
            disabled_custom_ops={},
        ),
        "attention_config": blank(
            "attention.AttentionConfig",
            "attention_config",
            sparse_mla_prefill_workspace_factor=5 if longest <= 256 * 1024 else 2,
        ),
        "device_config": blank("device.DeviceConfig", "device_config", device="cuda"),
        "load_config": blank("load.LoadConfig", "load_config"),
        "quant_config": None,
        "lora_config": None,
        # A draft is analysed with the configuration of its target beside its own, which is the same.
        "speculative_config": blank(
            "speculative.SpeculativeConfig",
            "speculative_config",
            num_speculative_tokens=1,
            draft_model_config=model_config,
            target_model_config=model_config,
            draft_tensor_parallel_size=tp,
        )
        if kind == "draft"
        else None,
        "kv_transfer_config": None,
        "ec_transfer_config": None,
        "structured_outputs_config": None,
        "instance_id": "",
    }


class Eplb:
    num_redundant_experts = 0
    window_size = 1000
    step_interval = 3000
    log_balancedness = False
    use_async = False


def make(hf_config, text_config, sets, model):
    """model: the main class."""
    config = __later__(Part, "vllm.config.vllm.VllmConfig", "vllm_config")
    for key, value in parts(config, hf_config, text_config, sets, model).items():
        setattr(config, key, value)
    config.with_hf_config = lambda inner, architectures=None: with_hf_config(
        config, inner, architectures
    )
    current.value = config
    return config


def with_hf_config(config, inner, architectures):
    """A copy for an inner model: same deployment, another model configuration."""
    if architectures is None and inner.architectures is None:
        name = __architecture_of__(inner.model_type)
        architectures = None if name is None else [name]
    if architectures is not None:
        inner = __copy__(inner)
        inner.architectures = architectures
    copy = __copy__(config)
    copy.model_config = __copy__(config.model_config)
    copy.model_config.hf_config = inner
    copy.model_config.hf_text_config = inner.get_text_config()
    copy.with_hf_config = lambda other, architectures=None: with_hf_config(
        copy, other, architectures
    )
    return copy
