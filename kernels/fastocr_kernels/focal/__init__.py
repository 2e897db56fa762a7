"""Dense attention of one new token that also says how much each visual token was looked at.

`reference.py` defines the meaning, `cpu.py` and `triton_kernel.py` are fast; the one switch
between them is `fastocr_kernels.dispatch`.
"""
