#include "compile/nvrtc_library.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/read_file.h"
#include "compile/cubin_elf.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As nvJitLink.h declares them; not every toolkit has that header. */
typedef struct nvJitLink *link_handle;
enum { LINK_SUCCESS = 0, LINK_INPUT_CUBIN = 1 };

/* X(name behind "nvJitLink", its parameters) */
#define LINK_FUNCTIONS(X)                                                                          \
    X(Create, (link_handle * handle, uint32_t option_count, const char **options))                 \
    X(Destroy, (link_handle * handle))                                                             \
    X(AddData, (link_handle handle, int type, const void *data, size_t bytes, const char *name))   \
    X(Complete, (link_handle handle))                                                              \
    X(GetLinkedCubinSize, (link_handle handle, size_t * bytes))                                    \
    X(GetLinkedCubin, (link_handle handle, void *cubin))                                           \
    X(GetErrorLogSize, (link_handle handle, size_t * bytes))                                       \
    X(GetErrorLog, (link_handle handle, char *log))                                                \
    X(GetInfoLogSize, (link_handle handle, size_t * bytes))                                        \
    X(GetInfoLog, (link_handle handle, char *log))

struct linker {
    void *library;
    char *path;
    bool counts_reserved;
#define X(function, parameters) int(*function) parameters;
    LINK_FUNCTIONS(X)
#undef X
};

/* --- opening --- */

/* Older libraries export nvJitLinkCreate only as __nvJitLinkCreate_12_0. */
static void *find_function(void *library, const char *name, const char *version)
{
    char *plain = alloc_format("nvJitLink%s", name);
    char *versioned = alloc_format("__nvJitLink%s_%s", name, version);
    char *point = strrchr(versioned, '.');
    if (point != NULL)
        *point = '_';
    void *symbol = dlsym(library, plain);
    if (symbol == NULL)
        symbol = dlsym(library, versioned);
    free(plain);
    free(versioned);
    return symbol;
}

static bool bind_functions(struct linker *linker, const char *version)
{
    void *symbol = NULL;
    bool found = true;
#define X(function, parameters)                                                                    \
    symbol = find_function(linker->library, #function, version);                                   \
    found = found && symbol != NULL;                                                               \
    memcpy(&linker->function, &symbol, sizeof symbol); /* ISO C cannot cast this */
    LINK_FUNCTIONS(X)
#undef X
    return found;
}

/* Of its own: it may be newer than NVRTC. */
static bool is_13_0(void *library)
{
    int (*get_version)(unsigned *major, unsigned *minor);
    unsigned major = 0;
    unsigned minor = 0;
    void *symbol = dlsym(library, "nvJitLinkVersion"); /* since 12.4 */
    memcpy(&get_version, &symbol, sizeof symbol);
    return symbol != NULL && get_version(&major, &minor) == LINK_SUCCESS && major == 13 &&
           minor == 0;
}

char *linker_find(const char *nvrtc_path, const char *version)
{
    /* relative to NVRTC's folder: a toolkit, and NVIDIA's Python packages for CUDA 12 */
    static const char *const folders[] = {".", "../../nvjitlink/lib"};
    char *folder = path_folder(nvrtc_path);
    char *path = NULL;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && path == NULL; i++) {
        path = alloc_format("%s/%s/libnvJitLink.so.%.*s", folder, folders[i],
                            (int)strcspn(version, "."), version);
        if (access(path, F_OK) != 0 || open_regular_refuses(path)) {
            free(path);
            path = NULL;
        }
    }
    free(folder);
    return path;
}

static int not_found(const char *nvrtc_path, const char *version, struct error *error)
{
    char *folder = path_folder(nvrtc_path);
    int status = error_set(error, ERROR_DEVICE,
                           "a source of several files needs nvJitLink, and libnvJitLink.so.%.*s is "
                           "not in '%s', beside NVRTC; install the CUDA Toolkit's nvJitLink, or "
                           "#include the files in one source",
                           (int)strcspn(version, "."), version, folder);
    free(folder);
    return status;
}

int linker_open(struct linker **linker, const char *nvrtc_path, const char *version,
                struct error *error)
{
    struct linker opened = {.path = linker_find(nvrtc_path, version)};
    *linker = NULL;
    if (opened.path != NULL)
        opened.library = dlopen(opened.path, RTLD_NOW | RTLD_LOCAL);
    if (opened.library == NULL || !bind_functions(&opened, version)) {
        free(opened.path);
        return not_found(nvrtc_path, version, error);
    }
    opened.counts_reserved = is_13_0(opened.library);
    *linker = alloc_zeroed(1, sizeof **linker);
    **linker = opened;
    return 0;
}

void linker_close(struct linker *linker)
{
    if (linker == NULL)
        return;
    free(linker->path); /* the library stays, as NVRTC does */
    free(linker);
}

bool linker_counts_reserved(const struct linker *linker)
{
    return linker != NULL && linker->counts_reserved;
}

/* --- linking --- */

/* Appends one of the linker's logs to the compilation's. */
static void append_log(link_handle handle, int (*get_size)(link_handle, size_t *),
                       int (*get)(link_handle, char *), struct compilation *compilation)
{
    size_t bytes = 0;
    if (get_size(handle, &bytes) != LINK_SUCCESS || bytes == 0)
        return;
    char *log = alloc_zeroed(bytes + 1, 1);
    if (get(handle, log) == LINK_SUCCESS)
        alloc_append(&compilation->log, "%s", log);
    free(log);
}

static int failed(const struct linker *linker, const char *call, int result, struct error *error)
{
    return error_set(error, ERROR_WORKER,
                     "nvJitLink%s failed with error %d; check the installation of '%s'", call,
                     result, linker->path);
}

static int take_cubin(const struct linker *linker, link_handle handle,
                      struct compilation *compilation, struct error *error)
{
    size_t bytes = 0;
    int result = linker->GetLinkedCubinSize(handle, &bytes);
    if (result != LINK_SUCCESS || bytes == 0)
        return failed(linker, "GetLinkedCubinSize", result, error);
    compilation->cubin = alloc_zeroed(bytes, 1);
    compilation->cubin_bytes = bytes;
    result = linker->GetLinkedCubin(handle, compilation->cubin);
    if (result == LINK_SUCCESS)
        return 0;
    free(compilation->cubin);
    compilation->cubin = NULL;
    compilation->cubin_bytes = 0;
    return failed(linker, "GetLinkedCubin", result, error);
}

/* nvJitLink 13.0 writes that a symbol has two definitions to standard error, and takes one. Returns
 * true, with a message in the log, if that would happen. */
static bool has_two_definitions(const struct linker_input *inputs, size_t count,
                                struct compilation *compilation)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            const char *symbol = cubin_elf_common_symbol(inputs[i].cubin, inputs[i].bytes,
                                                         inputs[j].cubin, inputs[j].bytes);
            if (symbol == NULL)
                continue;
            alloc_append(&compilation->log, "error: '%s' is defined in '%s' and in '%s'\n", symbol,
                         inputs[j].name, inputs[i].name);
            return true;
        }
    return false;
}

static int link_inputs(const struct linker *linker, link_handle handle,
                       const struct linker_input *inputs, size_t count,
                       struct compilation *compilation, struct error *error)
{
    int result = LINK_SUCCESS;
    for (size_t i = 0; i < count && result == LINK_SUCCESS; i++)
        result = linker->AddData(handle, LINK_INPUT_CUBIN, inputs[i].cubin, inputs[i].bytes,
                                 inputs[i].name);
    if (result == LINK_SUCCESS)
        result = linker->Complete(handle);
    append_log(handle, linker->GetErrorLogSize, linker->GetErrorLog, compilation);
    append_log(handle, linker->GetInfoLogSize, linker->GetInfoLog, compilation);
    return result == LINK_SUCCESS ? take_cubin(linker, handle, compilation, error) : 0;
}

int linker_link(struct linker *linker, const char *arch, const struct linker_input *inputs,
                size_t count, struct compilation *compilation, struct error *error)
{
    link_handle handle = NULL;
    if (has_two_definitions(inputs, count, compilation))
        return 0;
    char *target = alloc_format("-arch=%s", arch);
    const char *options[] = {target, "-verbose"};
    int result = linker->Create(&handle, sizeof options / sizeof *options, options);
    free(target);
    if (result != LINK_SUCCESS)
        return failed(linker, "Create", result, error);
    int status = link_inputs(linker, handle, inputs, count, compilation, error);
    (void)linker->Destroy(&handle);
    return status;
}
