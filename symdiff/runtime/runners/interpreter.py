"""The "interpreter" backend of one kernel: runs the scheduled program without a compiler.

Its results have the bits that native code has on the same machine, so a kernel may switch from
one to the other between calls.
"""

from __future__ import annotations

from typing import Unpack

from ..._kernels.interpreter import OPCODES, SCALARS, VECTORS, Machine
from ..._kernels.unit import NativeCall
from ...codegen.scalars import LIBRARY
from ...errors import InternalError
from ...graph.primitives import complete
from ...lowering.program import SIGNATURES, Program
from ..toolchain.host import function_address
from .native import NativeRunner, target_of
from .variants import ProgramRunner, UnitOptions, Variant

__all__ = ["InterpreterRunner"]

#: Operations that are instructions; the others are functions, by address.
_INSTRUCTIONS = {name.rpartition("_")[0] for name in OPCODES} & SIGNATURES.keys()
complete({*_INSTRUCTIONS, *SCALARS, *LIBRARY}, __name__, SIGNATURES)

#: Bytes in which a unit's workspace is counted.
_VECTOR = 64


class InterpreterRunner(ProgramRunner):
    """Runs a program on the interpreter.

    Parameters
    ----------
    program : Program
    brief : bool, optional
        Write the code quickly, since it will soon be replaced.
    **options
        See :class:`~.variants.UnitOptions`; nothing is built, so that the limit is not used.
    """

    def __init__(self, program: Program, *, brief: bool = False, **options: Unpack[UnitOptions]) -> None:
        super().__init__(program, **options)
        self._brief = brief
        self.call(*self.usual)

    def source(self) -> str:
        """Return the C text of the usual unit, which says what the interpreter does."""
        native = NativeRunner(
            self.program, **self.usual.layout(), constant=self.constant, accuracy=self.accuracy, now=False
        )
        return native.source()

    def make(self, variant: Variant) -> NativeCall:
        """Write the code of a unit, which is of float64 where the program requires that."""
        single = variant.single and not self.program.wide
        code = None if self.kept is None else self.kept.code(variant)
        if code is None:
            from ...codegen.bytecode.assemble import assemble  # not needed by code that is known

            code = assemble(
                self.program,
                target_of(self.accuracy),
                reduce=variant.reduce,
                columns=variant.columns,
                single=single,
                constant=self.constant,
                brief=self._brief,
            )
            if self.kept is not None:
                self.kept.keep_code(variant, code)
        machine = Machine(
            code.lanes,
            single,
            code.code,
            code.numbers,
            code.vectors,
            code.rows,
            [_address(name) for name in code.functions],
            code.checks,
        )
        workspace = code.workspace // _VECTOR
        samples = VECTORS * code.lanes
        widens = variant.single and not single
        return self.around(
            variant, machine.address, [machine.argument], code.lanes, workspace, machine, samples, widens=widens
        )


def _address(name: str) -> int:
    """Return where a function of a program is, and refuse one that the interpreter lacks."""
    found = SCALARS.get(name) or function_address(name)
    if not found:
        raise InternalError(f"the interpreter lacks {name}: it has no row in _kernels/machine/interpreter.h")
    return found
