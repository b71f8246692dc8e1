#include "compile/nvrtc.h"

#include "base/alloc.h"
#include "base/path.h"
#include "compile/cubin_elf.h"
#include "template/compiler_option.h"

#include <dlfcn.h>
#include <nvrtc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The required NVRTC functions; 12.0 has all of them. */
#define NVRTC_FUNCTIONS(X)                                                                         \
    X(GetErrorString)                                                                              \
    X(Version)                                                                                     \
    X(GetNumSupportedArchs)                                                                        \
    X(GetSupportedArchs)                                                                           \
    X(CreateProgram)                                                                               \
    X(DestroyProgram)                                                                              \
    X(CompileProgram)                                                                              \
    X(GetCUBINSize)                                                                                \
    X(GetCUBIN)                                                                                    \
    X(GetPTXSize)                                                                                  \
    X(GetPTX)                                                                                      \
    X(GetProgramLogSize)                                                                           \
    X(GetProgramLog)

struct text_list {
    char **items;
    size_t count;
};

struct nvrtc {
    void *library;
#define X(function) __typeof__(nvrtc##function) *function;
    NVRTC_FUNCTIONS(X)
#undef X
    nvrtcResult (*SetPCHHeapSize)(size_t size); /* NULL before 12.8 */
    int major;
    char version[32];
    char *path;
    int *architectures;
    size_t architecture_count;
    struct text_list include_options; /* -I… of the CUDA and CCCL headers */
};

static void text_list_release(struct text_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct text_list){0};
}

/* --- opening --- */

enum { OLDEST_MAJOR = 12 };

static const char *const library_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

/* Library folders below a root: of a toolkit, and of NVIDIA's Python packages for CUDA 12. */
static const char *const library_folders[] = {
    "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "cuda_nvrtc/lib",
};

/* Toolkits to try, in order; unset ones are NULL. */
struct roots {
    const char *items[3];
};

static struct roots toolkit_roots(void)
{
    const char *cuda_home = getenv("CUDA_HOME");
    struct roots roots = {
        {cuda_home != NULL && cuda_home[0] != '\0' ? cuda_home : NULL, "/usr/local/cuda", NULL}};
#ifdef AUTOTUNE_CUDA_ROOT
    roots.items[2] = AUTOTUNE_CUDA_ROOT;
#endif
    return roots;
}

/* Looks up the functions. Returns the name of the first missing one, or NULL. */
static const char *bind_functions(struct nvrtc *nvrtc)
{
    void *symbol = NULL;
#define X(function)                                                                                \
    symbol = dlsym(nvrtc->library, "nvrtc" #function);                                             \
    if (symbol == NULL)                                                                            \
        return "nvrtc" #function;                                                                  \
    memcpy(&nvrtc->function, &symbol, sizeof symbol); /* ISO C cannot cast this */
    NVRTC_FUNCTIONS(X)
#undef X
    symbol = dlsym(nvrtc->library, "nvrtcSetPCHHeapSize");
    memcpy(&nvrtc->SetPCHHeapSize, &symbol, sizeof symbol);
    return NULL;
}

static bool read_architectures(struct nvrtc *nvrtc)
{
    int count = 0;
    if (nvrtc->GetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0)
        return false;
    nvrtc->architecture_count = (size_t)count;
    nvrtc->architectures = alloc_zeroed(nvrtc->architecture_count, sizeof *nvrtc->architectures);
    return nvrtc->GetSupportedArchs(nvrtc->architectures) == NVRTC_SUCCESS;
}

/*
 * Opens `file`: a path, or a name for the dynamic linker to find. On failure closes everything and
 * sets *reason to a new string.
 */
static bool open_library(struct nvrtc *nvrtc, const char *file, char **reason)
{
    char *path = strchr(file, '/') != NULL ? realpath(file, NULL) : NULL;
    *nvrtc = (struct nvrtc){.library = dlopen(path != NULL ? path : file, RTLD_NOW | RTLD_LOCAL)};
    free(path);
    if (nvrtc->library == NULL) {
        *reason = alloc_string(dlerror());
        return false;
    }
    int minor = 0;
    const char *missing = bind_functions(nvrtc);
    if (missing != NULL)
        *reason = alloc_format("'%s' has no %s", file, missing);
    else if (nvrtc->Version(&nvrtc->major, &minor) != NVRTC_SUCCESS || !read_architectures(nvrtc))
        *reason = alloc_format("'%s' does not report its version", file);
    else if (nvrtc->major < OLDEST_MAJOR)
        *reason = alloc_format("'%s' is version %d.%d", file, nvrtc->major, minor);
    if (*reason != NULL) {
        free(nvrtc->architectures);
        (void)dlclose(nvrtc->library);
        return false;
    }
    (void)snprintf(nvrtc->version, sizeof nvrtc->version, "%d.%d", nvrtc->major, minor);
    return true;
}

/* Tries each library name with the dynamic linker, then below each root. If a library exists but
 * cannot be used, sets *reason. */
static bool search_library(struct nvrtc *nvrtc, char **reason)
{
    size_t name_count = sizeof library_names / sizeof *library_names;
    char *refusal = NULL;
    for (size_t i = 0; i < name_count; i++, free(refusal), refusal = NULL)
        if (open_library(nvrtc, library_names[i], &refusal))
            return true;

    struct roots roots = toolkit_roots();
    size_t folder_count = sizeof library_folders / sizeof *library_folders;
    size_t root_count = sizeof roots.items / sizeof *roots.items;
    for (size_t i = 0; i < root_count * folder_count * name_count; i++) {
        const char *root = roots.items[i / (folder_count * name_count)];
        if (root == NULL)
            continue;
        char *file = alloc_format("%s/%s/%s", root, library_folders[i / name_count % folder_count],
                                  library_names[i % name_count]);
        bool opened = access(file, F_OK) == 0 && open_library(nvrtc, file, &refusal);
        free(file);
        if (opened)
            return true;
        if (refusal != NULL) {
            free(*reason);
            *reason = refusal;
            refusal = NULL;
        }
    }
    return false;
}

static int not_found(const char *reason, struct error *error)
{
    struct roots roots = toolkit_roots();
    const char *built = roots.items[2];
    return error_set(
        error, ERROR_DEVICE,
        "no NVRTC %d.0 or newer on the linker's path, in $CUDA_HOME (%s), %s%s%s%s%s%s; "
        "install the CUDA Toolkit, run ./bootstrap.sh, or set AUTOTUNE_NVRTC to the "
        "path of libnvrtc.so",
        OLDEST_MAJOR, roots.items[0] != NULL ? roots.items[0] : "not set", roots.items[1],
        built != NULL ? ", " : "", built != NULL ? built : "", reason != NULL ? " (" : "",
        reason != NULL ? reason : "", reason != NULL ? ")" : "");
}

/* --- header folders --- */

/* Adds -IFOLDER and returns true if FOLDER/MARKER exists. */
static bool add_folder(struct nvrtc *nvrtc, const char *base, const char *below, const char *marker)
{
    char *joined = alloc_format("%s/%s/%s", base, below, marker);
    bool exists = access(joined, R_OK) == 0;
    if (exists) {
        joined[strlen(joined) - strlen(marker) - 1] = '\0';
        char *folder = realpath(joined, NULL);
        *ARRAY_APPEND(nvrtc->include_options.items, nvrtc->include_options.count) =
            alloc_format("-I%s", folder != NULL ? folder : joined);
        free(folder);
    }
    free(joined);
    return exists;
}

static bool add_first_folder(struct nvrtc *nvrtc, const char *base, const char *const *below,
                             const char *marker)
{
    for (; *below != NULL; below++)
        if (add_folder(nvrtc, base, *below, marker))
            return true;
    return false;
}

/* Finds the headers installed with the library, or else those of any toolkit. */
static void find_headers(struct nvrtc *nvrtc)
{
    /* Relative to the library's folder: a toolkit or the Python packages for CUDA 13; the Python
     * packages for CUDA 12; a distribution's /usr/lib/MACHINE. */
    static const char *const beside[] = {"../include", "../../cuda_runtime/include",
                                         "../../include", NULL};
    static const char *const beside_cccl[] = {"../include/cccl", "../include",
                                              "../../cuda_cccl/include", "../../include", NULL};
    static const char *const in_root[] = {"include", NULL};
    static const char *const in_root_cccl[] = {"include/cccl", "include", NULL};
    static const char cuda_marker[] = "cooperative_groups.h";
    static const char cccl_marker[] = "cuda/std/version";

    char *folder = path_folder(nvrtc->path);
    bool cuda = add_first_folder(nvrtc, folder, beside, cuda_marker);
    bool cccl = add_first_folder(nvrtc, folder, beside_cccl, cccl_marker);
    free(folder);
    struct roots roots = toolkit_roots();
    for (size_t i = 0; i < sizeof roots.items / sizeof *roots.items; i++) {
        const char *root = roots.items[i];
        if (root == NULL)
            continue;
        cuda = cuda || add_first_folder(nvrtc, root, in_root, cuda_marker);
        cccl = cccl || add_first_folder(nvrtc, root, in_root_cccl, cccl_marker);
    }
}

/* The real path of the loaded library; free it. */
static char *library_path(const struct nvrtc *nvrtc)
{
    Dl_info information;
    void *symbol = dlsym(nvrtc->library, "nvrtcVersion");
    if (symbol == NULL || dladdr(symbol, &information) == 0 || information.dli_fname == NULL)
        return alloc_string("/libnvrtc.so");
    char *path = realpath(information.dli_fname, NULL);
    return path != NULL ? path : alloc_format("/%s", information.dli_fname);
}

/*
 * NVRTC opens libnvrtc-builtins by its bare name, which the dynamic linker can find for an
 * installed toolkit but not for Python packages. So load it by its path first, from NVRTC's own
 * folder. If it is not there, leave it to NVRTC.
 */
static void open_builtins(const struct nvrtc *nvrtc)
{
    char *name = alloc_format("libnvrtc-builtins.so.%s", nvrtc->version);
    char *file = path_beside(nvrtc->path, name);
    (void)dlopen(file, RTLD_NOW | RTLD_LOCAL); /* never closed, like NVRTC itself */
    free(file);
    free(name);
}

int nvrtc_open(struct nvrtc **nvrtc, struct error *error)
{
    const char *wanted = getenv("AUTOTUNE_NVRTC");
    char *reason = NULL;
    struct nvrtc opened = {0};
    int status = 0;
    *nvrtc = NULL;
    if (wanted != NULL && wanted[0] != '\0') {
        if (!open_library(&opened, wanted, &reason))
            status = error_set(error, ERROR_DEVICE,
                               "AUTOTUNE_NVRTC is '%s', which is not NVRTC %d.0 or newer: %s; set "
                               "it to the path of libnvrtc.so, or unset it",
                               wanted, OLDEST_MAJOR, reason != NULL ? reason : "unknown reason");
    } else if (!search_library(&opened, &reason)) {
        status = not_found(reason, error);
    }
    free(reason);
    if (status != 0)
        return status;

    *nvrtc = alloc_zeroed(1, sizeof **nvrtc);
    **nvrtc = opened;
    (*nvrtc)->path = library_path(*nvrtc);
    open_builtins(*nvrtc);
    find_headers(*nvrtc);
    return 0;
}

void nvrtc_close(struct nvrtc *nvrtc)
{
    if (nvrtc == NULL)
        return;
    /* Do not unload the library: that leaks the memory of its C++ runtime. */
    text_list_release(&nvrtc->include_options);
    free(nvrtc->architectures);
    free(nvrtc->path);
    free(nvrtc);
}

const char *nvrtc_version(const struct nvrtc *nvrtc)
{
    return nvrtc->version;
}

const char *nvrtc_path(const struct nvrtc *nvrtc)
{
    return nvrtc->path;
}

const int *nvrtc_architectures(const struct nvrtc *nvrtc, size_t *count)
{
    *count = nvrtc->architecture_count;
    return nvrtc->architectures;
}

/* --- compiling --- */

/* True for "sm_90", "sm_90a" or "sm_90f" if the compiler supports 90. */
static bool knows_architecture(const struct nvrtc *nvrtc, const char *arch)
{
    for (size_t i = 0; i < nvrtc->architecture_count; i++) {
        char known[32];
        int length = snprintf(known, sizeof known, "sm_%d", nvrtc->architectures[i]);
        if (length < 0 || strncmp(arch, known, (size_t)length) != 0)
            continue;
        const char *suffix = arch + length;
        if (strcmp(suffix, "") == 0 || strcmp(suffix, "a") == 0 || strcmp(suffix, "f") == 0)
            return true;
    }
    return false;
}

static int unknown_architecture(const struct nvrtc *nvrtc, const char *arch, struct error *error)
{
    char *known = alloc_string("");
    for (size_t i = 0; i < nvrtc->architecture_count; i++) {
        char *longer = alloc_format("%s%ssm_%d", known, i > 0 ? ", " : "", nvrtc->architectures[i]);
        free(known);
        known = longer;
    }
    int status = error_set(error, ERROR_USAGE, "NVRTC %s does not support '%s'; it supports %s",
                           nvrtc->version, arch, known);
    free(known);
    return status;
}

/* --- features of one architecture --- */

enum { FIRST_WITH_FEATURES = 90 };

/* `arch` with the suffix that an option asks for, unless it has one: "sm_90a". Free it. */
static char *full_arch(const char *arch, const char *const *options, size_t option_count)
{
    bool wanted = false;
    for (size_t i = 0; i < option_count; i++)
        wanted = wanted || strcmp(options[i], COMPILER_OPTION_ARCHITECTURE_FEATURES) == 0;
    bool has_suffix = arch[0] != '\0' && strchr("af", arch[strlen(arch) - 1]) != NULL;
    return alloc_format("%s%s", arch, wanted && !has_suffix ? "a" : "");
}

/* A new string, as the compiler would say it; NULL if the architecture has the features. */
static char *refuse_features(const char *arch)
{
    const char *digits = arch + strcspn(arch, "0123456789");
    size_t digit_count = strspn(digits, "0123456789");
    if (digits[digit_count] == '\0' || strtol(digits, NULL, 10) >= FIRST_WITH_FEATURES)
        return NULL;
    return alloc_format("error: 'features = architecture' needs compute capability 9.0 or newer, "
                        "not %.*s",
                        (int)(digits + digit_count - arch), arch);
}

static struct text_list all_options(const struct nvrtc *nvrtc, const char *arch, bool verbose,
                                    const char *const *options, size_t option_count)
{
    struct text_list list = {0};
    bool standard_given = false;
    *ARRAY_APPEND(list.items, list.count) = alloc_format("-arch=%s", arch);
    for (size_t i = 0; i < option_count; i++) {
        if (strcmp(options[i], COMPILER_OPTION_ARCHITECTURE_FEATURES) == 0)
            continue;
        *ARRAY_APPEND(list.items, list.count) = alloc_string(options[i]);
        if (strncmp(options[i], "-std", 4) == 0 || strncmp(options[i], "--std", 5) == 0)
            standard_given = true;
    }
    if (!standard_given)
        *ARRAY_APPEND(list.items, list.count) = alloc_string("-std=c++17");
    if (verbose)
        *ARRAY_APPEND(list.items, list.count) = alloc_string("--ptxas-options=-v");
    if (nvrtc->major >= 13) /* a result from the driver's cache has no log */
        *ARRAY_APPEND(list.items, list.count) = alloc_string("--no-cache");
    for (size_t i = 0; i < nvrtc->include_options.count; i++)
        *ARRAY_APPEND(list.items, list.count) = alloc_string(nvrtc->include_options.items[i]);
    return list;
}

/* The compiler's log, or ""; free it. */
static char *read_log(const struct nvrtc *nvrtc, nvrtcProgram program)
{
    size_t bytes = 0;
    if (nvrtc->GetProgramLogSize(program, &bytes) != NVRTC_SUCCESS)
        return alloc_string("");
    char *log = alloc_zeroed(bytes + 1, 1);
    if (nvrtc->GetProgramLog(program, log) != NVRTC_SUCCESS)
        log[0] = '\0';
    return log;
}

static int failed(const struct nvrtc *nvrtc, const char *call, nvrtcResult result, const char *name,
                  const char *log, struct error *error)
{
    return error_set(error, ERROR_WORKER,
                     "%s failed for '%s' with %s; check the installation of "
                     "NVRTC %s, '%s'%s%s",
                     call, name, nvrtc->GetErrorString(result), nvrtc->version, nvrtc->path,
                     log[0] != '\0' ? ": " : "", log);
}

static int read_cubin(const struct nvrtc *nvrtc, nvrtcProgram program, const char *name,
                      struct compilation *compilation, struct error *error)
{
    size_t bytes = 0;
    nvrtcResult result = nvrtc->GetCUBINSize(program, &bytes);
    if (result != NVRTC_SUCCESS || bytes == 0)
        return failed(nvrtc, "nvrtcGetCUBINSize", result, name, "", error);
    void *cubin = alloc_zeroed(bytes, 1);
    result = nvrtc->GetCUBIN(program, cubin);
    if (result != NVRTC_SUCCESS) {
        free(cubin);
        return failed(nvrtc, "nvrtcGetCUBIN", result, name, "", error);
    }
    compilation->cubin = cubin;
    compilation->cubin_bytes = bytes;
    return 0;
}

/* Runs the compiler once. Returns 0 with a log, and with a cubin if the source compiled. */
static int compile_once(const struct nvrtc *nvrtc, const char *name, const char *text,
                        const struct text_list *options, struct compilation *compilation,
                        struct error *error)
{
    nvrtcProgram program = NULL;
    nvrtcResult result = nvrtc->CreateProgram(&program, text, name, 0, NULL, NULL);
    if (result != NVRTC_SUCCESS)
        return failed(nvrtc, "nvrtcCreateProgram", result, name, "", error);
    result =
        nvrtc->CompileProgram(program, (int)options->count, (const char *const *)options->items);
    compilation->log = read_log(nvrtc, program);
    int status = 0;
    if (result == NVRTC_SUCCESS)
        status = read_cubin(nvrtc, program, name, compilation, error);
    else if (result != NVRTC_ERROR_COMPILATION && result != NVRTC_ERROR_INVALID_OPTION)
        status = failed(nvrtc, "nvrtcCompileProgram", result, name, compilation->log, error);
    (void)nvrtc->DestroyProgram(&program);
    return status;
}

static int read_ptx(const struct nvrtc *nvrtc, nvrtcProgram program, const char *name, char **ptx,
                    struct error *error)
{
    size_t bytes = 0;
    nvrtcResult result = nvrtc->GetPTXSize(program, &bytes);
    if (result != NVRTC_SUCCESS || bytes == 0)
        return failed(nvrtc, "nvrtcGetPTXSize", result, name, "", error);
    *ptx = alloc_zeroed(bytes + 1, 1);
    result = nvrtc->GetPTX(program, *ptx);
    if (result == NVRTC_SUCCESS)
        return 0;
    free(*ptx);
    *ptx = NULL;
    return failed(nvrtc, "nvrtcGetPTX", result, name, "", error);
}

int nvrtc_compile_ptx(struct nvrtc *nvrtc, const char *name, const char *text, const char *arch,
                      const char *const *options, size_t option_count, char **ptx,
                      struct error *error)
{
    nvrtcProgram program = NULL;
    *ptx = NULL;
    if (!knows_architecture(nvrtc, arch))
        return unknown_architecture(nvrtc, arch, error);
    char *full = full_arch(arch, options, option_count);
    struct text_list list = all_options(nvrtc, full, false, options, option_count);
    char *refusal = refuse_features(full);
    free(full);
    if (refusal != NULL) {
        int status = error_set(error, ERROR_CONFIG, "%s", refusal);
        free(refusal);
        text_list_release(&list);
        return status;
    }
    nvrtcResult result = nvrtc->CreateProgram(&program, text, name, 0, NULL, NULL);
    if (result != NVRTC_SUCCESS) {
        text_list_release(&list);
        return failed(nvrtc, "nvrtcCreateProgram", result, name, "", error);
    }
    result = nvrtc->CompileProgram(program, (int)list.count, (const char *const *)list.items);
    text_list_release(&list);
    int status = 0;
    if (result == NVRTC_SUCCESS) {
        status = read_ptx(nvrtc, program, name, ptx, error);
    } else {
        char *log = read_log(nvrtc, program);
        status = failed(nvrtc, "nvrtcCompileProgram", result, name, log, error);
        free(log);
    }
    (void)nvrtc->DestroyProgram(&program);
    return status;
}

static bool explains_refusal(const char *log)
{
    return strstr(log, "error") != NULL || strstr(log, "fatal") != NULL;
}

/* Compiles for exactly `arch`. */
static int compile_for(const struct nvrtc *nvrtc, const char *name, const char *text,
                       const char *arch, const char *const *options, size_t option_count,
                       struct compilation *compilation, struct error *error)
{
    char *refusal = refuse_features(arch);
    if (refusal != NULL) {
        compilation->log = refusal;
        return 0;
    }
    struct text_list list = all_options(nvrtc, arch, true, options, option_count);
    int status = compile_once(nvrtc, name, text, &list, compilation, error);
    text_list_release(&list);

    if (status == 0 && compilation->cubin == NULL && !explains_refusal(compilation->log)) {
        /* With -v, ptxas does not say that a kernel has too much shared memory: try without. */
        compilation_release(compilation);
        list = all_options(nvrtc, arch, false, options, option_count);
        status = compile_once(nvrtc, name, text, &list, compilation, error);
        text_list_release(&list);
    }
    if (status != 0)
        return status;
    if (compilation->cubin != NULL)
        nvrtc_parse_log(compilation->log, &compilation->kernels, &compilation->kernel_count);
    for (size_t i = 0; i < compilation->kernel_count; i++) {
        struct compiled_kernel *kernel = &compilation->kernels[i];
        kernel->max_threads_per_block =
            cubin_elf_max_threads(compilation->cubin, compilation->cubin_bytes, kernel->entry);
    }
    nvrtc_strip_log(compilation->log);
    return 0;
}

int nvrtc_compile(struct nvrtc *nvrtc, const char *name, const char *text, const char *arch,
                  const char *const *options, size_t option_count, struct compilation *compilation,
                  struct error *error)
{
    *compilation = (struct compilation){0};
    if (!knows_architecture(nvrtc, arch))
        return unknown_architecture(nvrtc, arch, error);
    char *full = full_arch(arch, options, option_count);
    int status = compile_for(nvrtc, name, text, full, options, option_count, compilation, error);
    free(full);
    return status;
}

bool nvrtc_reserve_precompiled(struct nvrtc *nvrtc, size_t bytes)
{
    return nvrtc->SetPCHHeapSize != NULL && nvrtc->SetPCHHeapSize(bytes) == NVRTC_SUCCESS;
}
