"""A tokenizer is a file of the model: nothing about it is known."""

from tokenizers import Tokenizer


def cached_tokenizer_from_config(model_config, **kwargs):
    return Tokenizer()


def get_tokenizer(*args, **kwargs):
    return Tokenizer()


cached_get_tokenizer = get_tokenizer
