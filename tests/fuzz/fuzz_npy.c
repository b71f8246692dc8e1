/* .npy files: an array that is accepted has all its elements. */
#include "fuzz.h"
#include "template/fill.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct npy npy;
    struct error error = {0};
    int status = npy_read(&npy, fuzz_file("array.npy", data, size), true, &error);
    FUZZ_REQUIRE(status == 0 || (status == ERROR_CONFIG && error.message[0] != '\0'));
    if (status != 0)
        return 0;
    size_t bytes = npy.count * element_bytes(npy.type);
    FUZZ_REQUIRE(bytes <= size);
    unsigned sum = 0;
    for (size_t i = 0; i < bytes; i++)
        sum += ((const unsigned char *)npy.data)[i];
    FUZZ_REQUIRE(sum <= 255 * bytes);
    npy_release(&npy);
    return 0;
}
