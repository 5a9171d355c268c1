"""Libraries as objects: loaded when one is made, unloaded when its last reference is gone.

That is when the object's memory is freed, and not before. Python's own ways to be told of an
object's end (``__del__``, ``weakref.finalize``) come earlier where objects hold each other in a
circle: the finalizers of others in that circle run afterwards, may call a kernel, and may even
bring it back.

Everything here runs with the interpreter's lock, so that no thread forks while another is in
the loader.
"""

import atexit
import os

cdef extern from "system/loader.h":
    void *sd_open(const char *path) noexcept
    void *sd_find(void *library, const char *name) noexcept
    const char *sd_complaint() noexcept
    void sd_close(void *library) noexcept


cdef long libraries = 0
cdef size_t bytes_of_all = 0
cdef long unloaded = 0
cdef bint ended = False


def loaded():
    """Return how many libraries are loaded, the bytes that they take, and how many were unloaded so far."""
    return libraries, bytes_of_all, unloaded


cdef class Code:
    """A loaded library.

    Parameters
    ----------
    path : str
        Its file.
    size : int
        Bytes of address space to count for it.

    Raises
    ------
    OSError
        When the loader does not take it.
    """

    cdef void *library
    cdef size_t size
    cdef object __weakref__

    def __cinit__(self, str path, size_t size):
        global libraries, bytes_of_all
        cdef const char *complaint
        encoded = os.fsencode(path)
        self.library = sd_open(encoded)
        if self.library == NULL:
            complaint = sd_complaint()
            raise OSError((<bytes>complaint).decode(errors="replace") if complaint != NULL else f"{path} is not taken")
        self.size = size
        libraries += 1
        bytes_of_all += size

    def __dealloc__(self):
        global libraries, bytes_of_all, unloaded
        # Once the process ends, threads that nobody waits for may still be in the code.
        if self.library == NULL or ended:
            return
        libraries -= 1
        bytes_of_all -= self.size
        unloaded += 1
        sd_close(self.library)

    def address(self, str name not None):
        """Return where a function or a variable stands, or 0 if there is none of this name."""
        encoded = name.encode()
        return <size_t>sd_find(self.library, encoded)


@atexit.register
def end():
    """Unload nothing from now on."""
    global ended
    ended = True
