// Eight numbers side by side, as they are kept.
struct Eight {
  uint4 bits[KEPT_LOADS];

  __device__ __forceinline__ float at(int i) const {
#if KV_FLOAT16
    const unsigned pair = i / 2 == 0 ? bits[0].x : i / 2 == 1 ? bits[0].y : i / 2 == 2 ? bits[0].z : bits[0].w;
    return load((kept)(pair >> 16 * (i % 2)));
#else
    const uint4 four = bits[i / 4];
    return __uint_as_float(i % 4 == 0 ? four.x : i % 4 == 1 ? four.y : i % 4 == 2 ? four.z : four.w);
#endif
  }
};

// Numbers d to d + 7 of a head. Those behind its end: any where its size is a multiple of 8, else zeros.
__device__ __forceinline__ Eight eight(const kept* head, int d, int size) {
  Eight v;
  if (size % 8 == 0) {
#pragma unroll
    for (int i = 0; i < KEPT_LOADS; ++i) v.bits[i] = fresh((const uint4*)(head + min(d, size - 8)) + i);
    return v;
  }
  unsigned words[4 * KEPT_LOADS] = {};
#pragma unroll
  for (int j = 0; j < 8; ++j)
    if (d + j < size) words[j * KEPT_LOADS / 2] |= fresh_bits(head + d + j) << (KEPT_LOADS == 1 ? j % 2 * 16 : 0);
#pragma unroll
  for (int i = 0; i < KEPT_LOADS; ++i) v.bits[i] = make_uint4(words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
  return v;
}

// The slots that a lane looks at, of SPAN that its warp attends to: lane 8 s + c has numbers 8 c to 8 c + 7 of slots s,
// s + 4, and so on. Keys and values of the next slots are asked for as soon as there is room for them.
struct Look {
  int places[SPAN / 4];  // -1: not seen
  Eight keys[SPAN / 4], values[SPAN / 4];

  __device__ __forceinline__ void find(const Feed& feed, int t, int start, int end) {
#pragma unroll
    for (int i = 0; i < SPAN / 4; ++i) {
      const int slot = start + 4 * i + threadIdx.x % WARP / 8;
      const bool seen = slot < end && (!feed.visible || feed.visible[(size_t)t * feed.num_pages * feed.size + slot]);
      places[i] = seen ? (int)feed.find(t, slot) : -1;
    }
  }
  __device__ __forceinline__ void ask(Eight into[SPAN / 4], const kept* from, size_t stride, int d, int size) const {
#pragma unroll
    for (int i = 0; i < SPAN / 4; ++i) into[i] = eight(from + max(places[i], 0) * stride, d, size);  // unseen: any
  }
};

// An item is a row and a head. The finishers join what the warps found in their order, SPAN x STREAMS slots after another.
__device__ __forceinline__ void attention(const Step& step, const Feed& feed, Gate& gate, Shared* shared) {
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, finisher = (int)threadIdx.x - STREAMS * WARP;
  const int head_size = step.num_inputs, heads = step.num_outputs;
  const size_t stride = (size_t)heads * head_size;
  const int first = 8 * (lane % 8);
  int turn = 0;
  for (int item = first_item(step.turn); item < heads * step.num_rows; item += gridDim.x) {
    const int t = item / heads, head = item % heads, end = feed.ends[t];
    const kept *keys = step.keys + head * head_size, *values = step.values + head * head_size;
    if (!gate.open && warp < STREAMS)  // old keys and values depend on nothing: have them near
      for (int slot = warp * SPAN + lane / 2; slot < end; slot += STREAMS * SPAN)
        for (int d = 0; d < head_size && lane < 2 * SPAN; d += 128 / (int)sizeof(kept))
          bring_near((lane % 2 ? values : keys) + feed.find(t, slot) * stride + d);
    gate.wait();

    const float* query = step.x + (size_t)t * stride + head * head_size;
    float largest = LOWEST, total = 0.0f, sums[(MAX_HEAD + FINISHERS - 1) / FINISHERS] = {};
    Look look;
    if (warp < STREAMS) {
      look.find(feed, t, warp * SPAN, end);
      look.ask(look.keys, keys, stride, first, head_size);
      look.ask(look.values, values, stride, first, head_size);
    }
    for (int start = 0; start < end; start += STREAMS * SPAN, turn ^= 1) {
      if (warp < STREAMS) {
        float* found = shared->found[turn][warp];
        const Look now = look;
        float scores[SPAN / 4] = {}, best = LOWEST, sum = 0.0f;
#pragma unroll 1
        for (int d = first; d < head_size; d += 64) {
          if (d != first) look.ask(look.keys, keys, stride, d, head_size);
          const bool odd = head_size % 8;
          const float4 low = odd ? one_by_one(query + d, head_size - d) : fresh((const float4*)(query + d));
          const float4 high = odd ? one_by_one(query + d + 4, head_size - d - 4) : fresh((const float4*)(query + d) + 1);
          const float q[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
          for (int i = 0; i < SPAN / 4; ++i)
#pragma unroll
            for (int j = 0; j < 8; ++j) scores[i] = fmaf(q[j], look.keys[i].at(j), scores[i]);
        }
#pragma unroll
        for (int i = 0; i < SPAN / 4; ++i) {
          for (int distance = 1; distance < 8; distance *= 2) scores[i] += __shfl_xor_sync(ALL, scores[i], distance);
          scores[i] = now.places[i] < 0 ? LOWEST : scores[i] * step.number;
          best = fmaxf(best, scores[i]);
        }
        for (int distance = 8; distance < WARP; distance *= 2) best = fmaxf(best, __shfl_xor_sync(ALL, best, distance));
#pragma unroll
        for (int i = 0; i < SPAN / 4; ++i) {
          scores[i] = now.places[i] < 0 ? 0.0f : expf(scores[i] - best);  // a weight from here on
          sum += scores[i];
        }
        for (int distance = 8; distance < WARP; distance *= 2) sum += __shfl_xor_sync(ALL, sum, distance);
        if (lane == 0) found[0] = best, found[1] = sum;
        look.find(feed, t, start + (STREAMS + warp) * SPAN, end);
        look.ask(look.keys, keys, stride, first, head_size);
#pragma unroll 1
        for (int part = 0; part < head_size; part += 64) {
          if (part) now.ask(look.values, values, stride, part + first, head_size);
          float mixed[8] = {};
#pragma unroll
          for (int i = 0; i < SPAN / 4; ++i)
#pragma unroll
            for (int j = 0; j < 8; ++j)  // an invisible slot may hold anything, even NaN
              mixed[j] = now.places[i] < 0 ? mixed[j] : fmaf(scores[i], look.values[i].at(j), mixed[j]);
#pragma unroll
          for (int j = 0; j < 8; ++j) {
            for (int distance = 8; distance < WARP; distance *= 2) mixed[j] += __shfl_xor_sync(ALL, mixed[j], distance);
            if (lane < 8 && part + first < head_size) found[2 + part + first + j] = mixed[j];
          }
        }
        look.ask(look.values, values, stride, first, head_size);
      }
      __syncthreads();
      if (finisher < 0) continue;
      const float(*found)[sizeof(shared->found[0][0]) / sizeof(float)] = shared->found[turn];
      float best = largest;
#pragma unroll
      for (int w = 0; w < STREAMS; ++w) best = fmaxf(best, found[w][0]);
      const float kept = largest > LOWEST ? expf(largest - best) : 0.0f;
      total *= kept;
#pragma unroll
      for (int i = 0; i * FINISHERS < MAX_HEAD; ++i) sums[i] *= kept;
#pragma unroll 2
      for (int w = 0; w < STREAMS; ++w) {
        const float share = found[w][0] > LOWEST ? expf(found[w][0] - best) : 0.0f;
        total = fmaf(share, found[w][1], total);
#pragma unroll
        for (int i = 0; i * FINISHERS < MAX_HEAD; ++i)
          if (i * FINISHERS + finisher < head_size)
            sums[i] = fmaf(share, found[w][2 + i * FINISHERS + finisher], sums[i]);
      }
      largest = best;
    }
    if (finisher >= 0)
#pragma unroll
      for (int i = 0; i * FINISHERS < MAX_HEAD; ++i)
        if (i * FINISHERS + finisher < head_size)
          step.y[(size_t)t * stride + head * head_size + i * FINISHERS + finisher] = sums[i] / total;
  }
  gate.wait();
}
