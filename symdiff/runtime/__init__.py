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
    groups      arguments that hold several inputs
    options     how a kernel is called and treats batches
    toolchain   building, caching and loading native code
    calls       arguments of a call, checked
    about       what a kernel tells about its formula, and gives to others
    kept        what compiling gave, between processes
    runners     what runs a formula, one for each backend
    choose      which backend serves a formula, and why
    serve       calls that compiled code hands on
    kernel      the compiled formula as users hold it
    sparse      kernels of which results are nonzeros
Add
    a property of kernels: ``kernel``; a backend: ``runners``; an option of ``compile``: also ``typed.pyi``, for type
    checkers
"""
