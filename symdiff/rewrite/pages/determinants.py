"""Matrices: inverses, determinants and transposes of each other."""

from __future__ import annotations

from ..equations import Identity

PAGE = (
    Identity("log(det(A)) -> logdet(A)", "stability"),
    Identity("log(abs(det(A))) -> logabsdet(A)", "stability"),
    Identity("logdet(cholesky(S)) -> logdet(S) / 2", "stability", S="definite"),
    Identity("logabsdet(cholesky(S)) -> logdet(S) / 2", "stability", S="definite"),
    Identity("inv(inv(A)) -> A", "algebra"),
    Identity("det(A.T) -> det(A)", "algebra"),
    Identity("logdet(A.T) -> logdet(A)", "algebra"),
    Identity("logabsdet(A.T) -> logabsdet(A)", "algebra"),
    Identity("solve(S.T, B) -> solve(S, B)", "arrays", S="symmetric"),
    Identity("abs(eigvalsh(S)) -> eigvalsh(S)", "differentiated", S="semidefinite"),
    Identity("inv(Q) -> Q.T", "values", Q="orthogonal"),
)
