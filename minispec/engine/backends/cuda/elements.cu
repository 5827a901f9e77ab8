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
