"""The C text every generated kernel starts with: lanes, and how they are filled from rows.

A value is one vector register holding the same scalar of ``W`` consecutive samples. A sample's
scalars are neighbours in memory, so filling lanes is transposing small blocks; this is done by
whole-register shuffles, which on rows costs little more than a copy. Nothing is included:
system headers of vector intrinsics take longer to read than most kernels to build.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["ITEM", "block_widths", "moving_functions", "preamble"]

#: Bytes of one number, by whether numbers are float32.
ITEM = {False: 8, True: 4}

_TYPES = """\
#define W {lanes}
#define BITS {bits}
typedef {number} T;
typedef T V __attribute__((vector_size({bytes})));
typedef T U __attribute__((vector_size({bytes}),aligned({item}),may_alias));
typedef {integer} M __attribute__((vector_size({bytes})));
typedef T H __attribute__((vector_size(32),aligned({item}),may_alias));
typedef T Q __attribute__((vector_size(16),aligned({item}),may_alias));
typedef T D __attribute__((may_alias));
#define ALL(x) {copies}
#define B(x) ((V){{ALL(x)}})
#define SIGN ((M)B(-0.0))
#define INLINE static inline __attribute__((always_inline,unused))
#define SLOW static __attribute__((noinline,unused))
#define CONST static const __attribute__((unused))
#ifdef PARTS
#define PIECE __attribute__((noinline,visibility("hidden")))
#else
#define PIECE static __attribute__((noinline))
#endif
#if defined __clang__ || __GNUC__ >= 12
#define SHUFFLE(a,b,...) __builtin_shufflevector(a,b,__VA_ARGS__)
#else
#define SHUFFLE(a,b,...) __builtin_shuffle(a,b,(M){{__VA_ARGS__}})
#endif
"""

_DOUBLES = """\
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

# Sixteen, eight or four lanes of float32. The vectors a0 to a3 hold four neighbours of four rows in
# every 128 bits, and TURN transposes these: what it gives from rows are columns, and the other way round.
_SINGLES = """\
typedef double G __attribute__((vector_size(8*W/2),aligned(4),may_alias));
typedef double F __attribute__((aligned(4),may_alias));
#define RQ(p,s,k) (*(const Q*)((p)+(k)*(s)))
#define WQ(p,s,k) (*(Q*)((p)+(k)*(s)))
#if defined __clang__ || __GNUC__ >= 12
#define JOIN2(a,b) __builtin_shufflevector(a,b,0,1,2,3,4,5,6,7)
#define JOIN4(a,b) __builtin_shufflevector(a,b,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15)
#define PART(v,k) __builtin_shufflevector(v,v,4*(k),4*(k)+1,4*(k)+2,4*(k)+3)
#else
#define EACH4(a,k) (a)[k],(a)[k+1],(a)[k+2],(a)[k+3]
#define JOIN2(a,b) ((H){{EACH4(a,0),EACH4(b,0)}})
#define JOIN4(a,b) ((V){{EACH4(a,0),EACH4(a,4),EACH4(b,0),EACH4(b,4)}})
#define PART(v,k) ((Q){{EACH4(v,4*(k))}})
#endif
#define TURN(a,b,c,d,c0,c1,c2,c3) {{\
  V e=SHUFFLE(a,b,{low}),f=SHUFFLE(c,d,{low}),g=SHUFFLE(a,b,{high}),h=SHUFFLE(c,d,{high});\
  c0=SHUFFLE(e,f,{left});c1=SHUFFLE(e,f,{right});c2=SHUFFLE(g,h,{left});c3=SHUFFLE(g,h,{right});}}
#define LOAD4(p,s,c0,c1,c2,c3) {{V a0,a1,a2,a3;{joins}TURN(a0,a1,a2,a3,c0,c1,c2,c3)}}
#define STORE4(p,s,c0,c1,c2,c3) {{V b0,b1,b2,b3;TURN(c0,c1,c2,c3,b0,b1,b2,b3){parts}}}
#define LOAD2(p,s,c0,c1) {{G a={{{first}}},b={{{second}}};\
  c0=SHUFFLE((V)a,(V)b,{even});c1=SHUFFLE((V)a,(V)b,{odd});}}
#define STORE2(p,s,c0,c1) {{G a=(G)SHUFFLE(c0,c1,{front}),b=(G)SHUFFLE(c0,c1,{back});{pairs}}}
"""


def _singles(lanes: int) -> str:
    """Print the block transposes of float32 for 16, 8 or 4 lanes."""

    def listed(numbers: Iterable[int]) -> str:
        return ",".join(map(str, numbers))

    def in_parts(*four: int) -> str:
        # of each 128 bits of two vectors
        return listed(part + k % 4 + (lanes if k >= 4 else 0) for part in range(0, lanes, 4) for k in four)

    half, parts = lanes // 2, range(lanes // 4)

    def join(row: int, count: int) -> str:
        # the vector of rows row, row + 4, ...
        if count == 1:
            return f"RQ(p,s,{row})"
        return f"JOIN{count}({join(row, count // 2)},{join(row + 2 * count, count // 2)})"

    joins = "".join(f"a{k}=(V){join(k, len(parts))};" for k in range(4))
    writes = "".join(f"WQ(p,s,{4 * part + k})=PART(b{k},{part});" for k in range(4) for part in parts)
    return _SINGLES.format(
        low=in_parts(0, 4, 1, 5),
        high=in_parts(2, 6, 3, 7),
        left=in_parts(0, 1, 4, 5),
        right=in_parts(2, 3, 6, 7),
        joins=joins,
        parts=writes,
        first=",".join(f"*(const F*)((p)+{k}*(s))" for k in range(half)),
        second=",".join(f"*(const F*)((p)+{k}*(s))" for k in range(half, lanes)),
        even=listed(range(0, 2 * lanes, 2)),
        odd=listed(range(1, 2 * lanes, 2)),
        front=listed(k // 2 + k % 2 * lanes for k in range(lanes)),
        back=listed(k // 2 + k % 2 * lanes for k in range(lanes, 2 * lanes)),
        pairs="".join(f"*(F*)((p)+{k}*(s))={'a' if k < half else 'b'}[{k % half}];" for k in range(lanes)),
    )


# A port of one element is a column when its samples are neighbours, and one number when it has no batch axis.
# Columns, and rows that are far apart, are more streams than the processor follows by itself, so it is told what comes
# next, eight lines of a column ahead. It comes to the second cache: the first one waits for a few lines at a time only,
# and thirty streams drive each other out of it.
_SINGLE = """\
#define AT(p,s,k) (*(const D*)((p)+(k)*(s)))
#define GATHER(p,s,c0) {{c0=(V){{{gather}}};}}
#define SCATTER(p,s,c0) {{{scatter}}}
#define LOAD1(p,s,c0) if((s)==sizeof(T))c0=*(const U*)(p);else if((s)==0)c0=B(*(const D*)(p));else GATHER(p,s,c0)
#define STORE1(p,s,c0) if((s)==sizeof(T))*(U*)(p)=c0;else SCATTER(p,s,c0)
#define COME(p) __builtin_prefetch(p,0,2);
#define ASK(p,s) {{{asks}}}
#define LOADC(p,s,k,c0) c0=*(const U*)((p)+(k)*(s));COME((p)+(k)*(s)+512)
#define STOREC(p,s,k,c0) *(U*)((p)+(k)*(s))=c0;COME((p)+(k)*(s)+512)
#define SHARED(p,k,c0) c0=B(*(const D*)((p)+(k)*sizeof(T)));
"""


def _fills(lanes: int, single: bool) -> str:
    """Print the stores of blocks of constants: the same row for every sample."""
    text = ""
    for width in block_widths(lanes, single)[1]:
        names = ",".join(f"c{k}" for k in range(width))
        rows = "".join(f"*(R{width}*)((p)+{k}*(s))=r;" for k in range(lanes))
        size = f"vector_size({width * ITEM[single]}),aligned({ITEM[single]})"
        text += f"typedef T R{width} __attribute__(({size},may_alias));\n"
        text += f"#define FILL{width}(p,s,{names}) {{R{width} r={{{names}}};{rows}}}\n"
    return text


def _short_rows(lanes: int) -> str:
    """Print the moves of whole rows of two or three: dense ones are whole vectors, which are permuted."""

    def shuffle(a: str, b: str, places: Iterable[int]) -> str:
        return f"SHUFFLE({a},{b},{','.join(map(str, places))})"

    def merge(letter: str, places: Sequence[tuple[int, int]]) -> str:
        """Print the vector whose lanes stand at (vector, lane) of two or three others."""
        two = shuffle(f"{letter}0", f"{letter}1", (i + v * lanes if v < 2 else 0 for v, i in places))
        if all(v < 2 for v, _ in places):
            return two
        return shuffle(two, f"{letter}2", (m if v < 2 else lanes + i for m, (v, i) in enumerate(places)))

    text = ""
    for width in (2, 3):
        names, vectors = (",".join(f"{letter}{k}" for k in range(width)) for letter in "ca")
        loads = "".join(f"a{j}=*(const U*)((p)+{j}*sizeof(V));" for j in range(width))
        stores = "".join(f"*(U*)((p)+{j}*sizeof(V))=a{j};" for j in range(width))
        for k in range(width):
            loads += f"c{k}={merge('a', [divmod(i * width + k, lanes) for i in range(lanes)])};"
        for j in reversed(range(width)):
            flat = (divmod(j * lanes + m, width) for m in range(lanes))
            stores = f"a{j}={merge('c', [(element, sample) for sample, element in flat])};" + stores
        rest = "LOAD2((p)+sizeof(T),s,c1,c2)" if width == 3 else ""
        text += f"#define LOADROW{width}(p,s,{names}) if((s)=={width}*sizeof(T)){{V {vectors};{loads}}}"
        text += f"else{{LOAD2(p,s,c0,c1){rest}}}\n"
        rest = "SCATTER((p)+2*sizeof(T),s,(c2))" if width == 3 else ""
        text += f"#define STOREROW{width}(p,s,{names}) if((s)=={width}*sizeof(T)){{V {vectors};{stores}}}"
        text += f"else{{STORE2(p,s,c0,c1){rest}}}\n"
    return text


def _alone(numbers: Sequence[str], single: bool) -> str:
    """Print the store of a part of one row by 16 bytes at a time.

    Rows begin at a multiple of that, hardly ever of a cache's line, and wider stores that cross lines are slow.
    """
    step = min(len(numbers), 16 // ITEM[single])
    kind = "Q" if step * ITEM[single] == 16 else f"R{step}"
    return "".join(
        f"*({kind}*)(p+{k * ITEM[single]})=({kind}){{{','.join(numbers[k : k + step])}}};"
        for k in range(0, len(numbers), step)
    )


def moving_functions(lanes: int, single: bool = False) -> str:
    """Print functions that move blocks, for programs with so many that code in place would take long to build."""
    # What only asks has no effect that a compiler knows of, and is not called unless something in it is volatile.
    # Without a distance between samples there is no later one.
    text = 'SLOW void ask_rows(const char*p,long s){ASK(p,s)__asm__ volatile("");}\n'
    text += "#define ask(p,s) if(s)ask_rows(p,s)\n"
    loads, stores = block_widths(lanes, single)
    for width in loads:
        targets, values = (",".join(f"{kind}c{k}" for k in range(width)) for kind in ("V*", "*"))
        text += f"SLOW void load{width}(const char*p,long s,{targets}){{LOAD{width}(p,s,{values})}}\n"
    for width in stores:
        values, names = (",".join(f"{kind}c{k}" for k in range(width)) for kind in ("V ", ""))
        # Without a distance between samples there is one only, and it fills all lanes.
        text += f"SLOW void store{width}(char*p,long s,{values}){{if(s==0){{"
        text += _alone([f"c{k}[0]" for k in range(width)], single)
        text += f"return;}}STORE{width}(p,s,{names})}}\n"
        rows = "".join(f"*(R{width}*)(p+{k}*s)=r;" for k in range(lanes))
        text += f"SLOW void fill{width}(char*p,long s,R{width} r){{if(s==0){{"
        text += _alone([f"r[{k}]" for k in range(width)], single)
        text += f"return;}}{rows}}}\n"
    return text


_BLOCKS = {8: (_EIGHT, (4, 2), (8, 4, 2)), 4: (_FOUR, (4, 2), (4, 2)), 2: (_TWO, (2,), (2,))}


def preamble(lanes: int, single: bool = False) -> str:
    """Types and block transposes for vectors of doubles (2, 4 or 8 lanes) or of float32 (4, 8 or 16)."""
    spread = ",".join(["x"] * lanes)
    gather = ",".join(f"AT(p,s,{k})" for k in range(lanes))
    scatter = "".join(f"*(D*)((p)+{k}*(s))=(c0)[{k}];" for k in range(lanes))
    number, integer = ("float", "int") if single else ("double", "long long")
    types = _TYPES.format(
        lanes=lanes,
        number=number,
        integer=integer,
        item=ITEM[single],
        bytes=ITEM[single] * lanes,
        bits=8 * ITEM[single] * lanes,
        copies=spread,
    )
    blocks = _singles(lanes) if single else _DOUBLES + _BLOCKS[lanes][0]
    asks = "".join(f"COME((p)+{k}*(s))" for k in range(lanes))
    singles = _SINGLE.format(gather=gather, scatter=scatter, asks=asks)
    return types + blocks + _fills(lanes, single) + singles + _short_rows(lanes)


def block_widths(lanes: int, single: bool = False) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Widths of the blocks that LOADn and STOREn move, widest first."""
    return ((4, 2), (4, 2)) if single else _BLOCKS[lanes][1:]
