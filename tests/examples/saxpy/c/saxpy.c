/*
 * y = a x + y with a tuned kernel, from a bundle: nothing is compiled where it was tuned.
 *     ./saxpy BUNDLE [N]
 */
#include <autotune/tuned_kernel.h>
#include <cuda_runtime_api.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void check(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "saxpy: %s: %s\n", what, cudaGetErrorString(code));
    exit(1);
}

static void check_tuned(int status, const struct tuned_error *error)
{
    if (status == 0)
        return;
    fprintf(stderr, "saxpy: %s: %s\n", error->file, error->message);
    exit(1);
}

int main(int argc, char **argv)
{
    size_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : (size_t)1 << 20;
    float a = 3, *x, *y;
    float *host = malloc(n * sizeof *host);
    if (argc < 2 || n == 0 || host == NULL)
        return fprintf(stderr, "usage: saxpy BUNDLE [N]\n"), 2;
    check(cudaMalloc((void **)&x, n * sizeof *x), "x"); /* makes the context current, too */
    check(cudaMalloc((void **)&y, n * sizeof *y), "y");
    for (size_t i = 0; i < n; i++)
        host[i] = (float)(i % 1000);
    check(cudaMemcpy(x, host, n * sizeof *x, cudaMemcpyHostToDevice), "x");
    check(cudaMemcpy(y, host, n * sizeof *y, cudaMemcpyHostToDevice), "y");

    struct tuned_error error;
    struct tuned_kernels *kernels;
    struct tuned_kernel *kernel;
    struct tuned_value problem[] = {tuned_integer("n", (int64_t)n)};
    struct tuned_query query = {.kernel = "saxpy", .problem = problem, .problem_count = 1};
    struct tuned_buffer buffers[] = {{"x", (uintptr_t)x}, {"y", (uintptr_t)y}};
    struct tuned_value scalars[] = {tuned_real("a", a)};
    check_tuned(tuned_kernels_open(&kernels, argv[1], NULL, &error), &error);
    check_tuned(tuned_kernel_get(kernels, &query, &kernel, &error), &error);
    check_tuned(tuned_kernel_launch(kernel, buffers, 2, scalars, 1, NULL, &error), &error);
    check(cudaDeviceSynchronize(), "saxpy");

    check(cudaMemcpy(host, y, n * sizeof *y, cudaMemcpyDeviceToHost), "y");
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += host[i] != (a + 1) * (float)(i % 1000);
    printf("n = %zu: blocks of %u threads (%s, from the %s), %zu elements wrong\n", n,
           kernel->launches[0].block[0], tuned_rule_text(kernel->match.rule),
           tuned_origin_text(kernel->origin), wrong);
    tuned_kernel_free(kernel);
    tuned_kernels_close(kernels);
    cudaFree(x);
    cudaFree(y);
    free(host);
    return wrong != 0;
}
