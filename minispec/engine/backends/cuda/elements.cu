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

// Steps in which a thread has a number at a time. EMBED: y[t] = wte[tokens[t]] + wpe[positions[t]]. KEEP, for heads, which
// read hidden states: y at the rows' slots of the cache = x.
__device__ __forceinline__ void each_number(const Step& step, const Feed& feed, Gate& gate) {
  gate.wait();
  const int width = step.num_outputs;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < step.num_rows * width; i += gridDim.x * blockDim.x) {
    const int t = i / width, c = i % width;
    if (step.kind == KEEP) step.y[feed.find(t, feed.slots[t]) * width + c] = fresh(step.x + i);
    else step.y[i] = load(step.weight[packed_index(c, feed.tokens[t], (width + 15) / 16)]) +
                     step.bias[(size_t)feed.positions[t] * width + c];
  }
}
