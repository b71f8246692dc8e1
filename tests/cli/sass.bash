# For the tests of --sass.

templates() { # one kernel whose loads are as wide as `width` says
    mkdir -p kernel_templates
    cat >kernel_templates/widths.cu <<'CUDA'
#ifndef WIDTH
#define WIDTH 1
#endif
struct alignas(4 * WIDTH) Words {
    float word[WIDTH];
};
extern "C" __global__ void widths(const Words *in, float *out)
{
    __shared__ float last;
    Words words = in[threadIdx.x];
    float sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += words.word[i];
    if (threadIdx.x == 63)
        last = sum;
    __syncthreads();
    atomicAdd(out, last * sum);
}
CUDA
    cat >kernel_templates/widths.ini <<'INI'
[parameters]
width = 1
[launch_parameters]
blocks = 1
[buffer.in]
type = float
length = 256
access = read
fill = constant(1)
[buffer.out]
type = float
length = 1
access = read_write
fill = constant(0)
[launch.widths]
entry = widths
grid = blocks
block = 64
arguments = in, out
[expect.out]
reference = constant(64)
compare = exact
INI
    printf '[sweep]\ntemplates = kernel_templates\n[widths]\nwidth = 1, 2, 4\nblocks = 1, 2\n' >sweep.ini
}
