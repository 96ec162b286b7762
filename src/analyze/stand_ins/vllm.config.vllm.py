from tenon.config import current


def get_current_vllm_config():
    return current.value


def get_current_vllm_config_or_none():
    return current.value


def get_cached_compilation_config():
    return current.value.compilation_config


def set_current_vllm_config(vllm_config, check_compile=False, prefix=None):
    return None
