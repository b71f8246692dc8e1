#include "mpi/file_arrival.h"

#include <stdio.h>

void file_arrival_begin(struct file_arrival *arrival, const char *path)
{
    file_arrival_abandon(arrival);
    arrival->error = (struct error){0};
    arrival->open = write_file_begin(&arrival->file, path, &arrival->error) == 0;
}

void file_arrival_add(struct file_arrival *arrival, const void *bytes, size_t count)
{
    if (arrival->open && count > 0)
        (void)fwrite(bytes, 1, count, arrival->file.stream); /* the commit says if it failed */
}

int file_arrival_end(struct file_arrival *arrival, bool good, struct error *error)
{
    if (!good)
        file_arrival_abandon(arrival);
    if (arrival->open)
        (void)write_file_commit(&arrival->file, WRITE_FILE_CACHED, &arrival->error);
    arrival->open = false;
    *error = arrival->error;
    arrival->error = (struct error){0};
    return error->code;
}

void file_arrival_abandon(struct file_arrival *arrival)
{
    if (arrival->open)
        write_file_abandon(&arrival->file);
    arrival->open = false;
}
