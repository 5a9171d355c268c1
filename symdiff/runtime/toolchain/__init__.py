"""C text to a function in this process: compiler, cache, loader, and the processes around them.

Takes
    :class:`~symdiff.codegen.c.emit.CSource`
Gives
    loaded code, from the cache where it was built before
Invariants
    * What is loaded has the hash that was published, and belongs to this user.
    * No compiler outlives this process, and no folder of a build stays behind.
    * Code is unloaded when nobody can be in it.
    * The worker exists only while there is something to build, and not across a fork.
Files
    cache      built kernels and records between processes; folders of builds
    load       native code in this process; the processor and libraries
    processes  builds in the background, and compilers as child processes
    build      find the compiler, build and load
Add
    a flag or compiler: ``build``; whatever a build depends on is part of its key there
"""
