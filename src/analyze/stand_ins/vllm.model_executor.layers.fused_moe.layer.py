"""The expert runner, expanded: router, shared experts, top-k, experts, combination."""

from torch.nn import Module


SOURCE = "vllm.model_executor.layers.fused_moe.layer."


def FusedMoEFactory(*args, **kwargs):
    return Runner(__arguments__(SOURCE + "FusedMoEFactory", args, kwargs))


class MoEConfig:
    def __init__(self, runner):
        self.hidden_dim = runner.hidden_size
        self.num_experts = runner.num_experts


class Runner(Module):
    def __init__(self, given):
        for name, value in given.items():
            setattr(self, name, value)
        self.layer_name = given.get("prefix", "")
        self.moe_config = MoEConfig(self)
        tp = __option__("tp")
        self.tp_size = tp
        inter = self.intermediate_size // tp
        gated = not str(given.get("activation", "silu")).endswith("_no_mul")
        rows = 2 * inter if gated else inter
        self.w13_weight = __param__([self.num_experts, rows, self.hidden_size], None)
        self.w2_weight = __param__([self.num_experts, self.hidden_size, inter], None)

    def read(self, name, default=None):
        return getattr(self, name, default)

    def must_reduce_shared_expert_outputs(self):
        return False

    def maybe_all_reduce_tensor_model_parallel(self, x):
        return x

    def forward(self, hidden_states, router_logits=None, *args, **kwargs):
        tokens = hidden_states.shape[0]
        shared_experts = self.read("shared_experts")
        name = "moe_forward_shared" if shared_experts is not None else "moe_forward"
        custom_op = "vllm." + name
        x = hidden_states
        if self.read("routed_input_transform") is not None:
            x = first(self.routed_input_transform(x))
        if self.read("gate") is not None:
            router_logits = first(self.gate(hidden_states))
        shared = None
        if shared_experts is not None:
            __group__("shared_expert")
            shared = first(shared_experts(hidden_states))
            if self.read("shared_expert_gate") is not None:
                shared = first(self.shared_expert_gate(hidden_states)).sigmoid() * shared
            __group__(None)
        bias = self.read("e_score_correction_bias")
        scoring = self.read("scoring_func", "softmax")
        if self.read("custom_routing_function") is not None:
            scoring = "custom"
        weights, ids = __emit__(
            "topk",
            [router_logits, bias],
            shapes=[[tokens, self.top_k], [tokens, self.top_k]],
            dtypes=["float32", "int32"],
            axes="top_k",
            scoring=scoring,
            grouped=self.read("use_grouped_topk", False),
            num_group=self.read("num_expert_group"),
            topk_group=self.read("topk_group"),
            renormalize=self.read("renormalize", True),
            bias=bias is not None,
            k=self.top_k,
            custom_op=custom_op,
        )
        scale = self.read("routed_scaling_factor", 1.0)
        scale_output = self.read("apply_routed_scale_to_output", False)
        routed = __emit__(
            "fused_moe",
            [x, weights, ids, self.w13_weight, self.w2_weight],
            like=x,
            experts=self.num_experts,
            k=self.top_k,
            inter=self.intermediate_size // self.tp_size,
            activation=str(self.read("activation", "silu")),
            has_bias=self.read("has_bias", False),
            weight_on_input=self.read("apply_router_weight_on_input", False),
            shared_fused=self.read("fuse_shared_experts", False),
            custom_op=custom_op,
        )
        reduce = self.read("reduce_results", True) and self.tp_size > 1
        transform = self.read("routed_output_transform")
        if transform is not None and reduce:
            routed = self.all_reduce(routed, custom_op)
        if scale_output and scale != 1.0:
            routed = routed * scale
        if transform is not None:
            routed = first(transform(routed))
        if shared is not None:
            routed = shared + routed
        if reduce and transform is None:
            routed = self.all_reduce(routed, custom_op)
        return routed

    def all_reduce(self, x, custom_op):
        return __emit__("all_reduce", [x], like=x, size=self.tp_size, implicit=True,
                        custom_op=custom_op)


def first(result):
    return result[0] if isinstance(result, tuple) else result


class FusedMoE(Runner):
    """Of releases where the layer is a class."""

    def __init__(self, *args, **kwargs):
        super().__init__(__arguments__(SOURCE + "FusedMoE", args, kwargs))

    def weight_loader(self, *args, **kwargs):
        pass
