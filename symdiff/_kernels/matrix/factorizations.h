/* LU factors, and eigenvalues and eigenvectors of symmetric matrices. */

/* Elimination with partial pivoting, P A = L U, as symdiff/lowering/pivoting.py has it: an element of L or U is the
   element of A less one sum of products; elements of L are quotients, and what they would be divided by is not 0.

   The pivot of a column is its largest element, the first of equals; nan is never larger and never smaller. Columns
   are eliminated a panel at a time, from the left: all that panels before add to one is one sum of
   products. */

enum { NAME(SD_PANEL) = 4 };

/* Rows of W samples change places: row j, which is ``row``, with the rows below it in the lanes of ``where``. */
INLINE void NAME(exchange)(V *row, long count, long others, const long *below, const M *where) {
  long q = 0;
  for (; q + 4 <= count; q += 4) {
    V a[4];
#pragma GCC unroll 4
    for (int e = 0; e < 4; e++) a[e] = row[q + e];
    for (long k = 0; k < others; k++) {
      V *other = row + below[k] + q;
      M m = where[k];
#pragma GCC unroll 4
      for (int e = 0; e < 4; e++) {
        V b = other[e];
        other[e] = NAME(do_pick)(m, a[e], b);
        a[e] = NAME(do_pick)(m, b, a[e]);
      }
    }
#pragma GCC unroll 4
    for (int e = 0; e < 4; e++) row[q + e] = a[e];
  }
  for (; q < count; q++) {
    V a = row[q];
    for (long k = 0; k < others; k++) {
      V b = row[below[k] + q];
      row[below[k] + q] = NAME(do_pick)(where[k], a, b);
      a = NAME(do_pick)(where[k], b, a);
    }
    row[q] = a;
  }
}

/* Where ``larger`` holds, the length and the place of another element. */
#define TAKE(larger, best, place, length, at) { \
  M m_ = larger; \
  best = NAME(do_pick)(m_, length, best); \
  place = NAME(do_pick)(m_, at, place); }

/* Column j of x less its sums, and the row of its largest element. */
INLINE V NAME(largest)(long n, long j, V *x, long pitch, const V *s, long wide) {
  V best, place = B((T)j), at = place;
  x[j * pitch] -= s[j * wide];
  best = (V)((M)x[j * pitch] & ~SIGN);
  for (long i = j + 1; i < n; i++) {
    V t = x[i * pitch] - s[i * wide], length = (V)((M)t & ~SIGN);
    x[i * pitch] = t;
    at += B(1.0);
    TAKE((M)(best < length), best, place, length, at)
  }
  return place;
}

/* W matrices, from addresses to lanes; rows of x are ``pitch`` apart. SD_BLOCK columns are read when their panels come, whole
   lines of the cache, in the order that rows have by then: so rows to the right never change places in x. ``pivots`` gets W
   numbers a row: the rows it changes places with. ``sums`` has room for SD_PANEL vectors a row. Returns the lanes with
   a pivot that is 0. */
SLOW M NAME(eliminate_samples)(long n, long pitch, char *const *from, int single, V *x, V *sums, int *pivots) {
  const long wide = NAME(SD_PANEL), size = single ? 4 : 8;
  const char *rows[SD_TOGETHER * W];
  M failed = (M)B(0.0);
  for (long i = 0; i < n; i++)
    for (int l = 0; l < W; l++) rows[i * W + l] = from[l] + i * n * size;
  for (long j0 = 0, read = 0; j0 < n; j0 += wide) {
    const long end = n - j0 < wide ? n : j0 + wide;
    if (read == j0) {
      read = n - j0 < SD_BLOCK ? n : j0 + SD_BLOCK;
      for (long i = 0; i < n; i++) NAME(columns_to_lanes)(n, j0, read, rows + i * W, single, x + i * pitch);
    }
    NAME(substitute_of_samples)(SD_UNIT, j0, end - j0, x, pitch, 1, x + j0, pitch, x, 0);
    NAME(sums_of_samples)(n - j0, end - j0, j0, x + j0 * pitch, pitch, 1, x + j0, pitch, sums + j0 * wide, wide);
    for (long j = j0; j < end; j++) {
      V *s = sums + (j - j0), *row = x + j * pitch;
      const V place = NAME(largest)(n, j, x + j, pitch, s, wide);
      unsigned long long chosen = 0;
      M where[W];
      long below[W], beside[W], others = 0;
      for (int l = 0; l < W; l++) {
        const int p = (int)place[l];
        const char *kept = rows[j * W + l];
        pivots[j * W + l] = p;
        rows[j * W + l] = rows[p * W + l];
        rows[p * W + l] = kept;
        chosen |= 1ULL << p;
      }
      for (chosen &= ~(1ULL << j); chosen; chosen &= chosen - 1) {
        const long p = __builtin_ctzll(chosen);
        where[others] = (M)(place == B((T)p));
        below[others] = (p - j) * pitch;
        beside[others++] = (p - j) * wide;
      }
      NAME(exchange)(x + j * pitch, read, others, below, where);
      NAME(exchange)(s + j * wide + 1, end - j - 1, others, beside, where);
      V pivot = row[j];
      M zero = (M)(pivot == B(0.0));
      failed |= zero;
      for (long q = j + 1; q < end; q++) row[q] -= sums[j * wide + q - j0];
      for (long i = j + 1; i < n; i++) {
        V t = x[i * pitch + j], l = NAME(do_pick)(zero, t, t / pivot);
        x[i * pitch + j] = l;
        for (long q = j + 1; q < end; q++) sums[i * wide + q - j0] += l * row[q];
      }
    }
  }
  return failed;
}

/* The largest of the lanes and its place, the smallest of equals. */
#define OTHER_LANE(l, h) ((l) ^ (h))
#define LARGER_LANES(h) { \
  V size = SHUFFLE(best, best, EACH(OTHER_LANE, h)), at = SHUFFLE(place, place, EACH(OTHER_LANE, h)); \
  TAKE((M)(best < size) | ((M)(best == size) & (M)(at < place)), best, place, size, at) }
INLINE long NAME(first_of_largest)(V best, V place) {
#if W >= 8
  LARGER_LANES(4)
#endif
#if W >= 4
  LARGER_LANES(2)
#endif
  LARGER_LANES(1)
  return (long)place[0];
}
#undef OTHER_LANE
#undef LARGER_LANES

/* Numbers in W columns of a panel, turned: column q of them is the vectors from q * rows on. */
INLINE void NAME(turn_panel)(long rows, const V *from, long step, D *to) {
  for (long i = 0; i < rows; i += W) {
    V c[W];
#pragma GCC unroll 8
    for (int l = 0; l < W; l++) c[l] = from[(i + l) * step];
    NAME(turn)(c);
#pragma GCC unroll 8
    for (int l = 0; l < W; l++) *(V *)(to + l * rows + i) = c[l];
  }
}

/* One column j of the panel from j0 on: the row that its pivot stands in. ``x`` and ``s`` are the panel and the sums,
   turned, from row j0 on. */
INLINE long NAME(search)(long n, long rows, long j0, long j, D *x, const D *s) {
  V best = B(-1.0), place = B((T)j), lane;
  for (int l = 0; l < W; l++) lane[l] = l;
  for (long i = (j - j0) / W * W; i < rows; i += W) {
    V t = *(const V *)(x + i) - *(const V *)(s + i), at = lane + B((T)(j0 + i));
    V size = NAME(do_pick)((M)(at >= B((T)j)) & (M)(at < B((T)n)) & (M)(t == t), (V)((M)t & ~SIGN), B(-1.0));
    *(V *)(x + i) = t;
    TAKE((M)(best < size), best, place, size, at)
  }
  return x[j - j0] == x[j - j0] ? NAME(first_of_largest)(best, place) : j;
}

/* One matrix, in place; its rows are whole vectors, ``width`` numbers apart, and there are ``width`` of them. ``panel``
   has room for 2 W + 1 rows. Returns whether a pivot is 0. */
SLOW int NAME(eliminate_columns)(long n, long width, D *a, int *pivots, D *panel) {
  const long m = width / W;
  int failed = 0;
  for (long j0 = 0; j0 < n; j0 += W) {
    const long rows = width - j0, columns = n - j0 < W ? n - j0 : W;
    D *x = panel, *s = panel + W * rows, u[W][W];
    V *here = (V *)(a + j0), *below = (V *)(a + j0 * width + j0), *sums = (V *)(s + W * rows);
    NAME(substitute_of_columns)(SD_UNIT, j0, 1, a, width, 1, here, m, a, 0);
    NAME(sums_of_columns)(rows, 1, j0, a + j0 * width, width, 1, here, m, sums, 1);
    NAME(turn_panel)(rows, sums, 1, s);
    NAME(turn_panel)(rows, below, m, x);
    for (long q = 0; q < columns; q++) {
      const long j = j0 + q, p = NAME(search)(n, rows, j0, j, x + q * rows, s + q * rows);
      pivots[j] = (int)p;
      if (p != j) {
        V *one = (V *)(a + j * width), *other = (V *)(a + p * width);
        for (long e = 0; e < m; e++) {
          V v = one[e];
          one[e] = other[e];
          other[e] = v;
        }
        for (long e = q; e < 2 * W * rows; e += rows) {
          T v = panel[e];
          panel[e] = panel[e + p - j];
          panel[e + p - j] = v;
        }
      }
      const T pivot = u[q][q] = x[q * rows + q];
      const M zero = (M)(B(pivot) == B(0.0));
      failed |= pivot == 0;
      for (long e = q + 1; e < columns; e++) u[q][e] = x[e * rows + q] - s[e * rows + q];
      for (long i = (q + 1) / W * W; i < rows; i += W) {
        V t = *(V *)(x + q * rows + i), l = NAME(do_pick)(zero, t, t / B(pivot));
        *(V *)(x + q * rows + i) = l;
        for (long e = q + 1; e < columns; e++) *(V *)(s + e * rows + i) += l * B(u[q][e]);
      }
    }
    for (long q = 0; q < columns; q++)
      for (long e = q; e < columns; e++) x[e * rows + q] = u[q][e];
    for (long i = 0; i < rows; i += W) {
      V c[W];
#pragma GCC unroll 8
      for (int l = 0; l < W; l++) c[l] = *(V *)(x + l * rows + i);
      NAME(turn)(c);
#pragma GCC unroll 8
      for (int l = 0; l < W; l++) below[(i + l) * m] = c[l];
    }
  }
  return failed;
}

/* Eigenvalues and eigenvectors of small symmetric matrices, samples in the lanes of vectors.

   Householder's reflections make a matrix tridiagonal, and implicit QL or QR steps make it diagonal, with the choices of
   LAPACK's dsytd2, dsteqr and dlartg, so that eigenvectors have LAPACK's signs (Golub and Van Loan, Matrix Computations,
   8.3). A QR step is a QL step from the other end: a lane that takes it holds its numbers in reverse. Lanes that wait for
   others are turned by no angle, so that a sample has the same bits beside any others. */

INLINE V NAME(size_of)(V x) { return (V)((M)x & ~SIGN); }

INLINE int NAME(any_lane)(M lanes) {
  long long any = 0;
  for (int l = 0; l < W; l++) any |= (long long)lanes[l];
  return any != 0;
}

/* Below this a sum of squares counts as 0: what is left of it would be a rotation of the wrong length. */
#define NEGLIGIBLE B(0x1p-960)

/* Vectors that hold matrices together. */
#define GROUPS 2

/* Where a lane is in its iteration: the first row behind the blocks so far, in LAPACK's order, and the places of what is
   left of the present block, in the order of memory. */
typedef struct {
  long next, at, end;
  int reversed; /* whether the lane holds its numbers in reverse, as QR steps take them */
} NAME(sd_block_of);

/* A step of each lane: between which places, and what it begins with. */
typedef struct {
  V first, last, start, beside, off, end;
  M busy, turned; /* lanes that take a step, and those that are to be reversed before */
  long low, high; /* within which places all of them are */
} NAME(sd_chase);

/* H x = (±norm(x), 0, ..) for x, the part of row i of the matrix behind its diagonal: H = 1 - tau v v', v = (1, ..),
   which replaces x but for its first element. */
INLINE V NAME(reflect)(long n, long i, V *x, V *off) {
  V *row = x + i * n, sum = B(0.0);
  const V first = row[i + 1];
  for (long j = i + 2; j < n; j++) sum += row[j] * row[j];
  const M turned = (M)(sum > NEGLIGIBLE);
  const V length = NAME(do_copysign)(NAME(do_sqrt)(first * first + sum), first), whole = first + length;
  const V over = (V)((M)(B(1.0) / NAME(do_pick)(turned, whole, B(1.0))) & turned);
  for (long j = i + 2; j < n; j++) row[j] *= over;
  *off = NAME(do_pick)(turned, -length, first);
  return (V)((M)(whole / NAME(do_pick)(turned, length, B(1.0))) & turned);
}

/* Tridiagonal, of which d is the diagonal and e what is beside it; reflections are left in the upper triangle. */
INLINE void NAME(tridiagonalize)(long n, V *x, V *d, V *e, V *taus, V *w) {
  for (long i = 0; i + 1 < n; i++) {
    const V *v = x + i * n, tau = taus[i] = NAME(reflect)(n, i, x, e + i);
    V inner = B(0.0);
    x[i * n + i + 1] = B(1.0);
    for (long j = i + 1; j < n; j++) w[j] = B(0.0);
    for (long j = i + 1; j < n; j++) {
      const V *row = x + j * n;
      V sum = row[j] * v[j];
      for (long k = j + 1; k < n; k++) {
        sum += row[k] * v[k];
        w[k] += row[k] * v[j];
      }
      w[j] += sum;
    }
    for (long j = i + 1; j < n; j++) inner += w[j] * v[j];
    inner *= B(0.5) * tau;
    for (long j = i + 1; j < n; j++) w[j] = tau * (w[j] - inner * v[j]);
    for (long j = i + 1; j < n; j++)
      for (long k = j; k < n; k++) x[j * n + k] -= v[j] * w[k] + w[j] * v[k];
  }
  for (long i = 0; i < n; i++) d[i] = x[i * n + i];
}

/* The product of all reflections, column by column. */
INLINE void NAME(multiply_reflections)(long n, const V *x, const V *taus, V *z) {
  for (long e = 0; e < n * n; e++) z[e] = B(e % (n + 1) ? 0.0 : 1.0);
  for (long i = n - 2; i >= 0; i--)
    for (long j = i + 1; j < n; j++) {
      V *column = z + j * n, sum = B(0.0);
      for (long r = i + 1; r < n; r++) sum += x[i * n + r] * column[r];
      sum *= taus[i];
      for (long r = i + 1; r < n; r++) column[r] -= sum * x[i * n + r];
    }
}

INLINE void NAME(swap_lanes)(V *x, V *y, M where) {
  const V a = *x, b = *y;
  *x = NAME(do_pick)(where, b, a);
  *y = NAME(do_pick)(where, a, b);
}

/* Reverse the order of eigenvalues, and of the columns beside them, in some lanes. */
INLINE void NAME(reverse)(long n, V *d, V *e, V *z, M where) {
  for (long i = 0; i < n / 2; i++) {
    NAME(swap_lanes)(d + i, d + n - 1 - i, where);
    for (long r = 0; z && r < n; r++) NAME(swap_lanes)(z + i * n + r, z + (n - 1 - i) * n + r, where);
  }
  for (long i = 0; i < (n - 1) / 2; i++) NAME(swap_lanes)(e + i, e + n - 2 - i, where);
}

/* Go to the next step of one lane, which begins at ``at`` and ends at the place returned, or -1 where there is none. Bit
   i of ``zeros`` says that rows i and i + 1 are apart; pairs of rows are left for the end. */
INLINE long NAME(next_step)(long n, NAME(sd_block_of) *b, unsigned long long zeros, const D *d) {
  const int reversed = b->reversed;
  for (;;) {
    if (b->at > b->end) {
      const long first = b->next;
      long last = first;
      unsigned long long flipped = 0;
      if (first == n) return -1;
      while (last < n - 1 && !(zeros >> (b->reversed ? n - 2 - last : last) & 1)) last++;
      b->next = last + 1;
      if (last < first + 2) continue;
#define SIZE(i) __builtin_fabs(d[(reversed ? n - 1 - (i) : (i)) * W])
      if ((SIZE(last) < SIZE(first)) != b->reversed) {
        for (long i = 0; i < n - 1; i++) flipped |= (zeros >> i & 1) << (n - 2 - i);
        zeros = flipped | 1ull << (n - 1);
        b->reversed = !b->reversed;
      }
#undef SIZE
      b->at = b->reversed ? n - 1 - last : first;
      b->end = b->reversed ? n - 1 - first : last;
    }
    const long to = b->at + __builtin_ctzll(zeros >> b->at);
    if (to > b->at + 1) return to;
    b->at = to + 1;
  }
}

/* The next steps of all lanes; whether there are any. */
INLINE int NAME(next_steps)(long n, NAME(sd_block_of) *blocks, const V *d, V *e, NAME(sd_chase) *c) {
  V first = B(0.0), last = first, start = first, beside = first, off = B(1.0), end = first;
  M busy = (M)B(0.0), turned = busy, zeros = busy + (1ll << (n - 1));
  int any = 0;
  c->low = n, c->high = 0;
  for (long i = 0; i + 1 < n; i++) {
    const V bound = B(0x1p-106) * NAME(size_of)(d[i]) * NAME(size_of)(d[i + 1]) + B(0x1p-1022);
    const M apart = (M)(e[i] * e[i] <= bound);
    e[i] = (V)((M)e[i] & ~apart);
    zeros |= apart & (1ll << i);
  }
  for (int l = 0; l < W; l++) {
    NAME(sd_block_of) *b = blocks + l;
    const int reversed = b->reversed;
    const D *of = (const D *)d + l, *by = (const D *)e + l;
    const long to = NAME(next_step)(n, b, (unsigned long long)((const long long *)&zeros)[l], of), from = b->at;
    if (to < 0) continue;
    const int turn = b->reversed != reversed;
    any = 1;
    c->low = from < c->low ? from : c->low, c->high = to > c->high ? to : c->high;
    ((long long *)&busy)[l] = -1, ((long long *)&turned)[l] = -turn;
    ((D *)&first)[l] = (D)from, ((D *)&last)[l] = (D)to;
    ((D *)&start)[l] = of[(turn ? n - 1 - from : from) * W], ((D *)&beside)[l] = of[(turn ? n - 2 - from : from + 1) * W];
    ((D *)&end)[l] = of[(turn ? n - 1 - to : to) * W], ((D *)&off)[l] = by[(turn ? n - 2 - from : from) * W];
  }
  c->first = first, c->last = last, c->start = start, c->beside = beside, c->off = off, c->end = end;
  c->busy = busy, c->turned = turned;
  return any;
}

/* Turn column i of z and the next one. */
INLINE void NAME(turn_columns)(long n, long i, V *z, V c, V s) {
  V *x = z + i * n, *y = x + n;
  for (long r = 0; r < n; r++) {
    const V a = x[r], b = y[r];
    x[r] = s * b + c * a;
    y[r] = c * b - s * a;
  }
}

/* An implicit QL step of each lane of some groups: one waits for roots and quotients while another computes. */
INLINE void NAME(chase)(long n, const int groups, const NAME(sd_chase) *steps, V *const *d, V *const *e, V *const *z) {
  V p[GROUPS], c[GROUPS], s[GROUPS], g[GROUPS];
  long low = n, high = 0;
  for (int k = 0; k < groups; k++) {
    const NAME(sd_chase) *of = steps + k;
    const V t = (of->beside - of->start) / (of->off + of->off);
    p[k] = B(0.0), c[k] = s[k] = B(1.0);
    g[k] = of->end - of->start + of->off / (t + NAME(do_copysign)(NAME(do_sqrt)(t * t + B(1.0)), t));
    low = of->low < low ? of->low : low, high = of->high > high ? of->high : high;
  }
  for (long i = high - 1; i >= low; i--)
#pragma GCC unroll 2
    for (int k = 0; k < groups; k++) {
      const V place = B((D)i), first = steps[k].first, last = steps[k].last;
      const M here = steps[k].busy & (M)(place >= first) & (M)(place < last);
      const M behind = here & (M)(place < last - B(1.0)), ends = here & (M)(place == first);
      V *at = d[k] + i, *beside = e[k] + i;
      const V f = s[k] * beside[0], b = c[k] * beside[0], square = f * f + g[k] * g[k];
      const M turned = here & (M)(square > NEGLIGIBLE) & (M)(f != B(0.0));
      const V over = B(1.0) / NAME(do_sqrt)(NAME(do_pick)(turned, square, B(1.0)));
      const V towards = NAME(do_copysign)(over, g[k] + B(0.0));
      const V co = NAME(do_pick)(turned, NAME(size_of)(g[k]) * over, B(1.0)), si = (V)((M)(f * towards) & turned);
      const V h = at[1] - p[k], r = (at[0] - h) * si + B(2.0) * co * b;
      beside[1] = NAME(do_pick)(behind, NAME(do_pick)(turned, square * towards, g[k]), beside[1]);
      at[1] = NAME(do_pick)(here, h + si * r, at[1]);
      p[k] = NAME(do_pick)(here, si * r, p[k]);
      g[k] = NAME(do_pick)(here, co * r - b, g[k]);
      c[k] = NAME(do_pick)(here, co, c[k]);
      s[k] = NAME(do_pick)(here, si, s[k]);
      at[0] = NAME(do_pick)(ends, at[0] - p[k], at[0]);
      beside[0] = NAME(do_pick)(ends, g[k], beside[0]);
      if (z[k]) NAME(turn_columns)(n, i, z[k], co, -si);
    }
}

/* Solve the pairs of rows, i and i + 1, that are left: dlaev2. */
INLINE void NAME(solve_pairs)(long n, V *d, const V *e, V *z, M reversed) {
  for (long i = 0; i + 1 < n; i++) {
    const M here = (M)(e[i] != B(0.0));
    const V a = NAME(do_pick)(reversed, d[i + 1], d[i]), c = NAME(do_pick)(reversed, d[i], d[i + 1]);
    const V b = NAME(do_pick)(here, e[i], B(1.0)), twice = b + b, sum = a + c, h = a - c;
    const V root = NAME(do_sqrt)(h * h + twice * twice);
    const M a_first = (M)(NAME(size_of)(a) > NAME(size_of)(c)), minus = (M)(sum < B(0.0)), down = (M)(h < B(0.0));
    const V most = NAME(do_pick)(a_first, a, c), least = NAME(do_pick)(a_first, c, a);
    const V one = B(0.5) * NAME(do_pick)(minus, sum - root, sum + root);
    const V other = NAME(do_pick)((M)(sum == B(0.0)), -one, most / one * least - b / one * b);
    const V whole = NAME(do_pick)(down, h - root, h + root);
    const M steep = (M)(NAME(size_of)(whole) > NAME(size_of)(twice));
    const V t = -NAME(do_pick)(steep, twice, whole) / NAME(do_pick)(steep, whole, twice);
    const V u = B(1.0) / NAME(do_sqrt)(B(1.0) + t * t), v = t * u;
    const V co = NAME(do_pick)(steep, v, u), si = NAME(do_pick)(steep, u, v);
    const M alike = ~(minus ^ down);
    const V cosine = NAME(do_pick)(alike, -si, co), sine = NAME(do_pick)(alike, co, si);
    d[i] = NAME(do_pick)(here, NAME(do_pick)(reversed, other, one), d[i]);
    d[i + 1] = NAME(do_pick)(here, NAME(do_pick)(reversed, one, other), d[i + 1]);
    if (z)
      NAME(turn_columns)(n, i, z, NAME(do_pick)(here, cosine, B(1.0)),
                         (V)((M)NAME(do_pick)(reversed, -sine, sine) & here));
  }
}

/* Make tridiagonal matrices diagonal; failed: the lanes in which that has not been done. */
INLINE void NAME(diagonalize)(long n, const int groups, V *const *d, V *const *e, V *const *z, M *failed) {
  NAME(sd_block_of) blocks[GROUPS][W];
  NAME(sd_chase) steps[GROUPS] = {0};
  M reversed[GROUPS];
  long left = 60 * n;
  int any = 1;
  for (int k = 0; k < groups; k++) {
    reversed[k] = (M)B(0.0);
    for (int l = 0; l < W; l++) blocks[k][l] = (NAME(sd_block_of)){0, 0, -1, 0};
  }
  while (any && left--) {
    any = 0;
    for (int k = 0; k < groups; k++) {
      any |= NAME(next_steps)(n, blocks[k], d[k], e[k], steps + k);
      if (NAME(any_lane)(steps[k].turned)) NAME(reverse)(n, d[k], e[k], z[k], steps[k].turned);
      reversed[k] ^= steps[k].turned;
    }
    if (any) NAME(chase)(n, groups, steps, d, e, z);
  }
  for (int k = 0; k < groups; k++) {
    NAME(solve_pairs)(n, d[k], e[k], z[k], reversed[k]);
    failed[k] = steps[k].busy;
  }
}

INLINE void NAME(spectra)(long n, long count, const int groups, const double *matrices, double *values, double *vectors,
                          double *workspace) {
  V *d[GROUPS], *e[GROUPS], *z[GROUPS];
  M failed[GROUPS];
  for (int k = 0; k < groups; k++) {
    V *x = (V *)workspace + k * 2 * n * (n + 2), *taus = x + n * n, *w = taus + n;
    const char *at[W];
    d[k] = w + n, e[k] = d[k] + n, z[k] = vectors ? e[k] + n : 0;
    for (long l = k * W; l < (k + 1) * W; l++) at[l - k * W] = (const char *)(matrices + (l < count ? l : count - 1) * n * n);
    NAME(to_lanes)(n * n, at, 0, x);
    NAME(tridiagonalize)(n, x, d[k], e[k], taus, w);
    if (vectors) NAME(multiply_reflections)(n, x, taus, z[k]);
  }
  NAME(diagonalize)(n, groups, d, e, z, failed);
  for (long l = 0; l < count; l++) {
    int order[SD_SPECTRUM_MOST];
    const D *own = (const D *)d[l / W] + l % W, *columns = vectors ? (const D *)z[l / W] + l % W : 0;
    if (failed[l / W][l % W]) {
      for (long k = 0; k < n; k++) values[l * n + k] = __builtin_nan("");
      for (long k = 0; vectors && k < n * n; k++) vectors[l * n * n + k] = __builtin_nan("");
      continue;
    }
    for (int k = 0, i; k < n; k++) {
      for (i = k; i > 0 && own[k * W] < own[order[i - 1] * W]; i--) order[i] = order[i - 1];
      order[i] = k;
    }
    for (long k = 0; k < n; k++) {
      values[l * n + k] = own[order[k] * W];
      for (long i = 0; vectors && i < n; i++)
        vectors[(l * n + i) * n + k] = columns[(order[k] * n + i) * W] + 0.0; /* 0 has one sign */
    }
  }
}

/* The eigenvalues of ``count`` matrices of finite numbers, one after the other, in rising order, and, unless it is 0,
   ``vectors`` with the eigenvectors as columns. */
SLOW void NAME(spectrum)(long n, long count, const double *matrices, double *values, double *vectors,
                         double *workspace) {
  if (count > W)
    NAME(spectra)(n, count, GROUPS, matrices, values, vectors, workspace);
  else
    NAME(spectra)(n, count, 1, matrices, values, vectors, workspace);
}
#undef NEGLIGIBLE
#undef GROUPS
