"""Sparse arrays of results, which share their positions until a method would write there."""

from __future__ import annotations

from typing import Any

from scipy import sparse

__all__ = ["BsrResult", "CscResult", "CsrResult"]


class _Shared:
    """Copy positions before SciPy's methods write in them; other results of the kernel keep theirs."""

    def _own(self: Any) -> None:
        self.indices, self.indptr = self.indices.copy(), self.indptr.copy()

    def eliminate_zeros(self) -> None:
        self._own()
        super().eliminate_zeros()  # type: ignore[misc]

    def resize(self, *shape: Any) -> None:
        self._own()
        super().resize(*shape)  # type: ignore[misc]

    @property
    def _csr_container(self) -> type:  # of transposes, which share positions, too
        return CsrResult

    @property
    def _csc_container(self) -> type:
        return CscResult

    @property
    def _bsr_container(self) -> type:
        return BsrResult


class CsrResult(_Shared, sparse.csr_array):  # type: ignore[misc]
    """Rows."""


class CscResult(_Shared, sparse.csc_array):  # type: ignore[misc]
    """Columns."""


class BsrResult(_Shared, sparse.bsr_array):  # type: ignore[misc]
    """Blocks."""
