"""Complex arrays as pairs of real symbolic arrays: graph, calculus and kernels stay real.

Takes
    names of complex inputs, and NumPy's functions and operators on what is made of them
Gives
    complex arrays, whose parts are arrays of symbols
Invariants
    * A kernel takes and gives complex numbers, ``sd.compile(w, [z])``, or the parts, ``sd.compile(w.parts, z.parts)``.
    * A real result of a complex input has derivatives with respect to both parts, which ``wirtinger`` joins.
Files
    array       the array, and which function a name means
    functions   what is computed, by parts
    fourier     discrete Fourier transforms
    inputs      complex inputs, and gradients with respect to them
Add
    a function of NumPy's: one in ``functions``, and its name in the table there
"""

from __future__ import annotations

from . import functions
from .array import ComplexArray, apply
from .inputs import complex_array, wirtinger

__all__ = ["ComplexArray", "apply", "complex_array", "functions", "wirtinger"]
