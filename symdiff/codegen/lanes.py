"""The C text every generated kernel starts with: lanes, and how they are filled from rows.

A value is one vector register holding the same scalar of ``W`` consecutive samples. A sample's
scalars are neighbours in memory, so filling lanes is transposing small blocks; this is done by
whole-register shuffles, which on rows costs little more than a copy. Nothing is included:
system headers of vector intrinsics take longer to read than most kernels to build.
"""

from __future__ import annotations

__all__ = ["block_widths", "moving_functions", "preamble"]

_TYPES = """\
#define W {lanes}
typedef double V __attribute__((vector_size({bytes})));
typedef double U __attribute__((vector_size({bytes}),aligned(8),may_alias));
typedef long long M __attribute__((vector_size({bytes})));
typedef double H __attribute__((vector_size(32),aligned(8),may_alias));
typedef double Q __attribute__((vector_size(16),aligned(8),may_alias));
typedef double D __attribute__((may_alias));
#define ALL(x) {copies}
#define B(x) ((V){{ALL(x)}})
#define SIGN ((M)B(-0.0))
#define INLINE static inline __attribute__((always_inline,unused))
#define SLOW static __attribute__((noinline,unused))
#if defined __clang__ || __GNUC__ >= 12
#define SHUFFLE(a,b,...) __builtin_shufflevector(a,b,__VA_ARGS__)
#else
#define SHUFFLE(a,b,...) __builtin_shuffle(a,b,(M){{__VA_ARGS__}})
#endif
"""

_JOIN = """\
#if defined __clang__ || __GNUC__ >= 12
#define JOIN2(a,b) __builtin_shufflevector(a,b,0,1,2,3)
#define JOIN4(a,b) __builtin_shufflevector(a,b,0,1,2,3,4,5,6,7)
#define PAIR(v,k) __builtin_shufflevector(v,v,2*(k),2*(k)+1)
#define FOUR(v,k) __builtin_shufflevector(v,v,4*(k),4*(k)+1,4*(k)+2,4*(k)+3)
#else
#define JOIN2(a,b) ((H){(a)[0],(a)[1],(b)[0],(b)[1]})
#define JOIN4(a,b) ((V){(a)[0],(a)[1],(a)[2],(a)[3],(b)[0],(b)[1],(b)[2],(b)[3]})
#define PAIR(v,k) ((Q){(v)[2*(k)],(v)[2*(k)+1]})
#define FOUR(v,k) ((H){(v)[4*(k)],(v)[4*(k)+1],(v)[4*(k)+2],(v)[4*(k)+3]})
#endif
#define RQ(p,s,k) (*(const Q*)((p)+(k)*(s)))
#define RH(p,s,k) (*(const H*)((p)+(k)*(s)))
#define WQ(p,s,k) (*(Q*)((p)+(k)*(s)))
#define WH(p,s,k) (*(H*)((p)+(k)*(s)))
#define WV(p,s,k) (*(U*)((p)+(k)*(s)))
"""

# Eight lanes. LOW and HIGH pair neighbouring rows; E and O then collect 128-bit parts.
_EIGHT = """\
#define LOW(a,b) SHUFFLE(a,b,0,8,2,10,4,12,6,14)
#define HIGH(a,b) SHUFFLE(a,b,1,9,3,11,5,13,7,15)
#define EVEN(a,b) SHUFFLE(a,b,0,1,4,5,8,9,12,13)
#define ODD(a,b) SHUFFLE(a,b,2,3,6,7,10,11,14,15)
#define EVEN4(a,b) SHUFFLE(a,b,0,1,8,9,4,5,12,13)
#define ODD4(a,b) SHUFFLE(a,b,2,3,10,11,6,7,14,15)
#define LOAD2(p,s,c0,c1) {\\
  V a=JOIN4(JOIN2(RQ(p,s,0),RQ(p,s,2)),JOIN2(RQ(p,s,4),RQ(p,s,6)));\\
  V b=JOIN4(JOIN2(RQ(p,s,1),RQ(p,s,3)),JOIN2(RQ(p,s,5),RQ(p,s,7)));\\
  c0=LOW(a,b);c1=HIGH(a,b);}
#define LOAD4(p,s,c0,c1,c2,c3) {\\
  V a=JOIN4(RH(p,s,0),RH(p,s,2)),b=JOIN4(RH(p,s,1),RH(p,s,3));\\
  V c=JOIN4(RH(p,s,4),RH(p,s,6)),d=JOIN4(RH(p,s,5),RH(p,s,7));\\
  V e=LOW(a,b),f=HIGH(a,b),g=LOW(c,d),h=HIGH(c,d);\\
  c0=EVEN(e,g);c1=EVEN(f,h);c2=ODD(e,g);c3=ODD(f,h);}
#define STORE2(p,s,c0,c1) {V a=LOW(c0,c1),b=HIGH(c0,c1);\\
  WQ(p,s,0)=PAIR(a,0);WQ(p,s,2)=PAIR(a,1);WQ(p,s,4)=PAIR(a,2);WQ(p,s,6)=PAIR(a,3);\\
  WQ(p,s,1)=PAIR(b,0);WQ(p,s,3)=PAIR(b,1);WQ(p,s,5)=PAIR(b,2);WQ(p,s,7)=PAIR(b,3);}
#define STORE4(p,s,c0,c1,c2,c3) {\\
  V a=LOW(c0,c1),b=HIGH(c0,c1),c=LOW(c2,c3),d=HIGH(c2,c3);\\
  V e=EVEN4(a,c),f=EVEN4(b,d),g=ODD4(a,c),h=ODD4(b,d);\\
  WH(p,s,0)=FOUR(e,0);WH(p,s,4)=FOUR(e,1);WH(p,s,1)=FOUR(f,0);WH(p,s,5)=FOUR(f,1);\\
  WH(p,s,2)=FOUR(g,0);WH(p,s,6)=FOUR(g,1);WH(p,s,3)=FOUR(h,0);WH(p,s,7)=FOUR(h,1);}
#define STORE8(p,s,c0,c1,c2,c3,c4,c5,c6,c7) {\\
  V a=LOW(c0,c1),b=HIGH(c0,c1),c=LOW(c2,c3),d=HIGH(c2,c3);\\
  V e=LOW(c4,c5),f=HIGH(c4,c5),g=LOW(c6,c7),h=HIGH(c6,c7);\\
  V i0=EVEN(a,c),i1=EVEN(b,d),i2=ODD(a,c),i3=ODD(b,d);\\
  V i4=EVEN(e,g),i5=EVEN(f,h),i6=ODD(e,g),i7=ODD(f,h);\\
  WV(p,s,0)=EVEN(i0,i4);WV(p,s,1)=EVEN(i1,i5);WV(p,s,2)=EVEN(i2,i6);WV(p,s,3)=EVEN(i3,i7);\\
  WV(p,s,4)=ODD(i0,i4);WV(p,s,5)=ODD(i1,i5);WV(p,s,6)=ODD(i2,i6);WV(p,s,7)=ODD(i3,i7);}
"""

_FOUR = """\
#define LOW(a,b) SHUFFLE(a,b,0,4,2,6)
#define HIGH(a,b) SHUFFLE(a,b,1,5,3,7)
#define LEFT(a,b) SHUFFLE(a,b,0,1,4,5)
#define RIGHT(a,b) SHUFFLE(a,b,2,3,6,7)
#define LOAD2(p,s,c0,c1) {V a=JOIN2(RQ(p,s,0),RQ(p,s,2)),b=JOIN2(RQ(p,s,1),RQ(p,s,3));c0=LOW(a,b);c1=HIGH(a,b);}
#define LOAD4(p,s,c0,c1,c2,c3) {V a=RH(p,s,0),b=RH(p,s,1),c=RH(p,s,2),d=RH(p,s,3);\\
  V e=LOW(a,b),f=HIGH(a,b),g=LOW(c,d),h=HIGH(c,d);\\
  c0=LEFT(e,g);c1=LEFT(f,h);c2=RIGHT(e,g);c3=RIGHT(f,h);}
#define STORE2(p,s,c0,c1) {V a=LOW(c0,c1),b=HIGH(c0,c1);\\
  WQ(p,s,0)=PAIR(a,0);WQ(p,s,2)=PAIR(a,1);WQ(p,s,1)=PAIR(b,0);WQ(p,s,3)=PAIR(b,1);}
#define STORE4(p,s,c0,c1,c2,c3) {V a=LOW(c0,c1),b=HIGH(c0,c1),c=LOW(c2,c3),d=HIGH(c2,c3);\\
  WV(p,s,0)=LEFT(a,c);WV(p,s,1)=LEFT(b,d);WV(p,s,2)=RIGHT(a,c);WV(p,s,3)=RIGHT(b,d);}
"""

_TWO = """\
#define LOW(a,b) SHUFFLE(a,b,0,2)
#define HIGH(a,b) SHUFFLE(a,b,1,3)
#define LOAD2(p,s,c0,c1) {V a=RQ(p,s,0),b=RQ(p,s,1);c0=LOW(a,b);c1=HIGH(a,b);}
#define STORE2(p,s,c0,c1) {WV(p,s,0)=LOW(c0,c1);WV(p,s,1)=HIGH(c0,c1);}
"""

# A scalar input is a column when its samples are neighbours, and one number when it has no batch axis.
_SINGLE = """\
#define AT(p,s,k) (*(const D*)((p)+(k)*(s)))
#define GATHER(p,s,c0) {{c0=(V){{{gather}}};}}
#define SCATTER(p,s,c0) {{{scatter}}}
#define LOAD1(p,s,c0) if((s)==8)c0=*(const U*)(p);else if((s)==0)c0=B(*(const D*)(p));else GATHER(p,s,c0)
#define STORE1(p,s,c0) if((s)==8)*(U*)(p)=c0;else SCATTER(p,s,c0)
"""


def _fills(lanes: int) -> str:
    """Print the stores of blocks of constants: the same row for every sample."""
    text = ""
    for width in _BLOCKS[lanes][2]:
        kind, names = {8: "U", 4: "H", 2: "Q"}[width], ",".join(f"c{k}" for k in range(width))
        rows = "".join(f"*({kind}*)((p)+{k}*(s))=r;" for k in range(lanes))
        text += f"#define FILL{width}(p,s,{names}) {{{kind} r={{{names}}};{rows}}}\n"
    return text


def moving_functions(lanes: int) -> str:
    """Print functions that move blocks, for programs with so many that code in place would take long to build."""
    text = ""
    for width in _BLOCKS[lanes][1]:
        targets, values = (",".join(f"{kind}c{k}" for k in range(width)) for kind in ("V*", "*"))
        text += f"SLOW void load{width}(const char*p,long s,{targets}){{LOAD{width}(p,s,{values})}}\n"
    for width in _BLOCKS[lanes][2]:
        values, names = (",".join(f"{kind}c{k}" for k in range(width)) for kind in ("V ", ""))
        text += f"SLOW void store{width}(char*p,long s,{values}){{STORE{width}(p,s,{names})}}\n"
    return text


_BLOCKS = {8: (_EIGHT, (4, 2), (8, 4, 2)), 4: (_FOUR, (4, 2), (4, 2)), 2: (_TWO, (2,), (2,))}


def preamble(lanes: int) -> str:
    """Types and block transposes for vectors of ``lanes`` doubles (2, 4 or 8)."""
    spread = ",".join(["x"] * lanes)
    gather = ",".join(f"AT(p,s,{k})" for k in range(lanes))
    scatter = "".join(f"*(D*)((p)+{k}*(s))=(c0)[{k}];" for k in range(lanes))
    return (
        _TYPES.format(lanes=lanes, bytes=8 * lanes, copies=spread)
        + _JOIN
        + _BLOCKS[lanes][0]
        + _fills(lanes)
        + _SINGLE.format(gather=gather, scatter=scatter)
    )


def block_widths(lanes: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Widths of the blocks that LOADn and STOREn move, widest first."""
    return _BLOCKS[lanes][1:]
