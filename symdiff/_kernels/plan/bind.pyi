#: Multiplications of one sample's product from which BLAS is called.
PLAIN: int
