"""Functions and modules of PyTorch read as formulas: their values and gradients. Runs where PyTorch is installed."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import UnsupportedError

torch = pytest.importorskip("torch")
F = torch.nn.functional
#: Of PyTorch's own, where it takes operations apart.
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
torch.manual_seed(1)
X, Y = torch.rand(4, dtype=torch.float64) * 0.7 + 0.2, torch.rand(4, dtype=torch.float64) * 0.7 + 0.2
A, S = torch.rand(4, 3, dtype=torch.float64), torch.eye(3, dtype=torch.float64) * 3 + 0.2
B = torch.rand(2, 3, 4, dtype=torch.float64)


def compare(read: Any, f: Any, names: list[str], tensors: list[Any]) -> None:
    """Compare a formula and the gradient of the sum of its squares with PyTorch's."""
    symbols = [sd.symbol(name, tuple(one.shape)) for name, one in zip(names, tensors, strict=True)]
    loss = sd.sum(read**2)
    slopes = [sd.gradient(loss, one, disconnected="zero") for one in symbols]
    arrays = [one.detach().numpy() for one in tensors]
    value, *found = sd.compile([read, *slopes], symbols, backend="numpy")(*arrays)
    want = f()
    np.testing.assert_allclose(value, want.detach().numpy(), rtol=1e-12, atol=1e-13)
    wanted = torch.autograd.grad((want**2).sum(), tensors, allow_unused=True)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, 0 if other is None else other.numpy(), rtol=1e-9, atol=1e-10)


ROWS: list[tuple[Any, tuple[Any, ...]]] = [
    *((getattr(torch, name), (X,)) for name in [
        "abs", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
        "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "sqrt", "rsqrt", "square", "sigmoid", "erf", "erfc",
        "erfinv", "lgamma", "digamma", "relu", "sinc", "logit", "neg", "reciprocal", "sum", "mean", "prod",
        "amax", "amin", "std", "var", "cumsum", "cumprod", "flatten"
    ] if name not in ("cumsum", "cumprod")),
    *((getattr(F, name), (X - 0.5,)) for name in [
        "gelu", "silu", "mish", "softplus", "elu", "selu", "celu", "leaky_relu", "hardtanh", "relu6",
        "logsigmoid", "hardswish", "softsign", "tanhshrink"
    ]),
      *((getattr(torch.special, name), (X,)) for name in ["ndtr", "log_ndtr", "ndtri", "i0", "i0e", "i1",
       "i1e", "erfcx", "entr", "expit"]),
    *((getattr(torch, name), (X, Y)) for name in
      [
          "add", "sub", "mul", "div", "pow", "maximum", "minimum", "atan2", "hypot", "logaddexp", "xlogy",
          "fmod", "remainder", "dot", "outer"
      ]),
    (lambda x: F.softmax(x, 0) + F.log_softmax(x, -1) + torch.logsumexp(x, 0), (X,)),
    (lambda x, y: torch.where(x > y, x, 2 * y).clamp(0.3, 0.6) + x.clamp(max=0.5), (X, Y)),
    (lambda x: torch.cumsum(x, 0) * torch.cumprod(x, 0), (X,)),
    (lambda a, x: a.T @ x + a[0] * a[:, 1][0] + a[[0, 2]].sum(0), (A, X)),
    (lambda a: torch.cat([a[1:3], a[:1]]).flip(0).roll(1, 0).repeat(2, 1), (A,)),
    (lambda a: torch.stack([a, a * 2], 1).permute(2, 0, 1).reshape(6, 4).unsqueeze(1).squeeze(1), (A,)),
    (lambda a: torch.einsum("ij,kj->ik", a, a).tril(1).diagonal() + a.max(1).values + a.max(), (A,)),
    (lambda a: (a - a.mean(0, keepdim=True)) / a.std(0, correction=0)
     + torch.linalg.vector_norm(a, dim=1)[:, None], (A,)),
    (lambda a: a.norm() * a, (A,)),
    (lambda s: torch.linalg.inv(s) + torch.linalg.det(s) + torch.logdet(s) + torch.linalg.slogdet(s)[1], (S,)),
    (lambda s, a: torch.linalg.solve(s, a.T) + torch.linalg.cholesky(s @ s.T) @ a.T, (S, A)),
    (lambda x: sum(x.split([1, 3])[1].unbind()) * x.chunk(2)[0], (X,)),
    (lambda x: x.detach() * x, (X.clone(),)),
    (lambda b: torch.bmm(b, b.transpose(1, 2)) + F.scaled_dot_product_attention(b, b, b).sum(), (B,)),
    (lambda b: F.layer_norm(b, (4,)).expand(2, 3, 4) + torch.ones(4, dtype=torch.float64) * torch.arange(4), (B,)),
    (lambda x, y: F.mse_loss(x, y) + F.smooth_l1_loss(x, y) + F.huber_loss(x, y), (X, Y)),
    (lambda b: b.chunk(2, -1)[1] * b.chunk(3, 1)[0][:, :, :2], (B,)),
    (lambda a: F.cross_entropy(a, torch.tensor([2, 0, 1, 1])) + a.gather(1, torch.tensor([[0], [2]])).sum(), (A,)),
    (lambda a: F.embedding(torch.tensor([[1, 3], [0, 1]]), a) * torch.ones(3, 3).triu()[0], (A,)),
    (lambda a: a.index_select(0, torch.tensor([2, 0])) + a.index_add(0, torch.tensor([1, 1]), a[:2])[2:], (A,)),
    (lambda a: a.scatter_add(0, torch.tensor([[0, 3, 0], [0, 1, 2], [3, 3, 1], [1, 1, 1]]), a)
     * a.scatter(1, torch.tensor([[1], [2]]), 7.0), (A,)),
    (lambda a: torch.index_put(a, (torch.tensor([1, 0, 3]),), a[:3] * 2)
     + a.index_fill(1, torch.tensor([2]), 1.0), (A,)),
    (lambda a: a.select_scatter(a[0] * 3, 0, 2) * a.slice_scatter(a[:2] + 1, 0, 1, 3)
     + a.diagonal_scatter(a[:3, 0], 0), (A,)),
    (lambda x: x.sort(descending=True)[0] * x.topk(2).values.sum() + x.topk(3, largest=False)[0].prod(), (X,)),
    (lambda a: a.median() * a.kthvalue(2, 0).values + a.median(0).values + a.cummax(0)[0]
     + a.cummin(1).values[0], (A,)),
    (lambda a: a.logcumsumexp(0) + torch.var_mean(a, 0)[0] * torch.var_mean(a)[1], (A,)),
    (lambda a: torch.cdist(a, 2 * a[:2] + 1) + F.pad(a, (1, -2, 2, 0), value=3.0)[:4], (A,)),
    (lambda b: F.pad(b, (1, 2), mode="reflect") * F.pad(b, (2, 1), mode="replicate"), (B,)),
    (lambda b: F.unfold(b[:, None], 2).sum(1) + b.unfold(2, 2, 1).sum((1, 2, 3))[:, None], (B,)),
    (lambda b: F.interpolate(b[None], scale_factor=2, mode="bilinear") * F.interpolate(b[None], size=(6, 8)), (B,)),
    (lambda b: F.interpolate(b, size=7, mode="linear", align_corners=True), (B,)),
    (lambda b: F.max_pool1d(b, 2, 1, 1) + F.avg_pool1d(b, 3, 2, 1).sum() + F.adaptive_avg_pool1d(b, 3).prod(), (B,)),
    (lambda b: F.max_pool2d(b[None], 2, 1) + F.avg_pool2d(b[None], 2, 1, count_include_pad=False)
     * F.adaptive_avg_pool2d(b[None], 2).sum(), (B,)),
    (lambda b: F.conv1d(b, 1 + b[:, :3, :2].transpose(0, 1)[:2].repeat(1, 2, 1)[:, :3], b[0, 0, :2], 2, 1, 2), (B,)),
    (lambda b: F.conv2d(b[None], b[:, :1, :3, None].repeat(2, 1, 1, 3), None, 1, "same", 1, 2), (B,)),
    (lambda b: F.conv_transpose1d(b, b[:1, :, :3].transpose(0, 1), None, 3, 1, 2, 1, 2), (B,)),
    (lambda b: F.group_norm(b.transpose(1, 2), 2, b[0, 0], b[0, 1]) + F.instance_norm(b).sum(), (B,)),
    (lambda b: F.layer_norm(torch.cdist(b, b), (3,)), (B,)),
    (lambda b: F.scaled_dot_product_attention(b, b, b, is_causal=True)
     + F.scaled_dot_product_attention(b, b, b, attn_mask=b[..., :3], scale=0.3), (B,)),
    (lambda b: F.scaled_dot_product_attention(b, b, b, attn_mask=torch.ones(3, 3, dtype=torch.bool).tril(1)), (B,)),
    (lambda s, a: torch.cholesky_solve(a.T, torch.linalg.cholesky(s @ s.T))
     + torch.linalg.solve_triangular(s, a.T, upper=True)
     + torch.linalg.solve_triangular(s, a, upper=False, left=False).T, (S, A)),
    (lambda s: torch.linalg.eigvalsh(s + s.T + torch.diag(torch.arange(3.0))) + torch.linalg.norm(s, 2)
     + torch.linalg.norm(s, "nuc") + torch.linalg.norm(s, 1) + torch.linalg.norm(s)
     + torch.linalg.svdvals(s[:2])[0], (S,)),
    (lambda x: torch.distributions.Normal(x, 2.0, validate_args=False).log_prob(x**2), (X,)),
    (lambda x: x @ F.one_hot(torch.tensor([0, 1, 2, 0]), 3).double() + torch.kron(x, x)[:3]
     + torch.lerp(x, 2 * x, 0.3)[1:], (X,)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_functions_have_their_values_and_gradients(number: int) -> None:
    f, args = ROWS[number]
    tensors = [one.clone().requires_grad_() for one in args]
    names = [f"x{k}" for k in range(len(args))]
    space: dict[str, Any] = {"f": f}
    exec(f"def call({', '.join(names)}): return f({', '.join(names)})", space)  # noqa: S102 - names of its own
    compare(sd.from_torch(space["call"], *args), lambda: f(*tensors), names, tensors)


def test_modules_have_their_parameters_as_symbols() -> None:
    Module: Any = torch.nn.Module

    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(3, 5).double()
            self.norm = torch.nn.LayerNorm(5).double()
            self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=torch.float64))

        def forward(self, x: Any) -> Any:
            return torch.tanh(self.norm(self.first(x))) * self.scale

    net = Net().eval()
    read = sd.from_torch(net, A)
    names = ["first_weight", "first_bias", "norm_weight", "norm_bias"]
    compare(read, lambda: net(A), [*names, "x"], [*net.parameters(), A.requires_grad_()])
    A.requires_grad_(False)


def test_symbols_have_the_names_of_parameters() -> None:
    def read(f: Any, *args: Any) -> set[str]:
        return {x.name for x in sd.compile(sd.from_torch(f, *args)).inputs}

    # one tensor for several parameters is several symbols
    assert read(lambda A, a, Xy: A + a * Xy, X, X, X) == {"A", "a", "Xy"}
    assert read(lambda P, *Q: P["W"] * P["b"][1] + P["b"][0] + Q[1], {"W": X, "b": [X, X]}, X, X) == {
        "P_W", "P_b_0", "P_b_1", "Q_0", "Q_1"}  # fmt: skip
    assert read(lambda W, k: W * k, X, 3) == {"W"}


def test_layers_of_a_sequence_have_names_and_kernels_take_them_in_order() -> None:
    nn: Any = torch.nn
    image = torch.rand(2, 1, 6, 6, dtype=torch.float64)
    norm = nn.BatchNorm2d(2)
    norm.running_mean, norm.running_var = torch.tensor([0.3, -0.2]), torch.tensor([0.5, 2.0])
    convolution, last = nn.Conv2d(1, 2, 3, padding=1), nn.Linear(18, 3)
    net = nn.Sequential(convolution, norm, nn.PReLU(), nn.MaxPool2d(2), nn.Flatten(), last).double().eval()
    read = sd.from_torch(net, image)
    names = [f"p_{name.replace('.', '_')}" for name, _ in net.named_parameters()]
    kernel = sd.compile(read, backend="numpy")
    assert [one.name for one in kernel.inputs] == [*names, "input"]
    compare(read, lambda: net(image), [*names, "input"], [*net.parameters(), image.requires_grad_()])


def test_kernels_take_arguments_in_the_order_of_the_function() -> None:
    read = sd.from_torch(lambda unused, x, a: a @ (a.T @ x), Y, X, A)
    assert sd.compile(read).signature == "(unused: (4,), x: (4,), a: (4, 3)) -> (4,)"
    assert sd.compile(sd.gradient(sd.sum(read), "a")).signature == "(unused: (4,), x: (4,), a: (4, 3)) -> (4, 3)"


def test_whole_numbers_are_taken_as_they_are() -> None:
    read = sd.from_torch(torch.nn.Embedding(5, 2).double(), torch.tensor([3, 1]))
    assert sd.compile(read).signature == "(weight: (5, 2)) -> (2, 2)"


def _written(x: Any, y: Any) -> Any:
    z = x.clone()
    z[y.argsort()[:2]] += y[:2]
    z[1:3] = y[2:] ** 2
    return z * x


DECIDED: list[tuple[Any, tuple[Any, ...]]] = [
    (lambda a: a[a.max(0).indices] * a[a.argmin(0), a.argmax(0) % 3][:, None], (A,)),
    (lambda a: a[a.sort(0)[1][0]] + a[-1 - a.argmin(0)], (A,)),
    (lambda a: a[:, a.topk(2, 1)[1][0]] * a[:, a[1].argmax()][:, None], (A,)),
    (lambda a: a.take_along_dim(a.kthvalue(2, 0)[1][None], 0) * a.median(0).indices, (A,)),
    (lambda a: a.sort(1, descending=True)[1] * a + a.argsort(dim=0, descending=True)[0] + torch.argsort(a, 0), (A,)),
    (lambda a: a.topk(2, 1, largest=False)[1] * a.gather(1, a.topk(2, 1)[1]) + a.argmax() * a[:, :2], (A,)),
    (lambda a: F.one_hot(a.argmax(1), 3).double().T @ a, (A,)),
    (lambda a, x: a[(3 * x).long()] + F.embedding((2 * x).long(), a), (A, X)),
    (lambda x, y: torch.zeros(3).double().index_put(((3 * y).long(),), x, accumulate=True), (X, Y)),
    (lambda x, y: torch.zeros(3).double().index_add(0, (3 * y).long(), x**2), (X, Y)),
    (lambda a: torch.zeros(4, 5).double().scatter(1, a.argsort(1), a), (A,)),
    (lambda a: torch.zeros(4, 5).double().scatter_add(1, (4 * a).long(), a), (A,)),
    (_written, (X, Y)),
    (lambda a: a.quantile(0.3, dim=0) + a.quantile(0.5), (A,)),
    (lambda x: torch.searchsorted(torch.tensor([0.3, 0.5]).double(), x) * x
     + torch.bucketize(x, torch.tensor([0.3, 0.5]).double(), right=True) * x, (X,)),
    (lambda b: F.grid_sample(b[:1, None], torch.tensor([[[[0.1, 0.2], [-0.3, 0.4]]]]).double(), align_corners=True),
     (B,)),
    (lambda b, g: F.grid_sample(b[:1, None], torch.tanh(g), align_corners=False), (B, A[:, :2][None, None])),
]  # fmt: skip


@pytest.mark.parametrize(("f", "args"), DECIDED)
@pytest.mark.rows(1000)
def test_positions_that_numbers_decide_choose_among_the_elements(f: Any, args: Any) -> None:
    names = list(inspect.signature(f).parameters)
    tensors = [one.clone().requires_grad_() for one in args]
    compare(sd.from_torch(f, *args), lambda: f(*tensors), names, tensors)


@pytest.mark.parametrize("f", [
    lambda a: a.gather(0, a.cummax(0)[1]), lambda a: F.max_pool2d(a[None], 2, return_indices=True)[1]
])  # fmt: skip
def test_positions_of_what_is_largest_so_far_or_in_a_window_are_refused(f: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"positions that depend on the arguments|no counterpart"):
        sd.from_torch(lambda a: f(a) * 2, A)


def test_positions_choose_among_so_many_elements() -> None:
    with pytest.raises(UnsupportedError, match="in more than 1,000,000 elements"):
        sd.from_torch(lambda x: x[x.argsort()], torch.ones(2000).double())


@pytest.mark.parametrize("f", [
    lambda x: x.long() * x + (3 * x).int(), lambda x: (x * 3).to(torch.int64) % 2 * x, lambda x: x.bool() * x,
    lambda x: (x > 0).double() * x, lambda x: x.type_as(torch.tensor(1)) * x, lambda x: x.float().double() * 2,
])  # fmt: skip
def test_a_cast_to_whole_numbers_leaves_out_what_is_behind_the_point(f: Any) -> None:
    x = torch.tensor([1.75, -2.5, 0.0, 0.25], dtype=torch.float64, requires_grad=True)
    compare(sd.from_torch(f, x), lambda: f(x), ["x"], [x])


@pytest.mark.filterwarnings("ignore:.*requires gradient")
def test_what_torch_refuses_is_told_in_a_line() -> None:
    with pytest.raises(UnsupportedError, match=r"torch\.export does not write the function down: Could not guard"):
        sd.from_torch(lambda x: x if x[0] > 0 else -x, X)
    with pytest.raises(UnsupportedError, match=r"PyTorch does not take .* apart"):
        sd.from_torch(torch.func.grad(lambda z: (z**3).sum()), X)
    with pytest.raises(ZeroDivisionError):
        sd.from_torch(lambda x: x / (1 // 0), X)


def test_what_has_no_counterpart_is_refused_by_name_and_line() -> None:
    with pytest.raises(UnsupportedError, match=r"PyTorch's linalg_qr at .*test_read_torch\.py:\d+: it has"):
        sd.from_torch(lambda a: torch.linalg.qr(a)[1] * 2, A)
    with pytest.raises(UnsupportedError, match=r"PyTorch's _fft_r2c at .*: it has no counterpart"):
        sd.from_torch(lambda x: torch.fft.rfft(x).abs(), X)
    with pytest.raises(UnsupportedError, match="random numbers"):
        sd.from_torch(torch.nn.Dropout(0.5), X)


@pytest.mark.parametrize(
    ("f", "args", "text"),
    [
        (torch.sin, (X,), "sin(x)"),
        (F.gelu, (X,), "x * ndtr(x)"),
        (functools.partial(torch.sum, dim=0), (A,), "sum(x, axis=0)"),
        (torch.Tensor.tanh, (X,), "tanh(x)"),
        (torch.matmul, (X, A), "x1.T @ x0"),
    ],
)
def test_functions_that_are_written_in_c_are_read(f: Any, args: Any, text: str) -> None:
    assert str(sd.from_torch(f, *args)) == text


@pytest.mark.parametrize(
    ("f", "examples", "message"),
    [
        (torch.nn.Linear, (X,), "the class Linear; expected a module or function"),
        (lambda x, y: x * y, (X,), "1 examples do not fit the function: missing a required argument: 'y'"),
        (lambda x: x, (X, X), "2 examples do not fit the function: too many"),
        (lambda x: x, (np.ones(3),), r"an example of type ndarray; expected tensors"),
        (lambda x: x[0], ([X, "x"],), r"an example of type str; expected tensors"),
        (lambda x: x, (X.to(torch.complex64),), "an example of torch.complex64; expected real numbers"),
    ],
)
def test_examples_that_do_not_fit_are_refused(f: Any, examples: Any, message: str) -> None:
    with pytest.raises(sd.SymdiffError, match=message):
        sd.from_torch(f, *examples)
    with pytest.raises(UnsupportedError, match="_fft_r2c at a place that PyTorch does not tell"):
        sd.from_torch(torch.fft.fft, X)


def test_losses_by_classes_have_the_slope_of_a_book() -> None:
    loss = sd.from_torch(F.cross_entropy, torch.rand(2, 3), torch.tensor([0, 2]))
    assert "where" not in str(loss)
    assert str(sd.gradient(loss, "input")) == "[[-0.5, 0, 0], [0, 0, -0.5]] + 0.5 * softmax(input)"
