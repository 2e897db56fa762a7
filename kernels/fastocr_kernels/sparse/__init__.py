"""Attention of one new token over a chosen few cache positions and the text after the image.

`reference.py` defines the meaning, `cpu.py` and `triton_kernel.py` are fast; the one switch
between them is `fastocr_kernels.dispatch`.
"""
