// Reports the order in which threads, warps and blocks of kernel_templates/thread_order.cu drew
// their numbers on this GPU. Build and run:
//   nvcc -I kernel_templates -o build/thread_order tests/bench/order_report.cu &&
//   build/thread_order
#include "../../kernel_templates/thread_order.cu"

#include <cstdio>
#include <vector>

static const uint32 BLOCKS = 1024;
static const uint32 COUNT = BLOCKS * BLOCK_SIZE;

// How often a unit drew a number right after a later unit; `size` is the threads per unit.
static uint32 steps_back(const std::vector<uint32> &order, uint32 size)
{
    uint32 back = 0;
    for (size_t i = 1; i < order.size(); i++) {
        back += order[i] / size < order[i - 1] / size;
    }
    return back;
}

// How often the same unit drew two consecutive numbers.
static uint32 stays(const std::vector<uint32> &order, uint32 size)
{
    uint32 same = 0;
    for (size_t i = 1; i < order.size(); i++) {
        same += order[i] / size == order[i - 1] / size;
    }
    return same;
}

int main()
{
    uint32 *drawn = nullptr;
    uint32 *order = nullptr;
    std::vector<uint32> seen(COUNT);
    cudaMalloc(&drawn, sizeof *drawn);
    cudaMalloc(&order, COUNT * sizeof *order);
    thread_order_clear<<<1, 1>>>(drawn);
    thread_order<<<BLOCKS, BLOCK_SIZE>>>(COUNT, drawn, order);
    cudaMemcpy(seen.data(), order, COUNT * sizeof *order, cudaMemcpyDeviceToHost);
    const cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) {
        fprintf(stderr, "order_report: %s\n", cudaGetErrorString(status));
        return 3;
    }
    printf("%u threads in %u blocks of %u drew numbers; of the %u steps from one to the next\n",
           COUNT, BLOCKS, BLOCK_SIZE, COUNT - 1);
    printf("  %8u went back to an earlier block, %u stayed in the block\n",
           steps_back(seen, BLOCK_SIZE), stays(seen, BLOCK_SIZE));
    printf("  %8u went back to an earlier warp, %u stayed in the warp\n",
           steps_back(seen, WARP_SIZE), stays(seen, WARP_SIZE));
    printf("  %8u went back to an earlier thread\n", steps_back(seen, 1));
    printf("first blocks:");
    for (uint32 i = 0, block = COUNT, shown = 0; i < COUNT && shown < 16; i++) {
        if (seen[i] / BLOCK_SIZE != block) {
            block = seen[i] / BLOCK_SIZE;
            printf(" %u", block);
            shown++;
        }
    }
    printf("\nfirst warps:");
    for (uint32 i = 0, shown = 0; i < COUNT && shown < 16; i += WARP_SIZE, shown++) {
        printf(" %u.%u", seen[i] / BLOCK_SIZE, seen[i] % BLOCK_SIZE / WARP_SIZE);
    }
    printf("\nfirst lanes:");
    for (uint32 i = 0; i < 16; i++) {
        printf(" %u", seen[i] % WARP_SIZE);
    }
    printf("\n");
    return 0;
}
