// Where packing puts the weight of input k and output n: see packing.py.
__device__ __forceinline__ size_t packed_index(int k, int n, int tiles) {
  const size_t tile = (size_t)(n / OUTPUTS) * tiles + k / 16;
#if MINISPEC_FLOAT16
  const int r = n % 16, c = k % 16, lane = r % 8 * 4 + c / 4;
  return (tile * WARP + lane) * 8 + c % 2 + 2 * (r / 8) + 4 * (c % 4 / 2);
#else
  return (tile * 16 + k % 16) * OUTPUTS + n % OUTPUTS;
#endif
}

// x[t] = wte[tokens[t]] + wpe[positions[t]].
__device__ __forceinline__ void embed(const Step& step, const Feed& feed, Gate& gate) {
  gate.wait();
  const int width = step.num_outputs;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < step.num_rows * width; i += gridDim.x * blockDim.x) {
    const int t = i / width, c = i % width;
    step.y[i] = load(step.weight[packed_index(c, feed.tokens[t], (width + 15) / 16)]) +
                step.bias[(size_t)feed.positions[t] * width + c];
  }
}

// The three that products take along, alone: for whoever asks the backend for one of them, and for heads, which read
// hidden states. y = norm(x), a warp per row.
__device__ __forceinline__ void normalise(const Step& step) {
  const int lane = threadIdx.x % WARP, width = step.num_outputs, warps = gridDim.x * (THREADS / WARP);
  for (int t = blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP; t < step.num_rows; t += warps) {
    const size_t row = (size_t)t * width;
    float mean = 0.0f, scale = 0.0f;
    for (int c = lane; c < width; c += WARP) mean += fresh(step.x + row + c);
    for (int distance = 1; distance < WARP; distance *= 2) mean += __shfl_xor_sync(ALL, mean, distance);
    mean /= width;
    for (int c = lane; c < width; c += WARP) {
      const float away = fresh(step.x + row + c) - mean;
      scale = fmaf(away, away, scale);
    }
    for (int distance = 1; distance < WARP; distance *= 2) scale += __shfl_xor_sync(ALL, scale, distance);
    scale = 1.0f / sqrtf(scale / width + step.number);
    for (int c = lane; c < width; c += WARP)
      step.y[row + c] = fmaf((fresh(step.x + row + c) - mean) * scale, step.norm_weight[c], step.norm_bias[c]);
  }
}

// y = activation(x); or, to keep hidden states, y at the rows' slots of the cache = x.
__device__ __forceinline__ void each_number(const Step& step, const Feed& feed) {
  const int width = step.num_outputs;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < step.num_rows * width; i += gridDim.x * blockDim.x) {
    const int t = i / width, c = i % width;
    const size_t to = step.kind == KEEP ? feed.find(t, feed.slots[t]) * width + c : i;
    step.y[to] = activate(fresh(step.x + i), step.activation);
  }
}
