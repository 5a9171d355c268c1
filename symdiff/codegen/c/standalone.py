"""A kernel as one C function that anything can call: no context, no vectors, any number of samples.

The generated function of :mod:`symdiff.codegen.c.emit` takes whole vectors, a workspace, and the
addresses of the vector library's functions. Around it this module prints one that takes what a
C, Fortran or Rust programmer has at hand: a count and pointers to arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...lowering.program import Program
from .target import Target

if TYPE_CHECKING:
    from .emit import CSource

__all__ = ["FILTER", "FUNCTION", "FUNCTIONS", "INTEGRAND", "SIGNATURE", "emit_standalone"]

#: Names of the function in the library, and of the array its loader fills in.
FUNCTION, FUNCTIONS = "symdiff_kernel", "symdiff_functions"

#: The function in C. Input ``i`` holds ``count`` samples one after the other, each in C order
#: (one sample, if the kernel was compiled with ``batch=`` and without this input), and output
#: ``i`` has room for as many. They must not overlap. It returns -1, or -2 when there is no
#: memory, or the first sample in which a matrix is singular; outputs are then unspecified. It
#: may be called by several threads at once.
SIGNATURE = f"long {FUNCTION}(long count, const double *const *inputs, double *const *outputs)"


#: Functions of the same library for SciPy: an integrand of numbers side by side, and a filter of neighbours.
INTEGRAND, FILTER = "symdiff_integrand", "symdiff_filter"


def emit_standalone(program: Program, target: Target, constant: Sequence[bool] = ()) -> CSource:
    """Print ``program`` with the function :data:`SIGNATURE`.

    Parameters
    ----------
    program : Program
    target : Target
        The machine that will run it.
    constant : sequence of bool
        Inputs that have one value for all samples.
    """
    from .emit import emit_c  # few kernels are called by other languages

    source = emit_c(program, target, constant=constant)
    alone = source.constant or (False,) * len(program.inputs)
    inputs = [0 if one else port.size for port, one in zip(program.inputs, alone, strict=True)]
    outputs = [port.size for port in program.outputs]
    around = _TEXT % {
        "functions": len(source.symbols) + 1,
        "signature": SIGNATURE,
        "in": len(inputs),
        "out": len(outputs),
        "in_sizes": ",".join(map(str, [*inputs, 0])),
        "out_sizes": ",".join(map(str, [*outputs, 0])),
        "workspace": source.workspace,
        "result": max(outputs, default=1),
    }
    parts = (*source.parts[:-1], source.parts[-1] + around) if source.parts else ()
    return source._replace(text=source.text + around, parts=parts)


# With a stride of 0, all lanes read the same sample and write to the same place, so the samples that are left over
# after whole vectors need no buffers.
_TEXT = """\
void*malloc(unsigned long);
void free(void*);
extern void*symdiff_functions[%(functions)d];
void*symdiff_functions[%(functions)d];
%(signature)s;
%(signature)s{
static const long ni[]={%(in_sizes)s},no[]={%(out_sizes)s};
const char*x[%(in)d+1];char*y[%(out)d+1];long si[%(in)d+1],so[%(out)d+1],which,failed=-1,full=count-count%%W;
char*memory=%(workspace)d?malloc(%(workspace)dul*sizeof(V)+sizeof(V)):0;
V*w=(V*)(memory+(sizeof(V)-(unsigned long)memory%%sizeof(V)));
if(%(workspace)d&&!memory)return -2;
for(int p=0;p<%(in)d;p++){x[p]=(const char*)inputs[p];si[p]=ni[p]*(long)sizeof(T);}
for(int p=0;p<%(out)d;p++){y[p]=(char*)outputs[p];so[p]=no[p]*(long)sizeof(T);}
if(full)failed=kernel(0,full,x,si,y,so,w,symdiff_functions,&which);
for(long i=full;i<count&&failed<0;i++){
for(int p=0;p<%(in)d;p++){x[p]=(const char*)(inputs[p]+i*ni[p]);si[p]=0;}
for(int p=0;p<%(out)d;p++){y[p]=(char*)(outputs[p]+i*no[p]);so[p]=0;}
if(kernel(0,W,x,si,y,so,w,symdiff_functions,&which)>=0)failed=i;
}
free(memory);
return failed;
}
double symdiff_integrand(int count,double*numbers);
double symdiff_integrand(int count,double*numbers){
const double*x[%(in)d+1];double out[%(result)d],*y[%(out)d+1];
for(int p=0;p<%(in)d;p++)x[p]=numbers+p;
for(int p=0;p<%(out)d;p++)y[p]=out;
return count==%(in)d&&symdiff_kernel(1,x,y)==-1?out[0]:__builtin_nan("");
}
int symdiff_filter(double*numbers,long count,double*result,void*data);
int symdiff_filter(double*numbers,long count,double*result,void*data){
const double*x[%(in)d+1];double*y[%(out)d+1];
(void)data;(void)count;
for(int p=0;p<%(in)d;p++)x[p]=numbers;
for(int p=0;p<%(out)d;p++)y[p]=result;
return symdiff_kernel(1,x,y)==-1;
}
"""
