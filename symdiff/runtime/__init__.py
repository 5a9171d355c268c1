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
    groups          arguments that hold several inputs
    options         how a kernel is called and treats batches
    threads         how many threads a call may take
    result_memory   memory of large results, kept for later ones
    arguments       what a caller passes, checked and brought into one form
    toolchain       building, caching and loading native code
    runners         what runs a formula, one for each backend
    choose          which backend serves a formula, and why
    origin          what a kernel can tell about its formula
    kernel          the compiled formula as users hold it
Add
    a check of arguments: ``arguments``; a property of kernels: ``kernel``; a backend: ``runners``
"""
