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
const int SPLIT = 64;     // slots of the cache that one warp attends to
const int MAX_PARTS = 8;  // a head has at most 8 x 32 numbers
const unsigned ALL = 0xffffffffu;
const float LOWEST = -3.402823466e38f;  // stands for -infinity

#if MINISPEC_FLOAT16
typedef half_bits stored;  // a weight, a key, a value
__device__ __forceinline__ float load(stored v) { return half_to_float(v); }
__device__ __forceinline__ stored store(float v) { return float_to_half(v); }
#else
typedef float stored;
__device__ __forceinline__ float load(stored v) { return v; }
__device__ __forceinline__ stored store(float v) { return v; }
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
#pragma unroll 8
  for (int c = lane; c < width; c += WARP) total += row[c];
  const float centre = warp_sum(total) / width;
#pragma unroll 8
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
  const int lane = (r % 8) * 4 + (c % 8) / 2;
  return (tile * WARP + lane) * 8 + c % 2 + 2 * (r / 8) + 4 * (c / 8);
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
        const int c = (k + j) * 16 + pair;
        multiply_tile(sum, a[j], two_halves(in.at(group, c), in.at(group, c + 1)),
                      two_halves(in.at(group, c + 8), in.at(group, c + 9)));
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
extern "C" __global__ void __launch_bounds__(256, 1)
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

  const int row = threadIdx.x / OUTPUTS, n = tile * OUTPUTS + threadIdx.x % OUTPUTS;
  if (row >= in.live || n >= num_outputs) return;
  float total = partial[0][threadIdx.x % OUTPUTS][row];
#pragma unroll
  for (int w = 1; w < WARPS; ++w) total += partial[w][threadIdx.x % OUTPUTS][row];
  total = activate(total + bias[n], activation);
  const int t = first_row + row;
  if (!keys) {
    const size_t i = (size_t)t * num_outputs + n;
    y[i] = residual ? total + residual[i] : total;
    return;
  }
  const int width = num_outputs / 3, part = n / width, c = n % width;
  const size_t place = find(pages + (size_t)t * num_pages, size, slots[t]) * width + c;
  if (part == 0) y[(size_t)t * width + c] = total;
  if (part == 1) keys[place] = store(total);
  if (part == 2) values[place] = store(total);
}

// What one warp finds in slots `start` to `end` (64 at most) of one head of a text: the largest score, the sum of weights
// relative to it, and the weighted sum of values, as 2 + head_size numbers.
__device__ void attend(const float* query, const stored* keys, const stored* values, const int* pages, int size,
                       int start, int end, size_t stride, const unsigned char* visible, float factor, int head_size,
                       float* found) {
  const int lane = threadIdx.x % WARP;
  float q[MAX_PARTS], sums[MAX_PARTS], scores[SPLIT / WARP];
#pragma unroll
  for (int i = 0; i < MAX_PARTS; ++i) {
    const int d = i * WARP + lane;
    q[i] = d < head_size ? query[d] : 0.0f;
    sums[i] = 0.0f;
  }
#pragma unroll
  for (int half = 0; half < SPLIT / WARP; ++half) {
    scores[half] = LOWEST;
#pragma unroll 4
    for (int j = 0; j < WARP; ++j) {
      const int slot = start + half * WARP + j;
      if (slot >= end || (visible && !visible[slot])) continue;
      const stored* key = keys + find(pages, size, slot) * stride;
      float product = 0.0f;
#pragma unroll
      for (int i = 0; i < MAX_PARTS; ++i)
        if (i * WARP + lane < head_size) product = fmaf(q[i], load(key[i * WARP + lane]), product);
      product = warp_sum(product) * factor;
      if (lane == j) scores[half] = product;
    }
  }
  const float largest = warp_max(fmaxf(scores[0], scores[1]));
  float weights[SPLIT / WARP];
#pragma unroll
  for (int half = 0; half < SPLIT / WARP; ++half)
    weights[half] = scores[half] > LOWEST ? expf(scores[half] - largest) : 0.0f;
#pragma unroll
  for (int half = 0; half < SPLIT / WARP; ++half)
#pragma unroll 4
    for (int j = 0; j < WARP; ++j) {
      const int slot = start + half * WARP + j;
      const float weight = __shfl_sync(ALL, weights[half], j);
      if (slot >= end || weight == 0.0f) continue;  // an invisible slot may hold anything, even NaN
      const stored* value = values + find(pages, size, slot) * stride;
#pragma unroll
      for (int i = 0; i < MAX_PARTS; ++i)
        if (i * WARP + lane < head_size) sums[i] = fmaf(weight, load(value[i * WARP + lane]), sums[i]);
    }
  const float total = warp_sum(weights[0] + weights[1]);
  if (lane == 0) {
    found[0] = largest;
    found[1] = total;
  }
#pragma unroll
  for (int i = 0; i < MAX_PARTS; ++i)
    if (i * WARP + lane < head_size) found[2 + i * WARP + lane] = sums[i];
}

// Block (split, head, group): 64 slots, one head, 8 tokens, a warp each. Splits begin at multiples of 64, so their number
// never changes a sum. The block that finishes last joins the splits of its head and tokens, in order.
extern "C" __global__ void __launch_bounds__(256, 1)
attention(const float* queries, const stored* keys, const stored* values, const int* pages, const int* ends,
          const unsigned char* visible, float factor, float* partials, unsigned* arrived, float* out, int num_tokens,
          int num_heads, int head_size, int num_pages, int size, int num_splits) {
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const int split = blockIdx.x, head = blockIdx.y, group = blockIdx.z, t = group * ROWS + warp;
  int longest = 0;
  for (int i = group * ROWS; i < min(num_tokens, group * ROWS + ROWS); ++i) longest = max(longest, ends[i]);
  if (split * SPLIT >= longest) return;  // a recorded launch has blocks for the whole cache

  const int width = 2 + head_size, end = t < num_tokens ? ends[t] : 0;
  float* found = partials + ((size_t)t * num_heads + head) * num_splits * width;
  if (split * SPLIT < end) {
    const size_t stride = (size_t)num_heads * head_size;
    const int start = split * SPLIT;
    attend(queries + ((size_t)t * num_heads + head) * head_size, keys + head * head_size, values + head * head_size,
           pages + (size_t)t * num_pages, size, start, min(start + SPLIT, end), stride,
           visible ? visible + (size_t)t * num_pages * size : nullptr, factor, head_size, found + split * width);
  }

  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned* count = arrived + group * num_heads + head;
    last = atomicAdd(count, 1u) == (unsigned)((longest - 1) / SPLIT);
    if (last) *count = 0;  // ready for the next launch
  }
  __syncthreads();
  if (!last || end == 0) return;
  __threadfence();
  const int num_found = (end + SPLIT - 1) / SPLIT;
  float largest = LOWEST, total = 0.0f, sums[MAX_PARTS];
  for (int s = 0; s < num_found; ++s) largest = fmaxf(largest, __ldcg(found + s * width));
#pragma unroll
  for (int i = 0; i < MAX_PARTS; ++i) sums[i] = 0.0f;
  for (int s = 0; s < num_found; ++s) {
    const float here = __ldcg(found + s * width);
    if (!(here > LOWEST)) continue;  // nothing visible in these 64 slots
    const float weight = expf(here - largest);
    total = fmaf(weight, __ldcg(found + s * width + 1), total);
#pragma unroll
    for (int i = 0; i < MAX_PARTS; ++i)
      if (i * WARP + lane < head_size) sums[i] = fmaf(weight, __ldcg(found + s * width + 2 + i * WARP + lane), sums[i]);
  }
#pragma unroll
  for (int i = 0; i < MAX_PARTS; ++i)
    if (i * WARP + lane < head_size) out[((size_t)t * num_heads + head) * head_size + i * WARP + lane] = sums[i] / total;
}

// x[t] = wte[tokens[t]] + wpe[positions[t]]; wte is packed like a head, a token a column. Block (i, t): 256 channels.
extern "C" __global__ void embed(const stored* wte, const float* wpe, const int* tokens, const int* positions, float* x,
                                 int width) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, t = blockIdx.y;
  if (c >= width) return;
  x[(size_t)t * width + c] =
      load(wte[packed_index(c, tokens[t], (width + 15) / 16)]) + wpe[(size_t)positions[t] * width + c];
}

// The two operations that linear fuses, alone: for whoever asks the backend for one of them. A warp per row.
extern "C" __global__ void layer_norm(const float* x, const float* weight, const float* bias, float epsilon, float* y,
                                      int num_rows, int width) {
  const int row = blockIdx.x * WARPS + threadIdx.x / WARP;
  if (row >= num_rows) return;
  float mean, scale;
  moments(x + (size_t)row * width, width, epsilon, &mean, &scale);
  for (int c = threadIdx.x % WARP; c < width; c += WARP) {
    const size_t i = (size_t)row * width + c;
    y[i] = fmaf((x[i] - mean) * scale, weight[c], bias[c]);
  }
}

extern "C" __global__ void apply_activation(const float* x, int activation, float* y, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) y[i] = activate(x[i], activation);
}
