#include "gpu/driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST_DRIVER = 12000 };

typedef CUresult (*get_proc_address)(const char *symbol, void **function, int version,
                                     cuuint64_t flags, CUdriverProcAddressQueryResult *status);

/* dlsym returns an object pointer, which ISO C cannot cast to a function pointer. */
static void copy_pointer(void *function, void *const *symbol)
{
    memcpy(function, symbol, sizeof *symbol);
}

static int resolve(struct driver *driver, get_proc_address get, struct error *error)
{
    static const struct {
        const char *name;
        int version;
        size_t offset;
    } functions[] = {
#define X(function, version) {#function, version, offsetof(struct driver, function)},
        DRIVER_FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = NULL;
        CUresult result = get(functions[i].name, &symbol, functions[i].version,
                              CU_GET_PROC_ADDRESS_DEFAULT, NULL);
        if (result != CUDA_SUCCESS || symbol == NULL)
            return error_set(error, ERROR_DEVICE,
                             "the driver has no '%s'; install an NVIDIA driver for CUDA 12.0 or "
                             "newer",
                             functions[i].name);
        copy_pointer((char *)driver + functions[i].offset, &symbol);
    }
    return 0;
}

static int initialise(struct driver *driver, struct error *error)
{
    int version = 0;
    int status =
        driver_check(driver, driver->cuDriverGetVersion(&version), "cuDriverGetVersion", error);
    if (status == 0 && version < OLDEST_DRIVER)
        status = error_set(error, ERROR_DEVICE,
                           "the driver is for CUDA %d.%d; install one for 12.0 or newer",
                           version / 1000, version % 1000 / 10);
    if (status == 0)
        status = driver_check(driver, driver->cuInit(0), "cuInit", error);
    return status;
}

int driver_open(struct driver *driver, struct error *error)
{
    get_proc_address get = NULL;
    *driver = (struct driver){0};
    driver->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver->library == NULL)
        return error_set(error, ERROR_DEVICE,
                         "no NVIDIA driver found (%s); --arch sm_90 reports registers and "
                         "occupancy without one",
                         dlerror());
    void *symbol = dlsym(driver->library, "cuGetProcAddress_v2");
    if (symbol == NULL)
        symbol = dlsym(driver->library, "cuGetProcAddress");
    copy_pointer(&get, &symbol);
    int status = get != NULL ? resolve(driver, get, error)
                             : error_set(error, ERROR_DEVICE,
                                         "the driver has no 'cuGetProcAddress'; install an NVIDIA "
                                         "driver for CUDA 12.0 or newer");
    if (status == 0)
        status = initialise(driver, error);
    if (status != 0)
        driver_close(driver);
    return status;
}

void driver_close(struct driver *driver)
{
    if (driver->library != NULL)
        (void)dlclose(driver->library);
    *driver = (struct driver){0};
}

bool driver_file_version(const struct driver *driver, char *version, size_t bytes)
{
    enum { OLDEST_BRANCH = 100 }; /* libcuda.so.1 and libcuda.so.1.1 name the ABI */
    struct link_map *map = NULL;
    char *path =
        dlinfo(driver->library, RTLD_DI_LINKMAP, &map) == 0 ? realpath(map->l_name, NULL) : NULL;
    const char *at = path != NULL ? strstr(strrchr(path, '/'), ".so.") : NULL;
    bool known = at != NULL && strtol(at + strlen(".so."), NULL, 10) >= OLDEST_BRANCH;
    if (known)
        (void)snprintf(version, bytes, "%s", at + strlen(".so."));
    free(path);
    return known;
}

const char *driver_error_name(const struct driver *driver, CUresult result)
{
    const char *name = NULL;
    if (driver->cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL)
        return "unknown CUDA error";
    return name;
}

int driver_check(const struct driver *driver, CUresult result, const char *call,
                 struct error *error)
{
    if (result == CUDA_SUCCESS)
        return 0;
    const char *text = NULL;
    if (driver->cuGetErrorString(result, &text) != CUDA_SUCCESS || text == NULL)
        text = "no explanation";
    return error_set(error, ERROR_DEVICE, "%s failed: %s (%s)", call,
                     driver_error_name(driver, result), text);
}
