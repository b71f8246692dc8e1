#include "base/file_system.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/path.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>

enum { FUSE = 0x65735546 };

/* statfs(2), linux/magic.h, and those that the GNU coreutils list as remote (src/stat.c). */
static const struct {
    unsigned long type;
    const char *name;
} types[] = {
    {0x6969, "NFS"},          {0xff534d42, "SMB"},   {0xfe534d42, "SMB"},    {0x517b, "SMB"},
    {0x0bd00bd0, "Lustre"},   {0x47504653, "GPFS"},  {0x19830326, "BeeGFS"}, {0x00c36400, "Ceph"},
    {0x01021997, "9P"},       {0x5346414f, "AFS"},   {0x6b414653, "AFS"},    {0x73757245, "Coda"},
    {0x20030528, "OrangeFS"}, {0xaad7aaea, "PanFS"}, {0x01161970, "GFS2"},   {0x7461636f, "OCFS2"},
};

/* Types of FUSE that are served over a network. */
static const char *const fuse_types[] = {
    "fuse.sshfs",     "fuse.glusterfs", "fuse.ceph",     "fuse.ceph-fuse", "fuse.juicefs",
    "fuse.mfs",       "fuse.s3fs",      "fuse.gcsfuse",  "fuse.rclone",    "fuse.davfs",
    "fuse.curlftpfs", "fuse.goofys",    "fuse.mount-s3", "fuse.nfs"};

/* Lines of mountinfo are "36 35 0:52 / /mnt rw shared:1 - fuse.sshfs host:/ rw" (proc(5)). */
static const char *find_fuse(dev_t device)
{
    char line[4096];
    char type[64];
    const char *found = NULL;
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    while (mounts != NULL && fgets(line, sizeof line, mounts) != NULL) {
        unsigned major_number;
        unsigned minor_number;
        const char *mount = strstr(line, " - ");
        if (mount == NULL ||
            sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) != 2 || // NOLINT
            makedev(major_number, minor_number) != device || sscanf(mount, " - %63s", type) != 1)
            continue;
        found = NULL;
        for (size_t i = 0; i < sizeof fuse_types / sizeof *fuse_types; i++)
            if (strcmp(fuse_types[i], type) == 0)
                found = fuse_types[i] + strlen("fuse.");
    }
    if (mounts != NULL)
        (void)fclose(mounts); /* only read */
    return found;
}

const char *file_system_network(const char *path)
{
    struct statfs system;
    struct stat information;
    const char *found = NULL;
    char *existing = alloc_string(path[0] != '\0' ? path : ".");
    int status = statfs(existing, &system);
    while (status != 0 && (errno == ENOENT || errno == ENOTDIR) && strcmp(existing, ".") != 0 &&
           strcmp(existing, "/") != 0) {
        char *folder = path_folder(existing);
        free(existing);
        existing = folder;
        status = statfs(existing, &system);
    }
    unsigned long type =
        status != 0 ? 0 : (unsigned long)system.f_type & 0xffffffff; /* signed on some machines */
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            found = types[i].name;
    if (type == FUSE && stat(existing, &information) == 0)
        found = find_fuse(information.st_dev);
    free(existing);
    return found;
}

/* --- locks --- */

enum { POLL_NS = 5000000 };

bool file_lock_take(int file, int how, int timeout_ms)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    int64_t end_ns = timeout_ms < 0 ? INT64_MAX : clock_ns() + (int64_t)timeout_ms * 1000000;
    while (flock(file, how | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return true;
        end_ns = interrupt_hurried(end_ns);
        if (clock_ns() >= end_ns)
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}
