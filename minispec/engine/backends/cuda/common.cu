// The kernels of the backend `cupy`, five launches per layer: linear (queries, keys, values), attention, linear
// (projection), linear (up), linear (down). Compiled twice, for float32 and for float16 weights and caches.
//
// Batch-invariant by construction: a block computes the same tile in the same order however many rows there are; sums
// are split at fixed places (by warp, by 64 slots of the cache) and joined in a fixed order; no sum of floats is atomic.
// Every multiply-add that could become one fused instruction or two is written as fmaf, and the compiler is told to fuse
// nothing else.

const int WARP = 32;
const int WARPS = 8;      // per block, of linear and of attention
const int ROWS = 8;       // tokens per block: the 8 columns of a tensor-core tile
const int OUTPUTS = 16;   // outputs per block: its 16 rows
const int DEPTH = 4;      // loads of 16 bytes that a thread asks for ahead of the 4 it works on
const int SPLIT = 64;     // slots of the cache that one warp attends to, two per lane
const int AHEAD = 32;     // numbers of values that a lane asks for before it uses any
const int MAX_PARTS = 8;  // a head has at most 8 x 32 numbers
const unsigned ALL = 0xffffffffu;
const float LOWEST = -3.402823466e38f;  // stands for -infinity

#if MINISPEC_FLOAT16
typedef half_bits stored;  // a weight, a key, a value
__device__ __forceinline__ float load(stored v) { return half_to_float(v); }
__device__ __forceinline__ stored store(float v) { return float_to_half(v); }
// Eight numbers side by side, of which the first lies at a multiple of 16 bytes.
__device__ __forceinline__ void load_eight(const stored* from, float to[8]) {
  const uint4 bits = *(const uint4*)from;
  const unsigned pairs[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = load((stored)(pairs[i / 2] >> 16 * (i % 2)));
}
#else
typedef float stored;
__device__ __forceinline__ float load(stored v) { return v; }
__device__ __forceinline__ stored store(float v) { return v; }
__device__ __forceinline__ void load_eight(const stored* from, float to[8]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float4 four = ((const float4*)from)[i];
    to[4 * i] = four.x, to[4 * i + 1] = four.y, to[4 * i + 2] = four.z, to[4 * i + 3] = four.w;
  }
}
#endif

// Every lane gets the sum (the maximum) over the warp, always of the same pairs.
__device__ __forceinline__ float warp_sum(float v) {
  for (int distance = WARP / 2; distance > 0; distance /= 2) v += __shfl_xor_sync(ALL, v, distance);
  return v;
}

__device__ __forceinline__ float warp_max(float v) {
  for (int distance = WARP / 2; distance > 0; distance /= 2) v = fmaxf(v, __shfl_xor_sync(ALL, v, distance));
  return v;
}

// Mean and 1 / deviation of a row, by one warp.
__device__ void moments(const float* row, int width, float epsilon, float* mean, float* scale) {
  const int lane = threadIdx.x % WARP;
  float total = 0.0f, squares = 0.0f;
#pragma unroll 16
  for (int c = lane; c < width; c += WARP) total += row[c];
  const float centre = warp_sum(total) / width;
#pragma unroll 16
  for (int c = lane; c < width; c += WARP) squares = fmaf(row[c] - centre, row[c] - centre, squares);
  *mean = centre;
  *scale = 1.0f / sqrtf(warp_sum(squares) / width + epsilon);
}

__device__ __forceinline__ float activate(float v, int activation) {
  if (activation == 1) {  // gelu_new
    const float cube = v * v * v;
    return 0.5f * v * (1.0f + tanhf(0.7978845608028654f * fmaf(0.044715f, cube, v)));
  }
  if (activation == 2) return 0.5f * v * (1.0f + erff(v * 0.7071067811865476f));  // gelu
  if (activation == 3) return fmaxf(v, 0.0f);                                     // relu
  if (activation == 4) return v / (1.0f + expf(-v));                              // silu
  if (activation == 5) return tanhf(v);
  return v;
}

// Where packing puts the weight of input k and output n; `num_tiles` counts 16 inputs each. See packing.py.
__device__ __forceinline__ size_t packed_index(int k, int n, int num_tiles) {
  const size_t tile = (size_t)(n / OUTPUTS) * num_tiles + k / 16;
#if MINISPEC_FLOAT16
  const int r = n % 16, c = k % 16;
  const int lane = (r % 8) * 4 + c / 4;
  return (tile * WARP + lane) * 8 + c % 2 + 2 * (r / 8) + 4 * (c % 4 / 2);
#else
  return (tile * 16 + k % 16) * OUTPUTS + n % OUTPUTS;
#endif
}

// Where slot `slot` of a text lies, counted in slots from the beginning of the cache.
__device__ size_t find(const int* pages, int size, int slot) { return (size_t)pages[slot / size] * size + slot % size; }
