class Backend:
    accept_output_buffer = True

    @classmethod
    def get_name(cls):
        return {"cuda": "FLASH_ATTN", "rocm": "ROCM_ATTN", "xpu": "FLASH_ATTN", "cpu": "CPU_ATTN"}.get(
            __option__("platform"), "CUSTOM"
        )


def get_attn_backend(*args, **kwargs):
    return Backend()


def get_mamba_attn_backend(*args, **kwargs):
    return Backend()
