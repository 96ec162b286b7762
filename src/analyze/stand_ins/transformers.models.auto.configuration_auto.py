from transformers import AutoConfig, CONFIG_MAPPING
