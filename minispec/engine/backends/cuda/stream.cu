// A warp's share of all weights of the program, in the order in which it will multiply them, SLOTS pieces ahead.
struct Stream {
  Shared* shared;
  int num_steps, warp;
  int step, item, next, last;  // the piece to be asked for begins with tile `next` of the share of an item of a step
  int slot;                    // where the piece to be taken is, or will be
  unsigned parity;

  __device__ __forceinline__ void open() {
    item = first_item(shared->shelf[0].turn) - (int)gridDim.x;
    advance();
#pragma unroll 1
    for (int i = 0; i < SLOTS; ++i) ask(i);
  }

  __device__ __forceinline__ void advance() {
    while (next >= last && step < num_steps) {
      item += gridDim.x;
      while (step < num_steps && item >= shared->shelf[step].items)
        if (++step < num_steps) item = first_item(shared->shelf[step].turn);
      if (step == num_steps) return;
      const int tiles = shared->shelf[step].tiles;
      next = tiles * warp / STREAMS, last = tiles * (warp + 1) / STREAMS;
    }
  }

  __device__ __forceinline__ void ask(int into) {
    if (step == num_steps) return;
    const Shelf& from = shared->shelf[step];
    const int count = min(PIECE, last - next);
    const size_t tile = (size_t)(item / from.groups) * from.tiles + next;
    fetch(shared->pieces[warp][into], from.weight + tile * 512 * TILE_LOADS, count * 512 * TILE_LOADS,
          &shared->arrivals[warp][into]);
    next += count;
    advance();
  }

  __device__ __forceinline__ const uint4* take() {
    wait_for(&shared->arrivals[warp][slot], parity);
    return (const uint4*)shared->pieces[warp][slot];
  }

  __device__ __forceinline__ void give_back() {
    __syncwarp();  // all lanes have read it
    ask(slot);
    if (++slot == SLOTS) slot = 0, parity ^= 1;
  }
};

// Where a block waits for all others to have finished the step before. `wait` is for all threads of the block.
struct Gate {
  const unsigned* arrived;
  unsigned needed;
  bool open;

  __device__ __forceinline__ void wait() {
    if (open) return;
    open = true;
    if (threadIdx.x == STREAMS * WARP)
      for (unsigned tries = 0; needed && count_of(arrived) < needed;)
        if (++tries == PATIENCE) give_up();  // rather than hang
    __syncthreads();
  }
};
