/* A space in which every point was measured, to try searches on: the configurations of a T4 results
 * file and their times. */
#ifndef AUTOTUNE_MEASURED_SPACE_H
#define AUTOTUNE_MEASURED_SPACE_H

#include "base/error.h"
#include "search/point_table.h"
#include "search/search_space.h"
#include "template/value_list.h"

#include <stddef.h>
#include <stdint.h>

struct measured_space {
    char **names;              /* of the parameters */
    struct value_list *values; /* of each, numbers in ascending order */
    struct point_table points;
    double *times_ns; /* of each point; INFINITY: failed */
    struct search_space *space;
    double optimum_ns; /* the shortest time */
    double median_ns;  /* of the points that did not fail */
};

/* Reads the T4 file at `path`; of results with equal parameters the first counts. Returns 0, or
 * ERROR_CONFIG with the file: not a T4 file, results with different parameters, or none correct. */
int measured_space_read(const char *path, struct measured_space *measured, struct error *error);
void measured_space_release(struct measured_space *measured);

/* The time of one of the space's points. */
double measured_space_time(const struct measured_space *measured, const uint32_t *point);

#endif
