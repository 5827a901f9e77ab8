__device__ __forceinline__ float activate(float v, int activation) {
  if (activation == 1) return 0.5f * v * (1.0f + tanhf(0.7978845608028654f * fmaf(0.044715f, v * v * v, v)));
  if (activation == 2) return 0.5f * v * (1.0f + erff(v * 0.7071067811865476f));
  if (activation == 3) return fmaxf(v, 0.0f);
  if (activation == 4) return v / (1.0f + expf(-v));
  return activation == 5 ? tanhf(v) : v;
}

// Four numbers of a row, zeros where `left` says that it has ended.
__device__ __forceinline__ float4 four(const float* from, int left) {
  if (!ODD_SIZES) return fresh((const float4*)from, left > 0);
  return make_float4(left > 0 ? fresh(from) : 0.0f, left > 1 ? fresh(from + 1) : 0.0f, left > 2 ? fresh(from + 2) : 0.0f,
                     left > 3 ? fresh(from + 3) : 0.0f);
}

// The inputs of a group of eight rows, of which a warp has its share. Lane 4 g + p has, of row g and of each tile,
// inputs 4 p to 4 p + 3.
struct Inputs {
  const Step* step;
  Shared* shared;
  int warp, first, last;  // its tiles
  float mean, scale;      // of the lane's row
  int group;              // the rows that mean and scale are of
  int held, near;         // the first tile of what `v` holds, and of what shared->norm has; -1: nothing
  float4 v[PIECE];

  __device__ __forceinline__ int input(int tile) const { return tile * 16 + threadIdx.x % 4 * 4; }

  // Ask for a piece, all of it before any is used.
  __device__ __forceinline__ void hold(int tile) {
    if (held == tile) return;
    held = tile;
    const int t = group * ROWS + threadIdx.x % WARP / 4, width = step->num_inputs;
    const int end = t < step->num_rows ? min(width, last * 16) : 0;
    const float* mine = step->x + (size_t)t * width;
#pragma unroll
    for (int j = 0; j < PIECE; ++j) v[j] = four(mine + input(tile + j), end - input(tile + j));
  }

  // Go over to another eight rows: mean and 1 / deviation of each, summed in the same order wherever it is. For all
  // threads of the block.
  __device__ __forceinline__ void turn_to(int to) {
    const int lane = threadIdx.x % WARP, width = step->num_inputs;
    group = to, held = -1, mean = 0.0f, scale = 1.0f;
    if (!step->norm_weight) return;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {  // first the sum, then that of squared distances from the mean
      float total = 0.0f;
      for (int tile = first; tile < last; tile += PIECE) {
        hold(tile);
#pragma unroll
        for (int j = 0; j < PIECE; ++j) {
          const int left = tile + j < last ? width - input(tile + j) : 0;  // behind a row's end are zeros: not to be counted
          const float a = left > 0 ? v[j].x - mean : 0.0f, b = left > 1 ? v[j].y - mean : 0.0f;
          const float c = left > 2 ? v[j].z - mean : 0.0f, d = left > 3 ? v[j].w - mean : 0.0f;
          total += pass ? fmaf(a, a, b * b) + fmaf(c, c, d * d) : (a + b) + (c + d);
        }
      }
      total += __shfl_xor_sync(ALL, total, 1);
      total += __shfl_xor_sync(ALL, total, 2);
      if (warp < STREAMS && lane % 4 == 0) shared->sums[pass][warp][lane / 4] = total;
      __syncthreads();
      total = 0.0f;
#pragma unroll
      for (int w = 0; w < STREAMS; ++w) total += shared->sums[pass][w][lane / 4];
      if (pass) scale = 1.0f / sqrtf(total / width + step->number);
      else mean = total / width;
    }
  }

  // Fetch the norm's numbers for a piece. They depend on nothing: the first may come before the gate.
  __device__ __forceinline__ void fetch_norm(int tile) {
    if (!step->norm_weight || near == tile || tile >= last) return;
    near = tile;
    for (int k = threadIdx.x % WARP * 4; k < STAGED; k += WARP * 4) {
      const int left = step->num_inputs - tile * 16 - k;
      *(float4*)&shared->norm[warp][0][k] = four(step->norm_weight + tile * 16 + k, left);
      *(float4*)&shared->norm[warp][1][k] = four(step->norm_bias + tile * 16 + k, left);
    }
  }

  // Put a piece, normalised, where the warp reads it from.
  __device__ __forceinline__ void stage(int tile) {
    hold(tile);
    fetch_norm(tile);
    const int lane = threadIdx.x % WARP;
    const bool normalise = step->norm_weight;
    operand* to = &shared->inputs[warp][lane / 4][lane % 4 * 4];
    __syncwarp();  // the norm's numbers are there
#pragma unroll
    for (int j = 0; j < PIECE; ++j) {
      float4 u = v[j];
      if (normalise) {
        const float4 w = *(const float4*)&shared->norm[warp][0][16 * j + lane % 4 * 4];
        const float4 b = *(const float4*)&shared->norm[warp][1][16 * j + lane % 4 * 4];
        u = make_float4(fmaf((u.x - mean) * scale, w.x, b.x), fmaf((u.y - mean) * scale, w.y, b.y),
                        fmaf((u.z - mean) * scale, w.z, b.z), fmaf((u.w - mean) * scale, w.w, b.w));
      }
#if MINISPEC_FLOAT16
      *(uint2*)(to + 16 * j) = make_uint2(two_halves(u.x, u.y), two_halves(u.z, u.w));
#else
      *(float4*)(to + 16 * j) = u;
#endif
    }
    __syncwarp();
  }
};

// A warp's share of a tile of 16 outputs x 8 rows: sums over the inputs of some pieces.
struct Product {
#if MINISPEC_FLOAT16
  float sum[2][4];  // of even and of odd tiles: two products under way at once

  __device__ __forceinline__ void add(const uint4* tiles, operand inputs[ROWS][STAGED], int count) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int j = 0; j < PIECE; ++j)
      if (j < count) {
        const uint2 b = *(const uint2*)&inputs[lane / 4][16 * j + lane % 4 * 4];
        multiply_tile(sum[j % 2], tiles[j * WARP + lane], b.x, b.y);
      }
  }

  __device__ __forceinline__ void put(float* found) const {  // found[output][row]
    const int lane = threadIdx.x % WARP, group = lane / 4, pair = lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; ++i) found[(group + i / 2 * 8) * ROWS + pair + i % 2] = sum[0][i] + sum[1][i];
  }
#else
  float sum[ROWS][4];  // lane 4 i + q: input i of 8, outputs 4 q to 4 q + 3

  __device__ __forceinline__ void add(const uint4* tiles, operand inputs[ROWS][STAGED], int count) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int j = 0; j < 2 * PIECE; ++j)
      if (j < 2 * count) {
        const uint4 a = tiles[j * WARP + lane];
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
          const float v = inputs[row][8 * j + lane / 4];
          sum[row][0] = fmaf(__uint_as_float(a.x), v, sum[row][0]);
          sum[row][1] = fmaf(__uint_as_float(a.y), v, sum[row][1]);
          sum[row][2] = fmaf(__uint_as_float(a.z), v, sum[row][2]);
          sum[row][3] = fmaf(__uint_as_float(a.w), v, sum[row][3]);
        }
      }
  }

  __device__ __forceinline__ void put(float* found) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int half = ROWS / 2; half > 0; half /= 2)  // lanes exchange half of the rows that they still have
#pragma unroll
      for (int i = 0; i < ROWS / 2 * 4; ++i) {
        if (i == half * 4) break;
        const bool upper = lane & half * 4;
        const float low = sum[i / 4][i % 4], high = sum[i / 4 + half][i % 4];
        sum[i / 4][i % 4] = (upper ? high : low) + __shfl_xor_sync(ALL, upper ? low : high, half * 4);
      }
#pragma unroll
    for (int i = 0; i < 4; ++i) found[(lane % 4 * 4 + i) * ROWS + lane / 4] = sum[0][i];
  }
#endif
};

// y = activation(norm(x) W + bias) + residual. With `keys`, the second and third of the outputs go into the cache.
__device__ __forceinline__ void linear(const Step& step, const Feed& feed, Gate& gate, Stream& stream, Shared* shared) {
  const int warp = threadIdx.x / WARP, finisher = (int)threadIdx.x - STREAMS * WARP;
  const int groups = (step.num_rows + ROWS - 1) / ROWS, tiles = (step.num_inputs + 15) / 16;
  const int items = groups * ((step.num_outputs + OUTPUTS - 1) / OUTPUTS);
  Inputs in;
  in.step = &step, in.shared = shared, in.warp = warp, in.group = in.held = in.near = -1;
  in.first = warp < STREAMS ? tiles * warp / STREAMS : 0, in.last = warp < STREAMS ? tiles * (warp + 1) / STREAMS : 0;
  const bool whole = in.last - in.first <= PIECE;  // the share is one piece: staged once for all items
  in.fetch_norm(in.first);
  const int mine = first_item(step.turn), later = mine + finisher * (int)gridDim.x;  // a finisher looks after an item's bias
  if (finisher >= 0 && later < items && step.bias) bring_near(step.bias + later / groups * OUTPUTS);
  gate.wait();

  for (int item = mine, turn = 0; item < items; item += gridDim.x, turn ^= 1) {
    const bool moved = item % groups != in.group;
    if (moved) in.turn_to(item % groups);
    float(*found)[2 + MAX_HEAD] = shared->found[turn];
    if (warp < STREAMS) {
      Product product = {};
      for (int tile = in.first; tile < in.last; tile += PIECE) {
        if (moved || !whole) in.stage(tile);
        product.add(stream.take(), shared->inputs[warp], min(PIECE, in.last - tile));
        stream.give_back();
      }
      product.put(found[warp]);
    }

    // A finisher's sum, what is added to it, and where it goes: the last two are asked for before the sum is there.
    const int row = finisher % ROWS, n = item / groups * OUTPUTS + finisher / ROWS, t = item % groups * ROWS + row;
    const bool writes = finisher >= 0 && t < step.num_rows && n < step.num_outputs;
    const int third = step.keys ? step.num_outputs / 3 : step.num_outputs, part = n / third, c = n % third;
    const float shift = writes && step.bias ? step.bias[n] : 0.0f;
    const float before = writes && step.residual ? fresh(step.residual + (size_t)t * step.num_outputs + n) : 0.0f;
    const size_t place = writes && part ? feed.find(t, feed.slots[t]) * third + c : 0;
    __syncthreads();
    if (!writes) continue;
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < STREAMS; ++w) total += found[w][finisher];
    total = activate(total + shift, step.activation);
    if (part == 0) step.y[(size_t)t * third + c] = step.residual ? total + before : total;
    else store((part == 1 ? step.keys : step.values) + place, total);
  }
}
