"""From source to a kernel that runs: calls, arguments, threads, building and loading.

Takes
    programs, plans or NumPy source, and the options of a kernel
Gives
    :class:`~symdiff.runtime.kernel.Kernel`, called like a NumPy function
Invariants
    * Nothing is computed or written before all arguments are checked.
    * Results have the same bits in any batch, layout and number of threads, interpreted or native.
    * Nothing but its user holds a kernel; its code is unloaded with the last reference.
Files
    options        how a kernel is called and treats batches; arguments that hold several inputs
    toolchain      building, caching and loading native code
    calls          arguments of a call, checked; its threads and memory
    origin         the formula of a kernel: as text, of other arrays, in help
    explain        where a nan or an infinity of a result comes from
    signature      arguments, for Python's tools
    kept           records of compiled formulas between processes
    runners        runners of a formula, one for each backend
    choose         which backend serves a formula, and why
    kernel         the compiled formula as users hold it
    sparse_kernel  kernels of which results are nonzeros
Add
    a property of kernels: ``kernel``; a backend: ``runners``; an option of ``compile``: also ``typed.pyi``, for type
    checkers; a library that takes kernels: a row in ``origin``, a module of :mod:`symdiff.libraries.integrations`, and
    its hook in ``symdiff/__init__.py``
"""
