"""Configuration classes. A class that is not named here is an external name."""


class PretrainedConfig:
    is_encoder_decoder = False
    add_cross_attention = False
    tie_word_embeddings = True
    output_hidden_states = False
    attribute_map = {}

    def __init__(self, **kwargs):
        for key, value in kwargs.items():
            setattr(self, key, value)

    def __getattr__(self, name):
        names = type(self).attribute_map
        if name in names:
            return getattr(self, names[name])
        raise AttributeError(name)

    def get_text_config(self, decoder=False):
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


PreTrainedConfig = PretrainedConfig
