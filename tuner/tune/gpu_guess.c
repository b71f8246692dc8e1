#include "tune/gpu_guess.h"

#include "base/alloc.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NVIDIA numbers its PCI devices by chip: these are the numbers' first two hexadecimal digits, as in
 * the PCI ID Repository (pci-ids.ucw.cz). */
static const struct {
    unsigned first;
    unsigned last;
    const char *arch;
} chips[] = {
    {0x1e, 0x1f, "sm_75"},  {0x20, 0x20, "sm_80"},  {0x21, 0x21, "sm_75"}, {0x22, 0x22, "sm_86"},
    {0x23, 0x23, "sm_90"},  {0x24, 0x25, "sm_86"},  {0x26, 0x28, "sm_89"}, {0x29, 0x29, "sm_100"},
    {0x2b, 0x2d, "sm_120"}, {0x2f, 0x2f, "sm_120"},
};

/* NULL if the chip is not known. */
static const char *arch_of(unsigned device)
{
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (device >> 8 >= chips[i].first && device >> 8 <= chips[i].last)
            return chips[i].arch;
    return NULL;
}

/* The architecture of the GPU in a slot, for example "0000:19:00.0"; NULL if it is not known. */
static const char *arch_in_slot(const char *root, const char *slot)
{
    char line[16] = "";
    char *path = alloc_format("%s/sys/bus/pci/devices/%s/device", root, slot);
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fgets(line, sizeof line, file) != NULL;
    if (file != NULL)
        (void)fclose(file); /* only read */
    free(path);
    return read ? arch_of((unsigned)strtoul(line, NULL, 16)) : NULL;
}

bool gpu_guess_arch(const char *root, char arch[GPU_GUESS_BYTES])
{
    glob_t slots;
    char *pattern = alloc_format("%s/proc/driver/nvidia/gpus/*", root);
    bool found = glob(pattern, 0, NULL, &slots) == 0;
    const char *first = NULL;
    for (size_t i = 0; found && i < slots.gl_pathc; i++) {
        const char *own = arch_in_slot(root, strrchr(slots.gl_pathv[i], '/') + 1);
        first = i == 0 ? own : first;
        found = own != NULL && strcmp(own, first) == 0;
    }
    if (found)
        (void)snprintf(arch, GPU_GUESS_BYTES, "%s", first);
    globfree(&slots);
    free(pattern);
    return found;
}
