from tenon.config import current


class ForwardContext:
    attn_metadata = None
    virtual_engine = 0
    dp_metadata = None
    remaining_moe_layers = None
    additional_kwargs = {}

    @property
    def no_compile_layers(self):
        return current.value.compilation_config.static_forward_context


context = ForwardContext()


def get_forward_context():
    return context


def is_forward_context_available():
    return True
