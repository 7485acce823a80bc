/* See peaks_kernels.h. Each round multiplies and adds in as many registers as hide the latency of an operation: 12 on x86,
 * whose AVX2 has 16 registers, 24 on Arm, whose wide cores begin four operations a cycle. */
#include "agent/peaks/peaks_kernels.h"

#if defined __x86_64__
#include <immintrin.h>
#define REGISTERS 12
#elif defined __aarch64__
#include <arm_neon.h>
#define REGISTERS 24
#else
#define REGISTERS 8
#endif

#if defined __clang__
#define UNROLLED _Pragma ("clang loop unroll(full)")
#else
#define UNROLLED _Pragma ("GCC unroll 24")
#endif

/* Values go towards 1, and so stay numbers of which each operation takes the same time. Only unrolled loops leave all of x
 * in registers. */
#define FLOPS(NAME, TARGET, REAL, VECTOR, SET, ADD, MULTIPLY_ADD, FIRST)                                               \
  TARGET static double NAME (uint64_t rounds)                                                                          \
  {                                                                                                                    \
    const VECTOR factor = SET ((REAL) 0.75), term = SET ((REAL) 0.25);                                                 \
    VECTOR x[REGISTERS], sum = SET ((REAL) 0);                                                                         \
                                                                                                                       \
    UNROLLED                                                                                                           \
    for (int i = 0; i < REGISTERS; i++)                                                                                \
      x[i] = SET ((REAL) 0.01 * (REAL) i);                                                                             \
    for (uint64_t round = 0; round < rounds; round++) {                                                                \
      UNROLLED                                                                                                         \
      for (int i = 0; i < REGISTERS; i++)                                                                              \
        x[i] = MULTIPLY_ADD (x[i], factor, term);                                                                      \
    }                                                                                                                  \
    UNROLLED                                                                                                           \
    for (int i = 0; i < REGISTERS; i++)                                                                                \
      sum = ADD (sum, x[i]);                                                                                           \
    return (double) FIRST (sum);                                                                                       \
  }
#define OPERATIONS(LANES) (2 * REGISTERS * (LANES))

static bool
is_everywhere (void)
{
  return true;
}

#if defined __x86_64__

#define AVX512 __attribute__ ((target ("avx512f")))
#define AVX2 __attribute__ ((target ("avx2,fma")))
#define SSE2_DOUBLE(X, FACTOR, TERM) _mm_add_pd (_mm_mul_pd (X, FACTOR), TERM)
#define SSE2_SINGLE(X, FACTOR, TERM) _mm_add_ps (_mm_mul_ps (X, FACTOR), TERM)

FLOPS (avx512_double, AVX512, double, __m512d, _mm512_set1_pd, _mm512_add_pd, _mm512_fmadd_pd, _mm512_cvtsd_f64)
FLOPS (avx512_single, AVX512, float, __m512, _mm512_set1_ps, _mm512_add_ps, _mm512_fmadd_ps, _mm512_cvtss_f32)
FLOPS (avx2_double, AVX2, double, __m256d, _mm256_set1_pd, _mm256_add_pd, _mm256_fmadd_pd, _mm256_cvtsd_f64)
FLOPS (avx2_single, AVX2, float, __m256, _mm256_set1_ps, _mm256_add_ps, _mm256_fmadd_ps, _mm256_cvtss_f32)
FLOPS (sse2_double, , double, __m128d, _mm_set1_pd, _mm_add_pd, SSE2_DOUBLE, _mm_cvtsd_f64)
FLOPS (sse2_single, , float, __m128, _mm_set1_ps, _mm_add_ps, SSE2_SINGLE, _mm_cvtss_f32)

static bool
has_avx512 (void)
{
  return __builtin_cpu_supports ("avx512f") != 0;
}

static bool
has_avx2 (void)
{
  return __builtin_cpu_supports ("avx2") != 0 && __builtin_cpu_supports ("fma") != 0;
}

const struct peaks_kernel peaks_kernels[] = {
  { "avx512", has_avx512, avx512_single, avx512_double, OPERATIONS (16), OPERATIONS (8) },
  { "avx2", has_avx2, avx2_single, avx2_double, OPERATIONS (8), OPERATIONS (4) },
  { "sse2", is_everywhere, sse2_single, sse2_double, OPERATIONS (4), OPERATIONS (2) },
};

#elif defined __aarch64__

#define NEON_DOUBLE(X, FACTOR, TERM) vfmaq_f64 (TERM, X, FACTOR)
#define NEON_SINGLE(X, FACTOR, TERM) vfmaq_f32 (TERM, X, FACTOR)
#define FIRST_DOUBLE(X) vgetq_lane_f64 (X, 0)
#define FIRST_SINGLE(X) vgetq_lane_f32 (X, 0)

FLOPS (neon_double, , double, float64x2_t, vdupq_n_f64, vaddq_f64, NEON_DOUBLE, FIRST_DOUBLE)
FLOPS (neon_single, , float, float32x4_t, vdupq_n_f32, vaddq_f32, NEON_SINGLE, FIRST_SINGLE)

const struct peaks_kernel peaks_kernels[] = {
  { "neon", is_everywhere, neon_single, neon_double, OPERATIONS (4), OPERATIONS (2) },
};

#else

#define SAME(X) (X)
#define SUM(X, Y) ((X) + (Y))
#define PRODUCT_SUM(X, FACTOR, TERM) ((X) * (FACTOR) + (TERM))

FLOPS (scalar_double, , double, double, SAME, SUM, PRODUCT_SUM, SAME)
FLOPS (scalar_single, , float, float, SAME, SUM, PRODUCT_SUM, SAME)

const struct peaks_kernel peaks_kernels[] = {
  { "scalar", is_everywhere, scalar_single, scalar_double, OPERATIONS (1), OPERATIONS (1) },
};

#endif

const size_t peaks_kernel_count = sizeof peaks_kernels / sizeof peaks_kernels[0];

#if defined __x86_64__

void
peaks_triad (double *a, const double *b, const double *c, size_t count)
{
  const __m128d three = _mm_set1_pd (3);

  for (size_t i = 0; i < count; i += 2)
    _mm_stream_pd (a + i, _mm_add_pd (_mm_load_pd (b + i), _mm_mul_pd (three, _mm_load_pd (c + i))));
  _mm_sfence ();
}

#else

void
peaks_triad (double *a, const double *b, const double *c, size_t count)
{
  for (size_t i = 0; i < count; i++)
    a[i] = b[i] + 3 * c[i];
}

#endif
