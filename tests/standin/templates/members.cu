/* Steps between two buffers, which a struct names. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 64
#endif

typedef unsigned long long u64;

struct pair {
    float first, second;
};

struct addends {
    const float *vectors[3]; /* null pointers add nothing */
    int weights[3];
};

union either {
    int number;
    float real;
};

/* with what a front end sees as types of their own */
struct step {
    const float *__restrict__ from;
    float *__restrict__ to;
    u64 n;
    addends plus;
    bool overrun;
    either unused[1];
};

struct no_options {
};

/* `overrun`: beyond the end of what the struct names */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    members_step(step s, no_options, float factor)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < s.n + s.overrun; i += (u64)gridDim.x * blockDim.x) {
        float sum = i < s.n ? factor * s.from[i] : 0;
        for (int k = 0; k < 3 && i < s.n; k++)
            if (s.plus.vectors[k] != nullptr)
                sum += s.plus.weights[k] * s.plus.vectors[k][i];
        s.to[i] = sum;
    }
}

extern "C" __global__ void members_reference(step s, double *reference, int steps, float factor)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < s.n; i += (u64)gridDim.x * blockDim.x) {
        double value = s.from[i];
        for (int j = 0; j < steps; j++) {
            value = factor * value;
            for (int k = 0; k < 3; k++)
                if (s.plus.vectors[k] != nullptr)
                    value += s.plus.weights[k] * s.plus.vectors[k][i];
        }
        reference[i] = value;
    }
}
