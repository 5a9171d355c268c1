"""Errors that leave without frames of the package."""

cdef void shorten_error() noexcept
