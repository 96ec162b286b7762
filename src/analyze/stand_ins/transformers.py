"""Configuration classes. Those of models come from the package's sources where they are given; a
name that is not found there is external."""

from dataclasses import dataclass


@dataclass
class PretrainedConfig:
    model_type = ""
    attribute_map = {}
    sub_configs_defaults = {}
    sub_configs = {}
    default_theta = 10000.0
    default_rope_type = "default"
    is_encoder_decoder = False
    add_cross_attention = False
    tie_word_embeddings = True
    output_hidden_states = False
    chunk_size_feed_forward = 0
    architectures = None
    quantization_config = None
    dtype = None
    num_labels = 2
    problem_type = None
    id2label = {0: "LABEL_0", 1: "LABEL_1"}

    def __init__(self, **kwargs):
        self.sub_configs_defaults = {
            key: spec if isinstance(spec, SubConfigSpec) else SubConfigSpec(spec)
            for key, spec in (type(self).sub_configs_defaults or type(self).sub_configs).items()
        }
        names = type(self).attribute_map
        given = {names.get(key, key): value for key, value in kwargs.items()}
        for name, default in __fields__(type(self)).items():
            setattr(self, name, given.pop(name, default))
        self.__post_init__(**given)

    def __post_init__(self, **kwargs):
        for key, spec in self.sub_configs_defaults.items():
            value = kwargs.pop(key, getattr(self, key, None))
            if not (value is None and spec.optional):
                setattr(self, key, sub_config(spec, value))
        if hasattr(self, "rope_parameters"):
            kwargs = self.convert_rope_params_to_dict(**kwargs)
        self._layer_overrides = kwargs.pop("per_layer_config", None) or {}
        for key, value in kwargs.items():
            setattr(self, key, value)

    @property
    def per_layer_config(self):
        return PerLayer(self, self._layer_overrides)

    def read_rope(self, kwargs):
        """rope_theta and rope_scaling of older files, in the form that all models read."""
        rest = dict(kwargs)
        own = self.__dict__
        rope = rest.pop("rope_scaling", None) or own.get("rope_parameters") or own.get("rope_scaling") or {}
        theta = rest.pop("rope_theta", getattr(self, "rope_theta", self.default_theta))
        factor = rest.pop("partial_rotary_factor", getattr(self, "partial_rotary_factor", None))
        kinds = [value for value in rope.values() if isinstance(value, dict)]
        for parameters in kinds or [rope]:
            parameters.setdefault("rope_type", parameters.get("type", self.default_rope_type))
            parameters.setdefault("rope_theta", theta)
            if factor is not None:
                parameters.setdefault("partial_rotary_factor", factor)
        self.rope_parameters = rope
        return rest

    def convert_rope_params_to_dict(self, **kwargs):
        return self.read_rope(kwargs)

    def standardize_rope_params(self):
        self.read_rope({})

    def validate_rope(self, *args, **kwargs):
        pass

    def validate_layer_type(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        names = type(self).attribute_map
        if name in names:
            return getattr(self, names[name])
        if name == "rope_scaling" and "rope_parameters" in self.__dict__:
            return self.rope_parameters
        raise AttributeError(name)

    def get_text_config(self, decoder=None, encoder=None):
        for name in ("text_config", "llm_config", "language_config", "thinker_config"):
            inner = self.__dict__.get(name)
            if inner is not None:
                return inner
        return self

    def to_dict(self):
        return dict(self.__dict__)

    def update(self, values):
        for key, value in values.items():
            setattr(self, key, value)

    @classmethod
    def from_dict(cls, values, **kwargs):
        return cls(**values)


PreTrainedConfig = PretrainedConfig


class PerLayer:
    """The configuration of one layer: that of the model, with the layer's own values."""

    def __init__(self, config, overrides):
        self.config = config
        self.overrides = overrides

    def __getitem__(self, layer):
        if layer not in self.overrides:
            return self.config
        config = __copy__(self.config)
        for key, value in self.overrides[layer].items():
            setattr(config, key, value)
        return config


class Activations:
    def __getitem__(self, name):
        from vllm.model_executor.layers.activation import get_act_fn

        return get_act_fn(name)


ACT2FN = Activations()


class SubConfigSpec:
    def __init__(self, config_class, model_type=None, init_kwargs=None, optional=False):
        self.config_class = config_class
        self.model_type = model_type
        self.init_kwargs = init_kwargs or {}
        self.optional = optional


def sub_config(spec, value):
    """The configuration of an inner model, from its values or from its class's own."""
    values = spec.init_kwargs
    if isinstance(value, dict):
        values = value
    elif value is not None:
        return value
    cls = spec.config_class
    if cls is AutoConfig:
        cls = CONFIG_MAPPING[values.get("model_type", spec.model_type)]
    return cls(**values)


class AutoConfig:
    @classmethod
    def for_model(cls, model_type, **kwargs):
        return CONFIG_MAPPING[model_type](**kwargs)


class ConfigMapping:
    def __getitem__(self, model_type):
        return __config_class__(model_type) or PretrainedConfig

    def __contains__(self, model_type):
        return __config_class__(model_type) is not None

    def get(self, model_type, default=None):
        return __config_class__(model_type) or default


CONFIG_MAPPING = ConfigMapping()
