// Slot `slot` of a text, counted from the beginning of the cache, or -1 where the text may not look.
__device__ __forceinline__ int see(const int* pages, int size, int slot, int end, const unsigned char* visible) {
  return slot >= end || (visible && !visible[slot]) ? -1 : (int)find(pages, size, slot);
}

// The weighted sum of the values in 64 slots, of which a lane has numbers i * 32 + lane, i < PARTS.
template <int PARTS>
__device__ __forceinline__ void sum_values(const stored* values, const int* places, const float* weights, size_t stride,
                                           int head_size, float* found) {
  const int lane = threadIdx.x % WARP;
  float sums[PARTS];
#pragma unroll
  for (int i = 0; i < PARTS; ++i) sums[i] = 0.0f;
  const int at_once = AHEAD / PARTS;
  for (int first = 0; first < SPLIT; first += at_once) {
    stored ahead[at_once][PARTS];
#pragma unroll
    for (int j = 0; j < at_once; ++j)
#pragma unroll
      for (int i = 0; i < PARTS; ++i) {  // where there is nothing to see, any slot: it is not used
        const int place = max(places[first + j], 0), d = min(i * WARP + lane, head_size - 1);
        ahead[j][i] = values[place * stride + d];
      }
#pragma unroll
    for (int j = 0; j < at_once; ++j)
#pragma unroll
      for (int i = 0; i < PARTS; ++i) {
        const float sum = fmaf(weights[first + j], load(ahead[j][i]), sums[i]);
        sums[i] = places[first + j] < 0 ? sums[i] : sum;  // an invisible slot may hold anything, even NaN
      }
  }
#pragma unroll
  for (int i = 0; i < PARTS; ++i)
    if (i * WARP + lane < head_size) found[i * WARP + lane] = sums[i];
}

// What one warp finds in slots `start` to `end` (64 at most) of one head of a text: the largest score, the sum of weights
// relative to it, and the weighted sum of values, as 2 + head_size numbers. A lane scores two slots and reads their keys
// whole. `places` and `weights` are the warp's own.
__device__ void attend(const float* query, const stored* keys, const stored* values, const int* pages, int size,
                       int start, int end, size_t stride, const unsigned char* visible, float factor, int head_size,
                       int* places, float* weights, float* found) {
  const int lane = threadIdx.x % WARP, vectors = head_size % 8 ? 0 : head_size / 8;
  float scores[SPLIT / WARP];
#pragma unroll
  for (int half = 0; half < SPLIT / WARP; ++half) {
    const int place = see(pages, size, start + half * WARP + lane, end, visible);
    float product = 0.0f;
    if (place >= 0) {
      const stored* key = keys + place * stride;
#pragma unroll 8
      for (int i = 0; i < vectors; ++i) {
        float eight[8];
        load_eight(key + 8 * i, eight);
#pragma unroll
        for (int d = 0; d < 8; ++d) product = fmaf(query[8 * i + d], eight[d], product);
      }
      for (int d = 8 * vectors; d < head_size; ++d) product = fmaf(query[d], load(key[d]), product);
    }
    places[half * WARP + lane] = place;
    scores[half] = place < 0 ? LOWEST : product * factor;
  }
  const float largest = warp_max(fmaxf(scores[0], scores[1]));
  float total = 0.0f;
#pragma unroll
  for (int half = 0; half < SPLIT / WARP; ++half) {
    const float weight = scores[half] > LOWEST ? expf(scores[half] - largest) : 0.0f;
    weights[half * WARP + lane] = weight;
    total += weight;
  }
  total = warp_sum(total);
  if (lane == 0) {
    found[0] = largest;
    found[1] = total;
  }
  __syncwarp();
  if (head_size <= 2 * WARP) sum_values<2>(values, places, weights, stride, head_size, found + 2);
  else if (head_size <= 4 * WARP) sum_values<4>(values, places, weights, stride, head_size, found + 2);
  else sum_values<MAX_PARTS>(values, places, weights, stride, head_size, found + 2);
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
  __shared__ float query[WARPS][MAX_PARTS * WARP], weights[WARPS][SPLIT];
  __shared__ int places[WARPS][SPLIT];
  if (split * SPLIT < end) {
    for (int d = lane; d < head_size; d += WARP)
      query[warp][d] = queries[((size_t)t * num_heads + head) * head_size + d];
    __syncwarp();
    attend(query[warp], keys + head * head_size, values + head * head_size, pages + (size_t)t * num_pages, size,
           split * SPLIT, min(split * SPLIT + SPLIT, end), (size_t)num_heads * head_size,
           visible ? visible + (size_t)t * num_pages * size : nullptr, factor, head_size, places[warp], weights[warp],
           found + split * width);
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
  for (int s = lane; s < num_found; s += WARP) largest = fmaxf(largest, __ldcg(found + s * width));
  largest = warp_max(largest);
#pragma unroll
  for (int i = 0; i < MAX_PARTS; ++i) sums[i] = 0.0f;
  for (int first = 0; first < num_found; first += WARP) {  // a lane has a split of 32
    const float* mine = found + (first + lane) * width;
    const bool has = first + lane < num_found;
    const float here = has ? __ldcg(mine) : LOWEST, part = has ? __ldcg(mine + 1) : 0.0f;
    const float weight = here > LOWEST ? expf(here - largest) : 0.0f;  // 0: nothing visible in these 64 slots
#pragma unroll 4
    for (int s = 0; s < min(WARP, num_found - first); ++s) {
      const float share = __shfl_sync(ALL, weight, s);
      total = fmaf(share, __shfl_sync(ALL, part, s), total);
#pragma unroll
      for (int i = 0; i < MAX_PARTS; ++i)
        if (i * WARP + lane < head_size)
          sums[i] = fmaf(share, __ldcg(found + (first + s) * width + 2 + i * WARP + lane), sums[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < MAX_PARTS; ++i)
    if (i * WARP + lane < head_size) out[((size_t)t * num_heads + head) * head_size + i * WARP + lane] = sums[i] / total;
}

