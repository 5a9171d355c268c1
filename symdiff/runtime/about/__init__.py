"""What a kernel tells about its formula, and gives to others.

Takes
    the formula that a kernel was compiled from, and numbers
Gives
    text, formulas of other arrays, the part that makes a result nan, functions of other libraries
Invariants
    * Nothing is derived, read or imported before somebody asks.
Files
    origin       what a kernel can tell about its formula
    explain      where a nan or an infinity of a result comes from
    formulas     the formula as it is shown, and of other arrays
    signature    arguments, for Python's tools
    docstring    what help says of a kernel
    frameworks   other libraries that take kernels as functions
Add
    a library: a row in ``frameworks``, a module of :mod:`symdiff.libraries`, and its row in
    ``symdiff/__init__.py``
"""
