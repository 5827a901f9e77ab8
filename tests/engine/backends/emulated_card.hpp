// A card emulated on one CPU thread, so that the very source of the kernels runs where there is no GPU.
//
// The threads of all blocks are fibers, resumed in an order drawn from a seed; for a while a warp or a block stands still.
// So a barrier that is missing shows as another result under some order. A copy that was asked for arrives late: its place
// holds NaN until the scheduler happens to deliver it. Seed 0 is the natural order, without delays. Not emulated: speed,
// the order of memory between blocks, and the rounding inside a tensor core.
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <ucontext.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 { unsigned x, y, z; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };
static uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
using std::max;
using std::min;
static dim3 threadIdx, blockIdx, blockDim, gridDim;

struct Barrier { unsigned arrived = 0, round = 0; };
struct Delivery { char* to; const char* from; unsigned bytes; unsigned long long* arrival; };
struct Block {
  std::vector<char> shared;
  Barrier all, warps[32];
  unsigned turn[1024] = {};
  float from_lane[2][32][32];
  float left[32][16][16], right[32][16][8];
  std::vector<Delivery> under_way;
};
struct Fiber {
  ucontext_t context;
  jmp_buf at;
  char* stack = nullptr;
  unsigned block, thread;
  bool started = false, done = false;
  const Barrier* waits_at = nullptr;
  unsigned round = 0;
};
static std::vector<Block> blocks;
static std::vector<Fiber> fibers;
static Fiber* current;
static jmp_buf scheduler;
static void (*body)();
static bool progress, gave_up;

static void yield() {
  if (!_setjmp(current->at)) _longjmp(scheduler, 1);
}
static void entry() {  // a fiber serves one launch after another
  for (;;) {
    body();
    current->done = progress = true;
    yield();
  }
}
static void wait_at(Barrier& barrier, unsigned count) {
  current->waits_at = &barrier, current->round = barrier.round;
  if (++barrier.arrived == count) barrier.arrived = 0, ++barrier.round, progress = true;
  else yield();
  current->waits_at = nullptr;
}
static Block& mine() { return blocks[blockIdx.x]; }
static void __syncthreads() { wait_at(mine().all, blockDim.x); }
static void __syncwarp() { wait_at(mine().warps[threadIdx.x / 32], 32); }

static void deliver(Block& block, size_t i) {
  const Delivery d = block.under_way[i];
  std::memcpy(d.to, d.from, d.bytes);
  ++*d.arrival;
  block.under_way.erase(block.under_way.begin() + i);
  progress = true;
}

static uint64_t state;
static unsigned draw() {  // xorshift64*
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return state * 0x2545f4914f6cdd1dull >> 32;
}

// Run a kernel of one dimension; 0 if it came to its end, 1 if its threads wait for ever.
static int launch(unsigned grid, unsigned threads, unsigned shared, unsigned seed, void (*kernel)()) {
  state = 0x9e3779b97f4a7c15ull * (seed + 1);
  const unsigned late = seed ? 1u << draw() % 7 : 1;  // how long what was asked for is under way
  volatile unsigned slow = grid, slow_warp = 0;
  blocks.clear(), blocks.resize(grid);
  for (Block& block : blocks) block.shared.assign(shared + 128, (char)0xff);
  if (fibers.size() != grid * threads) {
    for (Fiber& fiber : fibers) delete[] fiber.stack;
    fibers.clear(), fibers.resize(grid * threads);
  }
  std::vector<unsigned> order(fibers.size());
  for (unsigned i = 0; i < order.size(); ++i) order[i] = i, fibers[i].block = i / threads, fibers[i].thread = i % threads;
  for (Fiber& fiber : fibers) fiber.done = false, fiber.waits_at = nullptr;
  body = kernel, gridDim = {grid, 1, 1}, blockDim = {threads, 1, 1};
  for (volatile size_t left = fibers.size(), idle = 0; left;) {
    progress = false;
    for (size_t i = order.size(); seed && i > 1; --i) std::swap(order[i - 1], order[draw() % i]);
    if (seed && draw() % 64 == 0) slow = draw() % (2 * grid), slow_warp = draw() % (2 * threads / 32);
    for (volatile size_t i = 0; i < order.size(); i = i + 1) {
      Fiber& fiber = fibers[order[i]];
      if (fiber.done || (fiber.waits_at && fiber.waits_at->round == fiber.round)) continue;
      // For a while one warp stands still, or a block, or nobody.
      if (fiber.block == slow && (fiber.thread / 32 == slow_warp || slow_warp >= threads / 32) && idle < 100) continue;
      current = &fiber, threadIdx = {fiber.thread, 0, 0}, blockIdx = {fiber.block, 0, 0};
      if (!_setjmp(scheduler)) {
        if (fiber.started) _longjmp(fiber.at, 1);
        fiber.started = true;
        if (!fiber.stack) fiber.stack = new char[1 << 15];
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack, fiber.context.uc_stack.ss_size = 1 << 15;
        makecontext(&fiber.context, entry, 0);
        setcontext(&fiber.context);
      }
      if (fibers[order[i]].done) left = left - 1;
    }
    for (Block& block : blocks)
      for (size_t i = block.under_way.size(); i-- > 0;)
        if (draw() % late == 0) deliver(block, i);
    idle = progress ? 0 : idle + 1;
    if (idle == 1000 || gave_up) {
      for (Fiber& fiber : fibers) fiber.started = false;  // stuck where they are
      gave_up = false;
      return 1;
    }
  }
  return 0;
}

// The functions of primitives.cuh.
typedef unsigned short half_bits;
typedef unsigned long long Arrival;  // here: how many rounds have arrived

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

static unsigned two_halves(float low, float high) { return float_to_half(low) | (unsigned)float_to_half(high) << 16; }

static void multiply_tile(float sum[4], uint4 a, unsigned b0, unsigned b1) {
  Block& block = mine();
  const unsigned warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const unsigned as[4] = {a.x, a.y, a.z, a.w}, bs[2] = {b0, b1};
  for (unsigned i = 0; i < 8; ++i)
    block.left[warp][i / 2 % 2 ? g + 8 : g][2 * t + i % 2 + (i < 4 ? 0 : 8)] = half_to_float(as[i / 2] >> 16 * (i % 2));
  for (unsigned i = 0; i < 4; ++i)
    block.right[warp][2 * t + i % 2 + (i < 2 ? 0 : 8)][g] = half_to_float(bs[i / 2] >> 16 * (i % 2));
  __syncwarp();
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned k = 0; k < 16; ++k) sum[i] += block.left[warp][i < 2 ? g : g + 8][k] * block.right[warp][k][2 * t + i % 2];
  __syncwarp();
}

static char* shared_memory() { return (char*)(((uintptr_t)mine().shared.data() + 127) / 128 * 128); }
static void give_up() {
  gave_up = true;
  for (;;) yield();
}
static const unsigned PATIENCE = 1u << 23;
static void prepare(Arrival* arrival) { *arrival = 0; }
static void fetch(void* to, const void* from, unsigned bytes, Arrival* arrival) {
  if (threadIdx.x % 32) return;
  if (bytes == 0 || bytes % 512) give_up();
  std::memset(to, 0xff, bytes);  // NaN: whoever does not wait will see
  mine().under_way.push_back({(char*)to, (const char*)from, bytes, arrival});
}
static void wait_for(Arrival* arrival, unsigned parity) {
  while (*arrival % 2 == parity) yield();
}
static void count_up(unsigned* counter) { ++*counter, progress = true; }
static unsigned count_of(const unsigned* counter) {
  yield();
  return *counter;
}
template <class T> static T fresh(const T* address, bool there = true) { return there ? *address : T{}; }
static void bring_near(const void*) {}
static unsigned atomicAdd(unsigned* address, unsigned value) {
  const unsigned before = *address;
  *address += value;
  return before;
}
static unsigned fresh_bits(const unsigned short* address) { return *address; }
static unsigned fresh_bits(const float* address) {
  unsigned bits;
  std::memcpy(&bits, address, 4);
  return bits;
}
static float __uint_as_float(unsigned bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
static float exchange(float v, unsigned source) {
  Block& block = mine();
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, set = block.turn[threadIdx.x]++ % 2;
  block.from_lane[set][warp][lane] = v;
  __syncwarp();
  return block.from_lane[set][warp][source];
}
static float __shfl_xor_sync(unsigned, float v, int distance) { return exchange(v, (threadIdx.x % 32) ^ distance); }
