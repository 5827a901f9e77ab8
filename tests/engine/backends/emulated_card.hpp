// A card emulated on one CPU thread, so that the very source of the kernels runs where there is no GPU.
//
// The threads of a block are fibers, resumed in an order drawn from a seed: a barrier that is missing shows as another
// result under some order. Blocks run one after another, also in an order drawn from the seed. What a warp does together
// (shuffles, tensor-core tiles) waits for its 32 lanes. Speed, memory consistency between blocks that run at the same
// time, and the rounding inside a tensor core are not emulated.
#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include <ucontext.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)

struct dim3 {
  unsigned x, y, z;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static dim3 threadIdx, blockIdx, blockDim, gridDim;
using std::max;
using std::min;

struct Barrier {
  unsigned arrived, round;
};

struct Fiber {
  ucontext_t context;
  jmp_buf at;
  std::vector<char> stack;
  bool started, done;
  const Barrier* waits_at;
  unsigned round;  // of the barrier, when it began to wait

  bool waits() const { return waits_at && waits_at->round == round; }
};
static Fiber fibers[1024];
static jmp_buf scheduler;
static std::function<void()> kernel;
static bool progress;

static void yield() {
  Fiber& mine = fibers[threadIdx.x];
  if (!_setjmp(mine.at)) _longjmp(scheduler, 1);
}

static void entry() {  // a fiber serves one block after another
  for (;;) {
    kernel();
    fibers[threadIdx.x].done = progress = true;
    yield();
  }
}

static void wait_at(Barrier& barrier, unsigned count) {
  Fiber& mine = fibers[threadIdx.x];
  mine.waits_at = &barrier;
  mine.round = barrier.round;
  if (++barrier.arrived == count) {
    barrier.arrived = 0;
    ++barrier.round;
    progress = true;
  } else {
    yield();
  }
  mine.waits_at = nullptr;
}
static Barrier block_barrier, warp_barriers[32];
static unsigned turn[32][32];  // how often each lane has exchanged something

static void __syncthreads() { wait_at(block_barrier, blockDim.x); }
static void meet() { wait_at(warp_barriers[threadIdx.x / 32], 32); }
static void __syncwarp() { meet(); }

// Run a kernel; 0 if it came to its end, 1 if the threads of a block wait for one another for ever.
static int launch(dim3 grid, unsigned threads, unsigned seed, std::function<void()> body) {
  std::mt19937 random(seed);
  std::vector<unsigned> blocks(grid.x * grid.y * grid.z), order(threads);
  std::iota(blocks.begin(), blocks.end(), 0u);
  std::iota(order.begin(), order.end(), 0u);
  if (seed) std::shuffle(blocks.begin(), blocks.end(), random);
  kernel = body;
  gridDim = grid;
  blockDim = {threads, 1, 1};
  for (unsigned block : blocks) {
    blockIdx = {block % grid.x, block / grid.x % grid.y, block / grid.x / grid.y};
    block_barrier = {0, 0};
    for (Barrier& barrier : warp_barriers) barrier = {0, 0};
    std::memset(turn, 0, sizeof turn);
    for (unsigned i = 0; i < threads; ++i) {
      fibers[i].done = false;
      fibers[i].waits_at = nullptr;
    }
    for (volatile unsigned left = threads; left;) {
      progress = false;
      if (seed) std::shuffle(order.begin(), order.end(), random);
      for (volatile unsigned i = 0; i < threads; i = i + 1) {
        Fiber& fiber = fibers[order[i]];
        if (fiber.done || fiber.waits()) continue;
        threadIdx = {order[i], 0, 0};
        if (!_setjmp(scheduler)) {
          if (fiber.started) _longjmp(fiber.at, 1);
          fiber.started = true;
          fiber.stack.resize(1 << 16);
          getcontext(&fiber.context);
          fiber.context.uc_stack.ss_sp = fiber.stack.data();
          fiber.context.uc_stack.ss_size = fiber.stack.size();
          makecontext(&fiber.context, entry, 0);
          setcontext(&fiber.context);
        }
        if (fibers[order[i]].done) left = left - 1;
      }
      if (!progress) {
        for (Fiber& fiber : fibers) fiber.started = false;  // they are stuck where they are: make new ones
        return 1;
      }
    }
  }
  return 0;
}

static void __threadfence() {}
static unsigned atomicAdd(unsigned* address, unsigned value) {
  const unsigned before = *address;
  *address += value;
  return before;
}
static float __ldcg(const float* address) { return *address; }
static float __uint_as_float(unsigned bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}

// Two sets of places, used in turn: nobody writes to one before all have read it.
static float from_lane[2][32][32];
static float exchange(float v, unsigned source) {
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, set = turn[warp][lane]++ % 2;
  from_lane[set][warp][lane] = v;
  meet();
  return from_lane[set][warp][source];
}
static float __shfl_xor_sync(unsigned, float v, int distance) { return exchange(v, (threadIdx.x % 32) ^ distance); }
static float __shfl_sync(unsigned, float v, int source) { return exchange(v, source); }

typedef unsigned short half_bits;

static float half_to_float(half_bits h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  float size = exponent == 0 ? std::ldexp((float)fraction, -24) : std::ldexp((float)(1024 + fraction), exponent - 25);
  if (exponent == 31) size = fraction ? NAN : INFINITY;
  return h >> 15 ? -size : size;
}

static half_bits float_to_half(float f) {  // to nearest, ties to even
  const half_bits sign = std::signbit(f) ? 0x8000 : 0;
  const float size = std::fabs(f);
  if (std::isnan(f)) return sign | 0x7e00;
  if (size >= 65520.0f) return sign | 0x7c00;
  if (size == 0.0f) return sign;
  int exponent;
  std::frexp(size, &exponent);                    // size = m * 2^exponent, 0.5 <= m < 1
  const int unit = std::max(exponent - 11, -24);  // size in units of 2^unit is at most 2048
  return sign | (half_bits)((unit + 24) * 1024 + (int)std::nearbyint(std::ldexp(size, -unit)));
}

static unsigned two_halves(float low, float high) {
  return (unsigned)float_to_half(low) | (unsigned)float_to_half(high) << 16;
}

static uint4 stream(const uint4* address) { return *address; }

// The fragment layouts of mma.m16n8k16 with halves, as the PTX manual states them: with g = lane / 4 and t = lane % 4,
// a_i is in row g (i = 0, 1, 4, 5) or g + 8, column 2 t + i % 2 (i < 4) or that + 8; b_i is in row 2 t + i % 2 (i < 2) or
// that + 8, column g; c_i is in row g (i < 2) or g + 8, column 2 t + i % 2.
static float left[32][16][16], right[32][16][8];
static void multiply_tile(float sum[4], uint4 a, unsigned b0, unsigned b1) {
  const unsigned warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const unsigned as[4] = {a.x, a.y, a.z, a.w}, bs[2] = {b0, b1};
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned row = i == 0 || i == 1 || i == 4 || i == 5 ? g : g + 8, column = 2 * t + i % 2 + (i < 4 ? 0 : 8);
    left[warp][row][column] = half_to_float(as[i / 2] >> 16 * (i % 2) & 0xffff);
  }
  for (unsigned i = 0; i < 4; ++i)
    right[warp][2 * t + i % 2 + (i < 2 ? 0 : 8)][g] = half_to_float(bs[i / 2] >> 16 * (i % 2) & 0xffff);
  meet();
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned k = 0; k < 16; ++k)
      sum[i] += left[warp][i < 2 ? g : g + 8][k] * right[warp][k][2 * t + i % 2];
  meet();
}
