__device__ __forceinline__ void copy_step(Step& to, const Step* from) {
  const int i = (int)threadIdx.x - STREAMS * WARP - WARP;  // by finishers, but not by the one who waits at the gate
  if (i >= 0 && i < (int)(sizeof(Step) / 4)) ((unsigned*)&to)[i] = ((const unsigned*)from)[i];
}

// `arrived` is zero before and after.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
run(const Step* steps, int num_steps, const Feed* feeds, unsigned* arrived) {
  Shared* shared = (Shared*)shared_memory();
  const int warp = threadIdx.x / WARP;
  for (int i = threadIdx.x; i < num_steps; i += THREADS) {
    const Step& step = steps[i];
    const int groups = (step.num_rows + ROWS - 1) / ROWS, strips = (step.num_outputs + OUTPUTS - 1) / OUTPUTS;
    shared->shelf[i] = {(const char*)step.weight, (step.num_inputs + 15) / 16,
                        step.kind == LINEAR ? groups * strips : 0, groups, step.turn};
  }
  copy_step(shared->steps[0], steps);
  if (threadIdx.x == 0) shared->feed = *feeds;
  if ((int)threadIdx.x < STREAMS * SLOTS) prepare(&shared->arrivals[0][0] + threadIdx.x);
  __syncthreads();
  Stream stream = {shared, num_steps, warp};
  if (warp < STREAMS) stream.open();

  const Feed& feed = shared->feed;
  for (int i = 0; i < num_steps; ++i) {
    const Step& step = shared->steps[i % 2];
    copy_step(shared->steps[(i + 1) % 2], steps + min(i + 1, num_steps - 1));  // long before it is needed
    Gate gate = {arrived, i * gridDim.x, false};
    if (step.kind == LINEAR) linear(step, feed, gate, stream, shared);
    else if (step.kind == ATTENTION) attention(step, feed, gate, shared);
    else each_number(step, feed, gate);
    __syncthreads();  // the finishers have written
    if (threadIdx.x == STREAMS * WARP) {
      if (i + 1 < num_steps) count_up(arrived);
      else if (atomicAdd(arrived, 1u) + 1 == num_steps * gridDim.x) *arrived = 0;  // nobody waits any more
    }
  }
}
