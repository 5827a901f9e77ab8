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
const int DEPTH = 8;      // loads of 16 bytes that a thread asks for ahead of the 8 it works on
const int SPLIT = 64;     // slots of the cache that one warp attends to, two per lane
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

// The rows that a block multiplies, normalised on the way if there is a norm.
struct Inputs {
  const float* x;  // first of the block's rows
  int live;        // how many there are, 1 to 8
  int width;
  const float* norm_weight;  // null: no norm
  const float* norm_bias;
  const float* mean;
  const float* scale;

  __device__ __forceinline__ float at(int row, int k) const {
    if (row >= live || k >= width) return 0.0f;
    const float v = x[(size_t)row * width + k];
    if (!norm_weight) return v;
    return fmaf((v - mean[row]) * scale[row], norm_weight[k], norm_bias[k]);
  }

  // Inputs k to k + 3, k being a multiple of 4: one load where rows begin at multiples of 16 bytes.
  __device__ __forceinline__ float4 four(int row, int k) const {
    if (width % 4 || row >= live || k >= width)
      return make_float4(at(row, k), at(row, k + 1), at(row, k + 2), at(row, k + 3));
    const float4 v = *(const float4*)(x + (size_t)row * width + k);
    if (!norm_weight) return v;
    const float4 w = *(const float4*)(norm_weight + k), b = *(const float4*)(norm_bias + k);
    const float m = mean[row], s = scale[row];
    return make_float4(fmaf((v.x - m) * s, w.x, b.x), fmaf((v.y - m) * s, w.y, b.y), fmaf((v.z - m) * s, w.z, b.z),
                       fmaf((v.w - m) * s, w.w, b.w));
  }
};

// A warp's share of a tile of 16 outputs x 8 rows: inputs 16 * first to 16 * last, into partial[output][row].
// `a` already holds its first loads of weights.
#if MINISPEC_FLOAT16
const int TILE_LOADS = 1;  // loads of 16 bytes per thread for 16 inputs x 16 outputs

__device__ __forceinline__ void multiply(const uint4* weights, uint4 a[DEPTH], const Inputs& in, int first, int last,
                                         float partial[OUTPUTS][ROWS]) {
  const int lane = threadIdx.x % WARP, group = lane / 4, pair = lane % 4 * 2;
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int k = first; k < last; k += DEPTH) {
    uint4 next[DEPTH];
#pragma unroll
    for (int j = 0; j < DEPTH; ++j)
      if (k + DEPTH + j < last) next[j] = stream(weights + (size_t)(k + DEPTH + j) * WARP + lane);
#pragma unroll
    for (int j = 0; j < DEPTH; ++j)
      if (k + j < last) {
        const float4 v = in.four(group, (k + j) * 16 + 2 * pair);
        multiply_tile(sum, a[j], two_halves(v.x, v.y), two_halves(v.z, v.w));
      }
#pragma unroll
    for (int j = 0; j < DEPTH; ++j) a[j] = next[j];
  }
  partial[group][pair] = sum[0];
  partial[group][pair + 1] = sum[1];
  partial[group + 8][pair] = sum[2];
  partial[group + 8][pair + 1] = sum[3];
}
#else
const int TILE_LOADS = 2;

// A load is 8 inputs x 16 outputs: lane 4 i + q has input i and outputs 4 q to 4 q + 3.
__device__ __forceinline__ void multiply(const uint4* weights, uint4 a[DEPTH], const Inputs& in, int first, int last,
                                         float partial[OUTPUTS][ROWS]) {
  const int lane = threadIdx.x % WARP, input = lane / 4, quad = lane % 4 * 4;
  float sum[ROWS][4];
#pragma unroll
  for (int row = 0; row < ROWS; ++row)
    for (int i = 0; i < 4; ++i) sum[row][i] = 0.0f;
  for (int k = 2 * first; k < 2 * last; k += DEPTH) {
    uint4 next[DEPTH];
#pragma unroll
    for (int j = 0; j < DEPTH; ++j)
      if (k + DEPTH + j < 2 * last) next[j] = stream(weights + (size_t)(k + DEPTH + j) * WARP + lane);
#pragma unroll
    for (int j = 0; j < DEPTH; ++j)
      if (k + j < 2 * last) {
#pragma unroll
        for (int row = 0; row < ROWS; ++row)
          if (row < in.live) {
            const float v = in.at(row, (k + j) * 8 + input);
            sum[row][0] = fmaf(__uint_as_float(a[j].x), v, sum[row][0]);
            sum[row][1] = fmaf(__uint_as_float(a[j].y), v, sum[row][1]);
            sum[row][2] = fmaf(__uint_as_float(a[j].z), v, sum[row][2]);
            sum[row][3] = fmaf(__uint_as_float(a[j].w), v, sum[row][3]);
          }
      }
#pragma unroll
    for (int j = 0; j < DEPTH; ++j) a[j] = next[j];
  }
#pragma unroll
  for (int row = 0; row < ROWS; ++row)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (row >= in.live) continue;
      float v = sum[row][i];
      for (int distance = 4; distance < WARP; distance *= 2) v += __shfl_xor_sync(ALL, v, distance);
      if (input == 0) partial[quad + i][row] = v;
    }
}
#endif

// Where slot `slot` of a text lies, counted in slots from the beginning of the cache.
__device__ size_t find(const int* pages, int size, int slot) { return (size_t)pages[slot / size] * size + slot % size; }

// y = activation(norm(x) W + bias) + residual. Block (i, j): rows 8 i to 8 i + 7, outputs 16 j to 16 j + 15; its warps
// share the inputs. With `keys`, the second and third of the outputs go to slot slots[t] of the text whose pages are
// pages[num_pages t] and so on, each of `size` slots.
extern "C" __global__ void __launch_bounds__(256, 2)
linear(const stored* weight, const float* bias, const float* x, const float* norm_weight, const float* norm_bias,
       float epsilon, int activation, const float* residual, float* y, stored* keys, stored* values,
       const int* pages, const int* slots, int num_pages, int size, int num_rows, int num_inputs, int num_outputs) {
  __shared__ float partial[WARPS][OUTPUTS][ROWS];
  __shared__ float mean[ROWS];
  __shared__ float scale[ROWS];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const int first_row = blockIdx.x * ROWS, tile = blockIdx.y, num_tiles = (num_inputs + 15) / 16;
  const int first = num_tiles * warp / WARPS, last = num_tiles * (warp + 1) / WARPS;

  // The first weights are asked for before anything else: they depend on nothing.
  const uint4* weights = (const uint4*)weight + (size_t)tile * num_tiles * TILE_LOADS * WARP;
  uint4 a[DEPTH];
#pragma unroll
  for (int j = 0; j < DEPTH; ++j)
    if (first * TILE_LOADS + j < last * TILE_LOADS) a[j] = stream(weights + (size_t)(first * TILE_LOADS + j) * WARP + lane);

  Inputs in = {x + (size_t)first_row * num_inputs, min(ROWS, num_rows - first_row), num_inputs,
               norm_weight, norm_bias, mean, scale};

  // What this thread will add to its sum, and where it will write: asked for now, needed at the end.
  const int row = threadIdx.x / OUTPUTS, n = tile * OUTPUTS + threadIdx.x % OUTPUTS, t = first_row + row;
  const int third = keys ? num_outputs / 3 : num_outputs, part = n / third, c = n % third;
  const bool writes = row < in.live && n < num_outputs;
  const float shift = writes ? bias[n] : 0.0f;
  const float before = writes && residual ? residual[(size_t)t * num_outputs + n] : 0.0f;
  const size_t place = writes && part && keys ? find(pages + (size_t)t * num_pages, size, slots[t]) * third + c : 0;
  if (norm_weight) {
    if (warp < in.live) {
      float centre, factor;
      moments(in.x + (size_t)warp * num_inputs, num_inputs, epsilon, &centre, &factor);
      if (lane == 0) {
        mean[warp] = centre;
        scale[warp] = factor;
      }
    }
    __syncthreads();
  }
  multiply(weights, a, in, first, last, partial[warp]);
  __syncthreads();

  if (!writes) return;
  float total = partial[0][threadIdx.x % OUTPUTS][row];
#pragma unroll
  for (int w = 1; w < WARPS; ++w) total += partial[w][threadIdx.x % OUTPUTS][row];
  total = activate(total + shift, activation);
  if (!keys) y[(size_t)t * num_outputs + n] = residual ? total + before : total;
  else if (part == 0) y[(size_t)t * third + c] = total;
  else (part == 1 ? keys : values)[place] = store(total);
}

