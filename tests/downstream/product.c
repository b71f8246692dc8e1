#include "product.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 64 };

static int product_failed(const char *what)
{
    fprintf(stderr, "the product: %s\n", what);
    return 1;
}

/* C = alpha I B: each element of C has to be alpha times that of B. */
static int check_product(const struct product *product, const struct tuned_kernel *kernel,
                         const struct tuned_buffer *buffers, float *c, double alpha)
{
    const struct tuned_value scalars[] = {tuned_real("alpha", alpha), tuned_integer("beta", 0)};
    struct gpu *gpu = product->gpu;
    if (gpu->set(buffers[2].address, 0, ROWS * ROWS * sizeof *c, gpu->stream) != 0)
        return product_failed("C cannot be cleared");
    if (tuned_kernel_launch(kernel, buffers, 3, scalars, 2, gpu->stream, product->error) != 0)
        return product_failed(product->error->message);
    if (gpu->synchronise(gpu->stream) != 0 ||
        gpu->download(c, buffers[2].address, ROWS * ROWS * sizeof *c) != 0)
        return product_failed("it did not end well");
    unsigned wrong = 0;
    for (size_t i = 0; i < (size_t)ROWS * ROWS; i++)
        wrong += (double)c[i] != alpha * (double)product->numbers[i];
    printf("product with alpha=%g given at the launch: %u elements wrong\n", alpha, wrong);
    return wrong > 0;
}

static int multiply(const struct product *product, const struct tuned_kernel *kernel)
{
    static float host[ROWS * ROWS];
    struct gpu *gpu = product->gpu;
    struct tuned_buffer buffers[] = {{"a", 0}, {"b", product->b}, {"c", 0}};
    for (size_t i = 0; i < ROWS; i++)
        host[i * ROWS + i] = 1;
    int code = gpu->allocate(&buffers[0].address, sizeof host) != 0 ||
               gpu->allocate(&buffers[2].address, sizeof host) != 0 ||
               gpu->upload(buffers[0].address, host, sizeof host) != 0;
    code = code != 0 ? product_failed("no memory")
                     : check_product(product, kernel, buffers, host, 0.25) |
                           check_product(product, kernel, buffers, host, -2);
    (void)gpu->release(buffers[0].address);
    (void)gpu->release(buffers[2].address);
    return code;
}

int product_with_scalars(const struct product *product)
{
    const struct tuned_value problem[] = {tuned_integer("m", ROWS), tuned_integer("n", ROWS),
                                          tuned_integer("k", ROWS)};
    const struct tuned_query query = {
        .kernel = "sgemm", .problem = problem, .problem_count = 3, .limit = TUNED_NEAREST_SIZE};
    struct tuned_kernel *kernel;
    const struct tuned_configuration *next;
    const struct tuned_table *table = tuned_kernels_table(product->kernels);
    size_t i = 0;
    while ((next = tuned_at(table, i)) != NULL && strcmp(next->kernel, query.kernel) != 0)
        i++;
    if (next == NULL)
        return 0;
    if (tuned_kernel_get(product->kernels, &query, &kernel, product->error) != 0)
        return product_failed(product->error->message);
    int code = multiply(product, kernel);
    tuned_kernel_free(kernel);
    return code;
}
