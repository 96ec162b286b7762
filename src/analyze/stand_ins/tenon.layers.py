"""How the layers of layers.def behave: shapes, implicit collectives, return values.

`self` is an instance of the real class with its constructor arguments as attributes; `layer_op` is
the canonical operator of its row.
"""

from tenon.config import current
from vllm.v1.attention.selector import get_attn_backend


class Layer:
    def __init__(self, *args, **kwargs):
        __bind__(self, args, kwargs)
        self.setup()

    def setup(self):
        pass


def axis_name(layer, sharded):
    name = __name_of__(layer).removesuffix("_proj")
    return name + "/tp" if sharded else name


def hidden_axis(layer, size):
    return "hidden" if size == __option__("hidden_size") else axis_name(layer, False)


class Linear(Layer):
    """Common to all: self.rows and self.columns are this rank's sizes of the weight."""

    def make_weight(self, columns, rows):
        dtype = getattr(self, "params_dtype", None)
        self.weight = __param__([columns, rows], dtype)
        has_bias = self.bias
        self.bias = __param__([columns], dtype) if has_bias else None
        self.quant_method = None
        self.local_columns = columns

    def project(self, x, axis, parallel, dtype=None):
        return __emit__(
            self.layer_op,
            [x, self.weight, self.bias],
            shape=[*x.shape[:-1], self.local_columns],
            axes=axis,
            dtype=dtype,
            bias=self.bias is not None,
            parallel=parallel,
        )

    def result(self, y):
        if not getattr(self, "return_bias", True):
            return y
        return y, self.bias if getattr(self, "skip_bias_add", False) else None


class ReplicatedLinear(Linear):
    def setup(self):
        self.tp_size = 1
        self.output_size_per_partition = self.output_size
        self.make_weight(self.output_size, self.input_size)

    def forward(self, x):
        axis = hidden_axis(self, self.output_size)
        return self.result(self.project(x, axis, "replicated"))


class GateLinear(ReplicatedLinear):
    def forward(self, x, *args, **kwargs):
        y = self.project(x, "experts", "replicated", self.out_dtype)
        return self.result(y)

    def set_out_dtype(self, out_dtype):
        if self.out_dtype is None:
            self.out_dtype = out_dtype


class ColumnParallelLinear(Linear):
    def setup(self):
        self.tp_size = 1 if getattr(self, "disable_tp", False) else __option__("tp")
        self.tp_rank = 0
        self.output_size_per_partition = self.output_size // self.tp_size
        self.input_size_per_partition = self.input_size
        self.make_weight(self.output_size_per_partition, self.input_size)

    def forward(self, x):
        y = self.project(x, axis_name(self, self.tp_size > 1), "column")
        if getattr(self, "gather_output", False) and self.tp_size > 1:
            y = __emit__(
                "all_gather",
                [y],
                shape=[*y.shape[:-1], self.output_size],
                axes=hidden_axis(self, self.output_size),
                size=self.tp_size,
                implicit=True,
            )
        return self.result(y)


class MergedColumnParallelLinear(ColumnParallelLinear):
    def setup(self):
        self.output_size = sum(self.output_sizes)
        ColumnParallelLinear.setup(self)
        self.output_partition_sizes = [size // self.tp_size for size in self.output_sizes]


class QKVParallelLinear(ColumnParallelLinear):
    def setup(self):
        tp = 1 if getattr(self, "disable_tp", False) else __option__("tp")
        if self.total_num_kv_heads is None:
            self.total_num_kv_heads = self.total_num_heads
        if getattr(self, "v_head_size", None) is None:
            self.v_head_size = self.head_size
        self.num_heads = self.total_num_heads // tp
        self.num_kv_heads = max(1, self.total_num_kv_heads // tp)
        self.num_kv_head_replicas = max(1, tp // self.total_num_kv_heads)
        self.output_sizes = [
            self.num_heads * self.head_size * tp,
            self.num_kv_heads * self.head_size * tp,
            self.num_kv_heads * self.v_head_size * tp,
        ]
        self.input_size = self.hidden_size
        self.output_size = sum(self.output_sizes)
        ColumnParallelLinear.setup(self)
        self.output_partition_sizes = [size // tp for size in self.output_sizes]


class RowParallelLinear(Linear):
    def setup(self):
        self.tp_size = 1 if getattr(self, "disable_tp", False) else __option__("tp")
        self.tp_rank = 0
        self.input_size_per_partition = self.input_size // self.tp_size
        self.output_size_per_partition = self.output_size
        self.make_weight(self.output_size, self.input_size_per_partition)

    def forward(self, x):
        y = self.project(x, hidden_axis(self, self.output_size), "row")
        if self.reduce_results and self.tp_size > 1:
            y = __emit__("all_reduce", [y], like=y, size=self.tp_size, implicit=True)
        return self.result(y)


class VocabParallelEmbedding(Layer):
    def setup(self):
        self.tp_size = __option__("tp")
        rows = (self.num_embeddings + 63) // 64 * 64 // self.tp_size
        self.weight = __param__([rows, self.embedding_dim], getattr(self, "params_dtype", None))
        self.quant_method = None

    def forward(self, ids):
        y = __emit__(
            "embedding",
            [ids, self.weight],
            shape=[*ids.shape, self.embedding_dim],
            axes="hidden",
            dtype=__option__("dtype"),
            vocab=self.num_embeddings,
            hidden=self.embedding_dim,
            parallel=self.tp_size > 1,
        )
        if self.tp_size > 1:
            y = __emit__("all_reduce", [y], like=y, size=self.tp_size, implicit=True)
        return y


class ParallelLMHead(VocabParallelEmbedding):
    def forward(self, x):
        raise RuntimeError("LMHead's weights should be used in the sampler.")

    def tie_weights(self, embed_tokens):
        self.weight = embed_tokens.weight
        return self


class LogitsProcessor(Layer):
    def setup(self):
        self.org_vocab_size = self.org_vocab_size or self.vocab_size

    def forward(self, lm_head, hidden_states, embedding_bias=None, **kwargs):
        logits = hidden_states
        tp = __option__("tp")
        if not self.logits_as_input:
            logits = __emit__(
                "linear",
                [hidden_states, lm_head.weight, embedding_bias],
                shape=[*hidden_states.shape[:-1], lm_head.weight.shape[0]],
                axes="vocab/tp" if tp > 1 else "vocab",
                bias=embedding_bias is not None,
                parallel="column",
            )
            if tp > 1:
                logits = __emit__(
                    "all_gather",
                    [logits],
                    shape=[*hidden_states.shape[:-1], self.org_vocab_size],
                    axes="vocab",
                    size=tp,
                    implicit=True,
                )
        if self.soft_cap is not None:
            logits = logits / self.soft_cap
            logits = logits.tanh()
            logits = logits * self.soft_cap
        if self.scale != 1.0:
            logits = logits * self.scale
        return logits


class RMSNorm(Layer):
    def setup(self):
        self.variance_epsilon = self.eps
        self.has_weight = getattr(self, "has_weight", True)
        self.weight = __param__([self.hidden_size], getattr(self, "dtype", None))
        self.variance_size_override = getattr(self, "var_hidden_size", None)

    def forward(self, x, residual=None):
        weight = self.weight if self.has_weight else None
        if residual is None:
            return __emit__("rms_norm", [x, weight], like=x, eps=self.variance_epsilon,
                            has_weight=self.has_weight)
        return __emit__(
            "fused_add_rms_norm",
            [x, residual, weight],
            outs=[x, residual],
            eps=self.variance_epsilon,
            has_weight=self.has_weight,
        )


class LayerNorm(Layer):
    def setup(self):
        size = getattr(self, "dim", None) or getattr(self, "hidden_size", None)
        self.weight = __param__([size], None)
        self.bias = __param__([size], None)

    def forward(self, x):
        return __emit__("layer_norm", [x, self.weight, self.bias], like=x, eps=self.eps, bias=True)


class RMSNormGated(Layer):
    def setup(self):
        self.weight = __param__([self.hidden_size], getattr(self, "dtype", None))

    def forward(self, x, z=None):
        return __emit__(
            "rms_norm_gated",
            [x, z, self.weight],
            like=x,
            eps=self.eps,
            group_size=self.group_size,
            norm_before_gate=self.norm_before_gate,
            activation=self.activation,
        )


class Activation(Layer):
    def forward(self, x):
        return __emit__(self.layer_op, [x], like=x)


class ActAndMul(Layer):
    def attributes(self):
        known = ("limit", "swiglu_limit", "alpha", "threshold")
        return {k: getattr(self, k) for k in known if getattr(self, k, None) is not None}

    def forward(self, x):
        axis = "intermediate/tp" if __option__("tp") > 1 else "intermediate"
        shape = [*x.shape[:-1], x.shape[-1] // 2]
        return __emit__(self.layer_op, [x], shape=shape, axes=axis, **self.attributes())


class GeluAndMul(ActAndMul):
    def attributes(self):
        return {"approximate": self.approximate}


class Impl:
    """What an attention layer asks its backend about: one rank, nothing unusual."""

    dcp_world_size = 1
    dcp_rank = 0
    pcp_world_size = 1
    need_to_return_lse_for_decode = False
    supports_quant_query_input = False


def register(layer):
    """Where custom operators look the layer up."""
    if current.value is not None:
        current.value.compilation_config.static_forward_context[layer.prefix] = layer


class Attention(Layer):
    def setup(self):
        register(self)
        if self.num_kv_heads is None:
            self.num_kv_heads = self.num_heads
        self.head_size_v = getattr(self, "head_size_v", None) or self.head_size
        self.sliding_window = getattr(self, "per_layer_sliding_window", None)
        self.layer_name = self.prefix
        self.impl = Impl()
        self.kv_cache_dtype = "auto"
        self.attn_backend = get_attn_backend()

    def forward(self, query, key, value, *args, **kwargs):
        extra = getattr(self, "extra_impl_args", {}) or {}
        kind = "mha" if self.num_kv_heads == self.num_heads else "gqa"
        if self.sliding_window is not None:
            kind = "sliding"
        shape = [*query.shape[:-1], self.num_heads * self.head_size_v]
        if len(query.shape) == 3:
            shape = [query.shape[0], self.num_heads * self.head_size_v]
        return __emit__(
            "attention",
            [query, key, value, extra.get("sinks")],
            shape=shape,
            axes="q/tp" if __option__("tp") > 1 else "q",
            kind=kind,
            window=self.sliding_window,
            soft_cap=getattr(self, "logits_soft_cap", None),
            sinks=extra.get("sinks") is not None,
            scale=getattr(self, "scale", None),
            heads=self.num_heads,
            kv_heads=self.num_kv_heads,
            head_dim=self.head_size,
            kv_shared=getattr(self, "kv_sharing_target_layer_name", None) is not None,
        )


class MLAAttention(Layer):
    def setup(self):
        register(self)
        self.layer_name = self.prefix
        self.impl = Impl()
        self.kv_cache_dtype = "auto"
        self.use_pcp = False

    def forward(self, q, kv_c_normed, k_pe, output_shape=None, **kwargs):
        shape = output_shape or [q.shape[0], self.num_heads * self.v_head_dim]
        return __emit__(
            "attention",
            [q, kv_c_normed, k_pe],
            shape=shape,
            axes="v/tp" if __option__("tp") > 1 else "v",
            heads=self.num_heads,
            kv_heads=1,
            head_dim=self.qk_nope_head_dim + self.qk_rope_head_dim,
        )


class RotaryEmbedding(Layer):
    def setup(self):
        self.rotary_dim = getattr(self, "rotary_dim", self.head_size)
        self.cos_sin_cache = __param__([self.max_position_embeddings, self.rotary_dim], None)

    def forward(self, positions, query, key=None, *args, **kwargs):
        outs = [query] if key is None else [query, key]
        y = __emit__(
            "rotary_embedding",
            [positions, query, key, self.cos_sin_cache],
            outs=outs,
            style="neox" if getattr(self, "is_neox_style", True) else "gptj",
            rotary_dim=self.rotary_dim,
            head_dim=self.head_size,
            on="q" if key is None else "q,k",
        )
        return (y, None) if key is None else y
