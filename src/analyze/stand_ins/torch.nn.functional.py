"""torch.nn.functional: what functions.def does not say in a row."""


def linear(input, weight, bias=None):
    return __emit__(
        "linear",
        [input, weight, bias],
        shape=[*input.shape[:-1], weight.shape[0]],
        bias=bias is not None,
        parallel="replicated",
    )


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    return __emit__("layer_norm", [input, weight, bias], like=input, eps=eps,
                    bias=bias is not None)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    return __emit__("rms_norm", [input, weight], like=input, eps=eps,
                    has_weight=weight is not None, weight_offset=0)
