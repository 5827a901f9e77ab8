union Eight {  // numbers of a head, as they are kept
  uint4 bits[KEPT_LOADS];
  kept numbers[8];
};

// The first of `left` numbers, zeros behind them.
__device__ __forceinline__ Eight eight(const kept* from, int left) {
  Eight v;
  if (!ODD_SIZES) {
#pragma unroll
    for (int i = 0; i < KEPT_LOADS; ++i) v.bits[i] = fresh((const uint4*)from + i, left > 0);
  } else {
#pragma unroll
    for (int j = 0; j < 8; ++j) v.numbers[j] = j < left ? fresh(from + j) : (kept)0;
  }
  return v;
}

// A running softmax over slots: the largest score, and the sums of weights and of weighted values relative to it.
struct Softmax {
  float largest, total, mixed[8];

  __device__ __forceinline__ void raise(float to) {
    const float by = expf(largest - to);
    largest = to, total *= by;
#pragma unroll
    for (int j = 0; j < 8; ++j) mixed[j] *= by;
  }

  __device__ __forceinline__ void add(float score, const Eight& value) {
    const float weight = score > LOWEST ? expf(score - largest) : 0.0f;
    total += weight;
#pragma unroll
    for (int j = 0; j < 8; ++j) mixed[j] = fmaf(weight, load(value.numbers[j]), mixed[j]);
  }

  // Join those of a warp's groups of lanes, in the same order in each lane.
  __device__ __forceinline__ void join(int lanes) {
    float best = largest;
    for (int distance = lanes; distance < WARP; distance *= 2) best = fmaxf(best, __shfl_xor_sync(ALL, best, distance));
    raise(best);
    for (int distance = lanes; distance < WARP; distance *= 2) {
      total += __shfl_xor_sync(ALL, total, distance);
#pragma unroll
      for (int j = 0; j < 8; ++j) mixed[j] += __shfl_xor_sync(ALL, mixed[j], distance);
    }
  }
};

// The slots that a lane looks at: eight numbers of the head in LOOKS of them at once, and as many lanes look at a slot as
// the head has eights, 8, 16 or 32. The next keys and values are asked for as soon as there is room for them.
__device__ __forceinline__ Softmax attend(const Step& step, const Feed& feed, int t, int begin, int lanes) {
  const int size = step.num_inputs, d = threadIdx.x % lanes * 8, end = feed.ends[t], together = LOOKS * WARP / lanes;
  const size_t stride = (size_t)step.num_outputs * size;
  Eight keys[LOOKS], values[LOOKS];
  int places[LOOKS];  // -1: not seen
  const auto find = [&](int start) {
#pragma unroll
    for (int i = 0; i < LOOKS; ++i) {
      const int slot = start + WARP / lanes * i + threadIdx.x % WARP / lanes;
      const bool seen = slot < end && (!feed.visible || feed.visible[(size_t)t * feed.num_pages * feed.size + slot]);
      places[i] = seen ? (int)feed.find(t, slot) : -1;
    }
  };
  const auto ask = [&](Eight* into, const kept* from) {  // an invisible slot may hold anything, even NaN: zeros instead
#pragma unroll
    for (int i = 0; i < LOOKS; ++i)
      into[i] = eight(from + max(places[i], 0) * stride + begin + d, places[i] < 0 ? 0 : size - d);
  };

  Softmax softmax = {LOWEST};
  int start = threadIdx.x / WARP * together;
  find(start), ask(keys, step.keys), ask(values, step.values);
  const float* query = step.x + t * stride + begin + d;
  const float4 low = four(query, size - d), high = four(query + 4, size - d - 4);
  const float q[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  while (start < end) {
    float scores[LOOKS] = {}, best = softmax.largest;
#pragma unroll
    for (int i = 0; i < LOOKS; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) scores[i] = fmaf(q[j], load(keys[i].numbers[j]), scores[i]);
      for (int distance = 1; distance < lanes; distance *= 2) scores[i] += __shfl_xor_sync(ALL, scores[i], distance);
      scores[i] = places[i] < 0 ? LOWEST : scores[i] * step.number;
      best = fmaxf(best, scores[i]);
    }
    softmax.raise(best);
    start += STREAMS * together;
    find(start), ask(keys, step.keys);
#pragma unroll
    for (int i = 0; i < LOOKS; ++i) softmax.add(scores[i], values[i]);
    ask(values, step.values);
  }
  softmax.join(lanes);
  return softmax;
}

// An item is a row and a head. The finishers join what the warps found, in their order.
__device__ __forceinline__ void attention(const Step& step, const Feed& feed, Gate& gate, Shared* shared) {
  const int warp = threadIdx.x / WARP, finisher = (int)threadIdx.x - STREAMS * WARP, lane = threadIdx.x % WARP;
  const int size = step.num_inputs, heads = step.num_outputs, lanes = size <= 64 ? 8 : size <= 128 ? 16 : 32;
  int turn = 0;
  for (int item = first_item(step.turn); item < heads * step.num_rows; item += gridDim.x, turn ^= 1) {
    const int t = item / heads, begin = item % heads * size;
    if (!gate.open && warp < STREAMS)  // old keys and values depend on nothing: have them near
      for (int slot = threadIdx.x / 2; slot < feed.ends[t]; slot += STREAMS * WARP / 2)
        for (int d = 0; d < size; d += 128 / (int)sizeof(kept))
          bring_near((threadIdx.x % 2 ? step.keys : step.values) + feed.find(t, slot) * heads * size + begin + d);
    gate.wait();
    float(*found)[2 + MAX_HEAD] = shared->found[turn];
    if (warp < STREAMS) {
      const Softmax softmax = attend(step, feed, t, begin, lanes);
      if (lane == 0) found[warp][0] = softmax.largest, found[warp][1] = softmax.total;
#pragma unroll
      for (int j = 0; j < 8; ++j)
        if (lane < lanes) found[warp][2 + lane * 8 + j] = softmax.mixed[j];
    }
    __syncthreads();
    for (int c = finisher; finisher >= 0 && c < size; c += FINISHERS) {
      float largest = LOWEST, total = 0.0f, mixed = 0.0f;
      for (int w = 0; w < STREAMS; ++w) largest = fmaxf(largest, found[w][0]);
      for (int w = 0; w < STREAMS; ++w) {
        const float share = expf(found[w][0] - largest);
        total = fmaf(share, found[w][1], total), mixed = fmaf(share, found[w][2 + c], mixed);
      }
      step.y[(size_t)t * heads * size + begin + c] = mixed / total;
    }
  }
  gate.wait();
}
