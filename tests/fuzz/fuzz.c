#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/dev/shm/autotune-fuzz-XXXXXX"; /* in memory: a file for each input */
static char path[sizeof folder + 64];

static void remove_folder(void)
{
    char command[sizeof folder + 16];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "cannot remove '%s'\n", folder);
}

const char *fuzz_path(const char *name)
{
    static int made;
    if (!made && access("/dev/shm", W_OK) != 0)
        (void)strcpy(folder, "/tmp/autotune-fuzz-XXXXXX");
    if (!made && (mkdtemp(folder) == NULL || atexit(remove_folder) != 0))
        fuzz_fail("a scratch folder", __FILE__, __LINE__);
    made = 1;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    FUZZ_REQUIRE(length > 0 && (size_t)length < sizeof path);
    return path;
}

const char *fuzz_file(const char *name, const void *data, size_t size)
{
    (void)fuzz_path(name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_REQUIRE(file >= 0);
    FUZZ_REQUIRE(size == 0 || write(file, data, size) == (ssize_t)size);
    FUZZ_REQUIRE(close(file) == 0);
    return path;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    FUZZ_REQUIRE(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

void fuzz_fail(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}
