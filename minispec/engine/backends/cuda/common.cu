// A forward in one launch: a program of steps, gone through by as many blocks as the card has multiprocessors.
//
// Between steps all blocks wait for one another. What they wait for is the step's inputs; the weights depend on nothing,
// so every warp keeps asking for the next ones of its share, whatever step they belong to, and memory never rests.
//
// Batch-invariant by construction: a tile of outputs is one block's, whatever the number of rows or of blocks; its warps
// take fixed shares of the inputs and are added in their order. Attention goes through the slots of the cache in pieces
// that begin at fixed places. No sum of floats is atomic.

const int WARP = 32;
const int ROWS = 8;      // rows (tokens) of a tile: the 8 columns of the tensor core's
const int OUTPUTS = 16;  // outputs of a tile: its 16 rows
const int STREAMS = 8;   // warps that multiply
const int FINISHERS = 4 * WARP;                  // threads that join what the warps found: one per row and output
const int THREADS = STREAMS * WARP + FINISHERS;  // of a block
const int MAX_HEAD = 256;                        // numbers of a head
const unsigned ALL = 0xffffffffu;
const float LOWEST = -3.402823466e38f;  // stands for -infinity

// The compiler is told the formats; SLOTS and PIECE: how many pieces of weights a warp has room for, of how many tiles;
// ODD_SIZES: whether rows may have other sizes than multiples of 4 numbers, or heads than multiples of 8. Without, they
// begin at multiples of 16 bytes, and many are asked for at once.
#if MINISPEC_FLOAT16
typedef half_bits stored;   // a weight
typedef half_bits operand;  // an input on its way into a product
#else
typedef float stored;
typedef float operand;
#endif
#if KV_FLOAT16
typedef half_bits kept;  // a key, a value
#else
typedef float kept;
#endif
const int TILE_LOADS = sizeof(stored) / 2;  // 16 bytes per lane for 16 inputs x 16 outputs
const int KEPT_LOADS = sizeof(kept) / 2;    // 16 bytes for eight keys or values
const int LOOKS = 8 / sizeof(kept);         // slots of the cache that a lane looks at at once
__device__ __forceinline__ float load(half_bits v) { return half_to_float(v); }
__device__ __forceinline__ float load(float v) { return v; }
__device__ __forceinline__ void store(half_bits* to, float v) { *to = float_to_half(v); }
__device__ __forceinline__ void store(float* to, float v) { *to = v; }
const int PIECE_BYTES = PIECE * 512 * TILE_LOADS;
const int STAGED = PIECE * 16;  // inputs of a piece

enum Kind { EMBED, LINEAR, ATTENTION, KEEP };  // as in program.py

// One operation. Fields that it does not need are zero.
struct Step {
  int kind, activation, num_rows, num_inputs, num_outputs;  // ATTENTION: num_inputs is a head's size, num_outputs heads
  int turn;                                                 // the block that takes the first item
  float number;                                             // a norm's epsilon; attention's scale
  const stored* weight;
  const float* bias;  // EMBED: of the positions
  const float* x;
  const float* norm_weight;
  const float* norm_bias;
  const float* residual;
  float* y;
  kept* keys;
  kept* values;
};

// What changes from forward to forward: see Feed in backends/types.py.
struct Feed {
  const int* tokens;
  const int* positions;
  const int* slots;
  const int* ends;
  const int* pages;
  const unsigned char* visible;
  int num_pages, size;

  __device__ __forceinline__ size_t find(int t, int slot) const {
    return (size_t)pages[t * num_pages + slot / size] * size + slot % size;
  }
};

// Of a step, what one must know to ask for its weights; no items if it has none.
struct Shelf {
  const char* weight;
  int tiles, items, groups, turn;  // an item: 16 outputs of 8 rows
};

__device__ __forceinline__ int first_item(int turn) {
  return (int)blockIdx.x >= turn ? blockIdx.x - turn : blockIdx.x + gridDim.x - turn;
}

// A block's shared memory.
struct Shared {
  char pieces[STREAMS][SLOTS][PIECE_BYTES];
  operand inputs[STREAMS][ROWS][STAGED];
  float norm[STREAMS][2][STAGED];  // weight and bias for a warp's piece of the inputs
  float found[2][STREAMS][2 + MAX_HEAD];  // what a warp found: sums, or a share of attention; two, used in turn
  float sums[2][STREAMS][ROWS];
  Arrival arrivals[STREAMS][SLOTS];
  Feed feed;
  Step steps[2];  // this one and the next
  Shelf shelf[1];  // one for each step of the program
};
