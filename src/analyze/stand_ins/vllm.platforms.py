"""The platform under analysis: vLLM's own classes, with the answers that a driver would give."""

from vllm.platforms.interface import DeviceCapability, Platform, PlatformEnum

NAMES = {"cuda": "CUDA", "rocm": "ROCM", "xpu": "XPU", "cpu": "CPU", "ascend": "OOT"}


class AnalysedPlatform(Platform):
    _enum = getattr(PlatformEnum, NAMES[__option__("platform")])
    device_type = {"cuda": "cuda", "rocm": "cuda", "xpu": "xpu", "cpu": "cpu", "ascend": "npu"}[
        __option__("platform")
    ]
    device_name = __option__("platform")
    dispatch_key = "CPU" if __option__("platform") == "cpu" else "CUDA"

    @classmethod
    def get_device_capability(cls, device_id=0):
        if __option__("platform") not in ("cuda", "rocm"):
            return None
        sm = __option__("sm")
        return DeviceCapability(major=sm // 10, minor=sm % 10)

    @classmethod
    def has_device_capability(cls, capability, device_id=0):
        if __option__("platform") not in ("cuda", "rocm"):
            return False
        if isinstance(capability, tuple):
            capability = capability[0] * 10 + capability[1]
        return __option__("sm") >= capability

    @classmethod
    def is_device_capability(cls, capability, device_id=0):
        if __option__("platform") not in ("cuda", "rocm"):
            return False
        if isinstance(capability, tuple):
            capability = capability[0] * 10 + capability[1]
        return __option__("sm") == capability

    @classmethod
    def is_device_capability_family(cls, capability, device_id=0):
        if __option__("platform") not in ("cuda", "rocm"):
            return False
        return __option__("sm") // 10 == capability // 10

    @classmethod
    def get_device_name(cls, device_id=0):
        return "NVIDIA H100" if __option__("platform") == "cuda" else __option__("platform")

    @classmethod
    def num_compute_units(cls, device_id=0):
        return {"cuda": 132, "rocm": 304}.get(__option__("platform"), 64)

    @classmethod
    def current_device(cls):
        return 0

    @classmethod
    def is_pin_memory_available(cls):
        return False

    @classmethod
    def supports_fp8(cls):
        return __option__("platform") == "cuda" and __option__("sm") >= 89

    @classmethod
    def is_fp8_fnuz(cls):
        return False


current_platform = AnalysedPlatform()
