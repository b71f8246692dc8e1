#include "base/file_system.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"

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

/* File systems of FUSE that are served over a network. */
static const struct {
    const char *type, *name;
} fuse_types[] = {
    {"fuse.sshfs", "SSHFS"},
    {"fuse.glusterfs", "GlusterFS"},
    {"fuse.ceph", "Ceph"},
    {"fuse.ceph-fuse", "Ceph"},
    {"fuse.juicefs", "JuiceFS"},
    {"fuse.mfs", "MooseFS"},
    {"fuse.s3fs", "s3fs"},
    {"fuse.gcsfuse", "gcsfuse"},
    {"fuse.rclone", "rclone"},
    {"fuse.davfs", "WebDAV"},
    {"fuse.curlftpfs", "FTP"},
    {"fuse.goofys", "goofys"},
    {"fuse.mount-s3", "Mountpoint for S3"},
    {"fuse.nfs", "NFS"},
};

const char *file_system_network_by_type(unsigned long type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == (type & 0xffffffff)) /* signed where it is an int */
            return types[i].name;
    return NULL;
}

const char *file_system_network_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof fuse_types / sizeof *fuse_types; i++)
        if (strcmp(fuse_types[i].type, name) == 0)
            return fuse_types[i].name;
    return NULL;
}

/* Lines of mountinfo are "36 35 0:52 / /mnt rw shared:1 - fuse.sshfs host:/ rw" (proc(5)). */
static const char *find_fuse(dev_t device)
{
    char line[4096];
    char name[64];
    const char *found = NULL;
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    while (mounts != NULL && fgets(line, sizeof line, mounts) != NULL) {
        unsigned major_number;
        unsigned minor_number;
        const char *type = strstr(line, " - ");
        if (type != NULL &&
            sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) == 2 && // NOLINT
            makedev(major_number, minor_number) == device && sscanf(type, " - %63s", name) == 1)
            found = file_system_network_by_name(name);
    }
    if (mounts != NULL)
        (void)fclose(mounts); /* only read */
    return found;
}

/* Makes `path` the folder that it is in: "." in the end, or "/". Returns false if it is that already. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (strcmp(path, ".") == 0 || strcmp(path, "/") == 0)
        return false;
    if (slash == NULL)
        (void)strcpy(path, "."); // NOLINT: it is not empty
    else
        slash[slash == path] = '\0';
    return true;
}

const char *file_system_network(const char *path)
{
    struct statfs system;
    struct stat information;
    const char *found = NULL;
    char *existing = alloc_string(path[0] != '\0' ? path : ".");
    int status = statfs(existing, &system);
    while (status != 0 && (errno == ENOENT || errno == ENOTDIR) && go_up(existing))
        status = statfs(existing, &system);
    if (status == 0 && ((unsigned long)system.f_type & 0xffffffff) == FUSE)
        found = stat(existing, &information) == 0 ? find_fuse(information.st_dev) : NULL;
    else if (status == 0)
        found = file_system_network_by_type((unsigned long)system.f_type);
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
