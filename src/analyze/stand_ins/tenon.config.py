"""The configuration objects that a model is constructed with."""


class Holder:
    value = None


current = Holder()


class Part:
    pass


def parts(owner, hf_config, text_config, sets):
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
    longest = getattr(text_config, "max_position_embeddings", 8192)
    return {
        "model_config": blank(
            "model.ModelConfig",
            "model_config",
            hf_config=hf_config,
            hf_text_config=text_config,
            dtype=dtype,
            head_dtype=dtype,
            max_model_len=longest,
            model="model",
            quantization=None,
            multimodal_config=None,
            runner_type="generate",
            is_encoder_decoder=getattr(hf_config, "is_encoder_decoder", False),
            use_mla=hasattr(text_config, "kv_lora_rank"),
            attn_type="decoder",
            is_hybrid=False,
            is_moe=False,
        ),
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
        "device_config": blank("device.DeviceConfig", "device_config", device="cuda"),
        "load_config": blank("load.LoadConfig", "load_config"),
        "quant_config": None,
        "lora_config": None,
        "speculative_config": None,
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


def make(hf_config, text_config, sets):
    config = __later__(Part, "vllm.config.vllm.VllmConfig", "vllm_config")
    for key, value in parts(config, hf_config, text_config, sets).items():
        setattr(config, key, value)
    config.with_hf_config = lambda inner, architectures=None: with_hf_config(config, inner, sets)
    current.value = config
    return config


def with_hf_config(config, inner, sets):
    """A copy for an inner model: same deployment, another model configuration."""
    copy = __copy__(config)
    copy.model_config = __copy__(config.model_config)
    copy.model_config.hf_config = inner
    copy.model_config.hf_text_config = inner
    copy.with_hf_config = lambda other, architectures=None: with_hf_config(copy, other, sets)
    return copy
