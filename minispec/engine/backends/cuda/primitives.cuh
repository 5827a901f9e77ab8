// What the card does that C++ has no word for. The tests' emulated card has the same functions for a CPU.

typedef unsigned short half_bits;
typedef unsigned long long Arrival;  // an mbarrier in shared memory: says when what was asked for has arrived
#define HOPPER (__CUDA_ARCH__ >= 900)
#define BULK (HOPPER && !NO_BULK)  // the copy engine; NO_BULK=1 to compare with what Ampere does

// Where something never comes: an error of the launch rather than a hang. Polls of about a microsecond.
const unsigned PATIENCE = 1u << 23;
__device__ __forceinline__ void give_up() { asm volatile("trap;"); }

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

// sum += A B, A of 16 x 16 and B of 16 x 8 halves: see the PTX manual's section on mma.m16n8k16.
__device__ __forceinline__ void multiply_tile(float sum[4], uint4 a, unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

// The block's shared memory, all of it.
__device__ __forceinline__ char* shared_memory() {
  extern __shared__ uint4 whole[];
  return (char*)whole;
}

__device__ __forceinline__ unsigned in_shared(const void* address) { return (unsigned)__cvta_generic_to_shared(address); }

// A warp asks for `bytes` consecutive bytes (a multiple of 512) and goes on; `arrival` will say when they are in shared
// memory. One instruction of the copy engine from Hopper on; before, 16 bytes per lane and instruction.
__device__ __forceinline__ void prepare(Arrival* arrival) {
#if BULK
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(in_shared(arrival)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#else
  asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(in_shared(arrival)) : "memory");
#endif
}

__device__ __forceinline__ void fetch(void* to, const void* from, unsigned bytes, Arrival* arrival) {
#if BULK
  if (threadIdx.x % 32 == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(arrival)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     in_shared(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(in_shared(arrival))
                 : "memory");
  }
#else
  const unsigned mine = threadIdx.x % 32 * 16;
  for (unsigned i = mine; i < bytes; i += 512)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(in_shared(to) + i),
                 "l"(__cvta_generic_to_global((const char*)from + i))
                 : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(in_shared(arrival)) : "memory");
#endif
}

// Wait for the arrival of round `parity` (0, 1, 0, 1, ...).
__device__ __forceinline__ void wait_for(Arrival* arrival, unsigned parity) {
  unsigned done = 0;
  for (unsigned tries = 0; !done; ++tries) {
    if (tries == PATIENCE) give_up();
#if HOPPER
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, 1000; selp.u32 %0, 1, 0, p;}"
#else
    asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
#endif
                 : "=r"(done)
                 : "r"(in_shared(arrival)), "r"(parity)
                 : "memory");
  }
}

// All that the block has written is seen by who sees the count; what is read after `count_of` is as new as the count.
__device__ __forceinline__ void count_up(unsigned* counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

__device__ __forceinline__ unsigned count_of(const unsigned* counter) {
  unsigned v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(counter) : "memory");
  return v;
}

// What another block has written: read past L1. Zeros where it is not there.
__device__ __forceinline__ uint4 fresh(const uint4* address, bool there = true) {
  uint4 v;
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %5, 0; mov.u32 %0, 0; mov.u32 %1, 0; mov.u32 %2, 0; mov.u32 %3, 0; "
      "@p ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];}"
      : "=&r"(v.x), "=&r"(v.y), "=&r"(v.z), "=&r"(v.w)
      : "l"(address), "r"((int)there)
      : "memory");
  return v;
}

__device__ __forceinline__ float4 fresh(const float4* address, bool there = true) {
  const uint4 v = fresh((const uint4*)address, there);
  return make_float4(__uint_as_float(v.x), __uint_as_float(v.y), __uint_as_float(v.z), __uint_as_float(v.w));
}

__device__ __forceinline__ float fresh(const float* address) {
  float v;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(v) : "l"(address) : "memory");
  return v;
}

__device__ __forceinline__ half_bits fresh(const half_bits* address) {
  half_bits v;
  asm volatile("ld.global.cg.u16 %0, [%1];" : "=h"(v) : "l"(address) : "memory");
  return v;
}

// Have a line of 128 bytes brought to L2; nothing waits for it.
__device__ __forceinline__ void bring_near(const void* address) { asm volatile("prefetch.global.L2 [%0];" ::"l"(address)); }
