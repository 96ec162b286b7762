from transformers import PretrainedConfig, PreTrainedConfig, SubConfigSpec
