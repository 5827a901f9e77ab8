// What the card does that C++ has no word for, one small function each; the kernels are plain C++ on top of these.
// Half-precision numbers are kept as their bits, so that no header of the toolkit is needed to compile.

typedef unsigned short half_bits;

__device__ __forceinline__ float half_to_float(half_bits h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}

__device__ __forceinline__ half_bits float_to_half(float f) {
  half_bits h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}

// Two halves in one register, `low` in the lower bits.
__device__ __forceinline__ unsigned two_halves(float low, float high) {
  unsigned both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// 16 bytes of weights, on their way through once: do not keep them in L1.
__device__ __forceinline__ uint4 stream(const uint4* address) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address));
  return v;
}

// sum += A B for A of 16 x 16 and B of 16 x 8 halves and sums in float32. Each of the 32 lanes of the warp holds 8
// numbers of A, 4 of B and 4 of the sum, in the places that the PTX manual's section on mma.m16n8k16 draws.
__device__ __forceinline__ void multiply_tile(float sum[4], uint4 a, unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}
