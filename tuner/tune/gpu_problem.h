/* What a problem is opened with on the GPU: the request that every new device worker gets again. */
#ifndef AUTOTUNE_GPU_PROBLEM_H
#define AUTOTUNE_GPU_PROBLEM_H

#include "template/value.h"

#include <stdbool.h>

/* Requests about variants that may be under way at once: one that runs, one that is loaded meanwhile, and
 * one that follows before the coordinator has stored the first one's result. */
enum { GPU_TRIALS = 3 };

struct template;

/* Strings and bindings are borrowed until another problem is opened. */
struct gpu_problem {
    const char *template_path;
    const struct template *template; /* another machine needs its files; NULL: not there */
    const char *template_hash; /* the template must still be the one that the coordinator read */
    const char *data_hash;     /* so must its files of arrays; NULL: any */
    const struct bindings *values;
    const struct bindings *largest; /* parameters whose buffers need the most memory; NULL: any */
    const char *support_cubin;      /* cache entry of device_kernels.cu */
    const char *reference_cubin;    /* NULL if no helper needs it */
    bool cold;                      /* empty the L2 cache before each sample */
    double launch_timeout_s;
    bool shared; /* other GPUs have it open, too, and go on if this one cannot open it again soon */
};

#endif
