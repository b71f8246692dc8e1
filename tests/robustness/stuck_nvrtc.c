/*
 * An NVRTC that never finishes a compilation and never calls back: BUILD_DIR/tests/libstuck_nvrtc.so, for
 * AUTOTUNE_NVRTC. Each compilation writes the file $STUCK_NVRTC_FILE and then waits forever.
 */
#include <fcntl.h>
#include <nvrtc.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

const char *nvrtcGetErrorString(nvrtcResult result)
{
    return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "an error";
}

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count)
{
    *count = 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *architectures)
{
    *architectures = 90;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *text, const char *name, int count,
                               const char *const *headers, const char *const *names)
{
    (void)text, (void)name, (void)count, (void)headers, (void)names;
    *program = NULL;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    (void)program;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char *const expression)
{
    (void)program, (void)expression;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
    (void)program, (void)count, (void)options;
    const char *path = getenv("STUCK_NVRTC_FILE");
    int file = open(path != NULL ? path : "/dev/null", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    (void)!write(file, "stuck\n", 6);
    (void)close(file);
    for (;;)
        (void)pause();
}

/* Never called: nothing is ever compiled. */

nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char *const expression,
                                const char **name)
{
    (void)program, (void)expression, (void)name;
    return NVRTC_ERROR_INTERNAL_ERROR;
}

#define NEVER_SIZE(function)                                                                       \
    nvrtcResult function(nvrtcProgram program, size_t *bytes)                                      \
    {                                                                                              \
        (void)program, (void)bytes;                                                                \
        return NVRTC_ERROR_INTERNAL_ERROR;                                                         \
    }
#define NEVER_BYTES(function)                                                                      \
    nvrtcResult function(nvrtcProgram program, char *bytes)                                        \
    {                                                                                              \
        (void)program, (void)bytes;                                                                \
        return NVRTC_ERROR_INTERNAL_ERROR;                                                         \
    }
NEVER_SIZE(nvrtcGetCUBINSize)
NEVER_BYTES(nvrtcGetCUBIN)
NEVER_SIZE(nvrtcGetPTXSize)
NEVER_BYTES(nvrtcGetPTX)
NEVER_SIZE(nvrtcGetProgramLogSize)
NEVER_BYTES(nvrtcGetProgramLog)
