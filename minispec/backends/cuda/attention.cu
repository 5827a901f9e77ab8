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

