/*
 * A stand-in for libcuda.so.1 that runs on the host: the unmodified tuner finds it through
 * LD_LIBRARY_PATH. README.md beside this file says what it models and how it is controlled; this
 * header is what its files share. One thread at a time may call it.
 *
 * A further entry point of the driver: add it to DRIVER_FUNCTIONS (tuner/gpu/driver.h), then a function in driver.c.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include "gpu/driver.h"
#include "kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Only driver.c and nvml.c export. */
#pragma GCC visibility push(hidden)

/* --- control.c: what the environment asks for --- */

enum call {
    CALL_ANY, /* counts every call */
#define X(function, version) CALL_##function,
    DRIVER_FUNCTIONS(X)
#undef X
        CALL_COUNT
};

enum fault_action { FAULT_ERROR, FAULT_HANG, FAULT_KILL, FAULT_SLEEP };

struct fault {
    enum call call;
    uint64_t first, last; /* the calls that fail, from 1 */
    enum fault_action action;
    CUresult error; /* of FAULT_ERROR */
    int64_t ms;     /* of FAULT_SLEEP */
    int device;     /* counts and concerns its calls alone; -1: those of any */
};

#define FAULTS_MAX 16
#define ENTRY_TIMES_MAX 24
#define PROCESSES_MAX 64

#define SHORTEST_NS 32.0 /* no launch takes less */

/* How long a launch takes: see clock_kernel_ns(). */
struct time_model {
    double base_ns;
    double best_block; /* threads of a block at which the launch is fastest */
    double best_grid;  /* blocks likewise */
    double steepness;  /* of the slowdown by the distance from the best, in powers of two */
    double element_ns; /* for each element that the arguments speak of */
    double noise;      /* relative standard deviation */
    double drift;      /* relative slowdown for each virtual second */
    double placement;  /* relative standard deviation over the loads of one module */
    double addresses;  /* relative standard deviation over the allocations that buffers lie in */
    double throttle_period_ms, throttle_length_ms, throttle_factor;
    uint64_t seed;
    struct {
        char entry[64];
        double base_ns;
    } entries[ENTRY_TIMES_MAX];
    size_t entry_count;
};

struct control {
    int devices;
    char name[96];
    int compute_capability;
    int sm_count;
    int64_t l2_bytes;
    int64_t memory_bytes;
    int64_t memory_taken; /* by processes that are not ours */
    int driver_version;   /* 13000 */
    char driver_build[32];
    char note[64];     /* the entry whose launches the log notes; "": none */
    enum call missing; /* not found by cuGetProcAddress; CALL_ANY: none is missing */
    bool nvml;
    int sm_clock_mhz;
    int64_t throttle_reasons;    /* bits that NVML reports while the model throttles */
    uint64_t throttled_readings; /* the first ones that say so in any case */
    unsigned processes[PROCESSES_MAX];
    size_t process_count;
    int pid_offset;
    int first_uuid;
    uint64_t unhidden; /* the first queries of events that say the work is over already */
    struct time_model time;
    struct fault faults[FAULTS_MAX];
    size_t fault_count;
    char log[4096];   /* "": none */
    char state[4096]; /* file in which calls are counted over processes; "": each counts its own */
};

/* Of this process's device, once it has chosen one; before, of none in particular. Read from
 * $AUTOTUNE_STANDIN at the first call. A wrong key or value is said on stderr and ends
 * the process: a test that controls nothing would prove nothing. */
const struct control *control(void);
const struct control *control_of(int device);

/* The process's device from now on; -1: none. Returns the one before. */
int control_choose(int device);

/* Counts and logs the call, and does what a fault asks for: returns the error, or never. */
CUresult control_call(enum call call);

/* A line "PID TEXT" of the log, if there is one: what a call asks for. */
enum { UUID_BYTES = 64 };
void control_uuid(int device, char text[UUID_BYTES]); /* "GPU-…" */
void control_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Processes with a context on the GPU, over all that share the state file: this one's use of memory
 * is noted; what the others use that are still alive, and who they are (at most `room` of them).
 */
void control_note_context(int device, size_t used_bytes);
void control_forget_context(int device);
size_t control_other_contexts(int device, size_t *used_bytes, unsigned *pids, size_t room);

/* --- clock.c: virtual time --- */

struct launch {
    const char *entry;
    uint64_t blocks;
    unsigned block_threads;
    uint64_t elements; /* the largest whole-number argument */
    uint64_t load;     /* which load of a module in this process its code is of */
    uint64_t place;    /* which allocation of this process its last buffer lies in */
};

/* Virtual nanoseconds at which everything queued so far is done. */
double clock_now_ns(void);
void clock_advance(double ns);

/*
 * The modelled duration of a launch:
 *     (base + element_ns * elements) * (1 + steepness * (log2²(threads / best_block) +
 *                                                        log2²(blocks / best_grid)))
 * times the noise (Gaussian, seeded, cut at four standard deviations), the drift and, in the last
 * throttle_length_ms of every throttle_period_ms, the throttle_factor. Draws a random number.
 */
double clock_kernel_ns(const struct time_model *model, const struct launch *launch);

/* Whether it is such a time now. */
bool clock_is_throttled(const struct time_model *model);

/* --- memory.c: device memory is host memory --- */

#define DEVICES_MAX 16

CUresult memory_allocate(int device, CUdeviceptr *address, size_t bytes);
CUresult memory_free(CUdeviceptr address);
/* True where `bytes` at `address` lie within one allocation. */
bool memory_holds(CUdeviceptr address, size_t bytes);

/* Which allocation of this process the address lies in: 1, 2, …; 0: in none. */
uint64_t memory_number(CUdeviceptr address);
/* Sets memory that it holds. */
void memory_fill(CUdeviceptr address, unsigned char byte, size_t bytes);
/* What neither this process nor another one has taken. */
size_t memory_free_bytes(int device);
/* Frees what `device` holds; -1: all. */
void memory_clear(int device);

/* --- module.c: cubins --- */

struct CUfunc_st { /* the driver's CUfunction */
    char *name;
    struct CUmod_st *module;
    const struct kernel *kernel; /* NULL: it has no host version */
    int registers;
    int static_shared_bytes;
    int local_bytes;           /* the stack, of a thread */
    int max_threads_per_block; /* the compiler's bound; 0: none */
    uint32_t cluster[3];       /* __cluster_dims__; 0: none */
    int max_dynamic_shared_bytes;
    bool large_clusters; /* of more than 8 blocks are allowed */
    bool loaded;         /* lazily: by a launch, or a question that needs it */
    struct CUfunc_st *next;
};

/* Which load of a module in this process it is: 1, 2, … */
uint64_t module_number(const struct CUmod_st *module);

/* Reads the kernels of a cubin. CUDA_ERROR_INVALID_IMAGE where it is none,
 * CUDA_ERROR_NO_BINARY_FOR_GPU where it is for another architecture. */
CUresult module_load(int device, const void *image, CUmodule *module);
CUresult module_unload(CUmodule module);
CUresult module_function(CUmodule module, const char *name, CUfunction *function);
/* The memory of a variable of the source. */
CUresult module_global(CUmodule module, const char *name, CUdeviceptr *address, size_t *bytes);
/* Copies the module's variables to those of the host's kernels, or back. */
void module_swap_globals(const struct CUmod_st *module, bool in);
/* True where the handle is of a loaded module. */
bool module_has_function(CUfunction function);
/* Threads of a block that the function allows. */
int module_function_threads(CUfunction function);
/* Blocks on an SM, by the toolkit's cuda_occupancy.h. */
CUresult module_blocks_per_sm(CUfunction function, int block_threads, size_t dynamic_shared_bytes,
                              int *blocks);
void module_clear(void);

/* Zeroed memory, or the end: the host's is not what is tested. */
void *new_zeroed(size_t bytes);

/* --- driver.c --- */

/* The error of this name; CUDA_SUCCESS: none. */
CUresult driver_error(const char *name);

/* The attributes of the modelled GPU; -1 for one that is not modelled. */
int64_t device_attribute(CUdevice_attribute attribute);

#pragma GCC visibility pop

#endif
