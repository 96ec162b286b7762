HAS_TRITON = __option__("platform") != "cpu"
