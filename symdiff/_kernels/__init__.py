"""The compiled part: the call path of native kernels and the special functions C's library lacks."""
