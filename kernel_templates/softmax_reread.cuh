// softmax with METHOD reread or split: rows of any length, whose elements are read twice. Most of those
// that were read last are still in L2, so the second time they are read in the opposite order.
static_assert(ROW_THREADS == BLOCK_SIZE && CLUSTER == 1, "a row, or a part of one, has a block");

#define STEP (BLOCK_SIZE * LOADS) // groups

// Of groups [begin, end) of a row; every thread returns the part of all.
__device__ __forceinline__ Part part_of_groups(const Group *row, uint32 begin, uint32 end)
{
    Part part = Join::identity();
    for (uint32 at = begin; at < end; at += STEP) {
        Elements x;
        load_elements(x, row, at + threadIdx.x, BLOCK_SIZE, end);
        const float largest = fmaxf(part.largest, largest_of(x));
        part.sum = part.sum * exp_of(part.largest - largest) + exps_of(x, largest);
        part.largest = largest;
    }
    return row_reduce<Join>(part, 0);
}

// `all` is the part of the whole row.
__device__ __forceinline__ void write_groups(const Group *row, Group *to, uint32 begin, uint32 end,
                                             Part all)
{
    const float factor = reciprocal(all.sum);
    for (uint32 step = (end - begin + STEP - 1) / STEP; step-- > 0;) {
        const uint32 first = begin + step * STEP + threadIdx.x;
        Elements x;
        load_elements(x, row, first, BLOCK_SIZE, end);
        exps_of(x, all.largest);
        scale(x, factor);
        store_elements(x, to, first, BLOCK_SIZE, end);
    }
}

#if METHOD == METHOD_REREAD

extern "C" __global__ void LAUNCH_BOUNDS softmax_reread(const Value *__restrict__ in,
                                                        Value *__restrict__ out, uint32 rows,
                                                        uint32 columns)
{
    if (blockIdx.x >= rows) {
        return;
    }
    const uint64 row = (uint64)blockIdx.x * columns;
    const uint32 groups = columns / VECTOR_WIDTH;
    const Part all = part_of_groups((const Group *)(in + row), 0, groups);
    write_groups((const Group *)(in + row), (Group *)(out + row), 0, groups, all);
}

#else

// Groups of chunk `chunk` of a row, of `chunks`. The last chunks may be empty.
struct Chunk {
    uint32 begin, end;
};

__device__ __forceinline__ Chunk chunk_of_row(uint32 chunk, uint32 chunks, uint32 columns)
{
    const uint32 groups = columns / VECTOR_WIDTH;
    const uint32 length = (groups + chunks - 1) / chunks;
    const uint64 begin = (uint64)chunk * length;
    const uint64 end = begin + length;
    return {(uint32)(begin < groups ? begin : groups), (uint32)(end < groups ? end : groups)};
}

// A block per chunk.
extern "C" __global__ void LAUNCH_BOUNDS softmax_parts(const Value *__restrict__ in, Part *parts,
                                                       uint32 rows, uint32 columns, uint32 chunks)
{
    const uint32 row = blockIdx.x / chunks;
    if (row >= rows) {
        return;
    }
    const Chunk chunk = chunk_of_row(blockIdx.x % chunks, chunks, columns);
    const Part part =
        part_of_groups((const Group *)(in + (uint64)row * columns), chunk.begin, chunk.end);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = part;
    }
}

extern "C" __global__ void LAUNCH_BOUNDS softmax_write(const Value *__restrict__ in,
                                                       Value *__restrict__ out,
                                                       const Part *__restrict__ parts, uint32 rows,
                                                       uint32 columns, uint32 chunks)
{
    const uint32 block = gridDim.x - 1 - blockIdx.x;
    const uint32 row = block / chunks;
    if (row >= rows) {
        return;
    }
    Part all = Join::identity();
    for (uint32 i = threadIdx.x; i < chunks; i += BLOCK_SIZE) {
        all = Join::combine(all, parts[(uint64)row * chunks + i]);
    }
    all = row_reduce<Join>(all, 0);
    const Chunk chunk = chunk_of_row(block % chunks, chunks, columns);
    write_groups((const Group *)(in + (uint64)row * columns),
                 (Group *)(out + (uint64)row * columns), chunk.begin, chunk.end, all);
}

#endif
