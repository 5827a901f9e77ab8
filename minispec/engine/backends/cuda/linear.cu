// The product of the backend `cupy`, with what comes before it (a norm) and behind it (bias, activation, residual).

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

  // Inputs k to k + 3 of DEPTH tiles of 16, k being a multiple of 4: one load each where rows begin at multiples of 16
  // bytes, and all asked for before any is used.
  __device__ __forceinline__ void fours(int row, int k, float4 v[DEPTH]) const {
    if (width % 4) {
      for (int j = 0; j < DEPTH; ++j, k += 16)
        v[j] = make_float4(at(row, k), at(row, k + 1), at(row, k + 2), at(row, k + 3));
      return;
    }
    const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int j = 0; j < DEPTH; ++j)
      v[j] = row < live && k + 16 * j < width ? *(const float4*)(x + (size_t)row * width + k + 16 * j) : zero;
    if (!norm_weight) return;
    float4 w[DEPTH], b[DEPTH];
#pragma unroll
    for (int j = 0; j < DEPTH; ++j) {
      const int c = min(k + 16 * j, width - 4);
      w[j] = *(const float4*)(norm_weight + c), b[j] = *(const float4*)(norm_bias + c);
    }
    const float m = mean[row], s = scale[row];
#pragma unroll
    for (int j = 0; j < DEPTH; ++j)
      if (row < live && k + 16 * j < width)
        v[j] = make_float4(fmaf((v[j].x - m) * s, w[j].x, b[j].x), fmaf((v[j].y - m) * s, w[j].y, b[j].y),
                           fmaf((v[j].z - m) * s, w[j].z, b[j].z), fmaf((v[j].w - m) * s, w[j].w, b[j].w));
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
    float4 v[DEPTH];
    in.fours(group, k * 16 + 2 * pair, v);
#pragma unroll
    for (int j = 0; j < DEPTH; ++j)
      if (k + j < last) multiply_tile(sum, a[j], two_halves(v[j].x, v[j].y), two_halves(v[j].z, v[j].w));
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

