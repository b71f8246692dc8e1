/*
 * T4 results files of other tools as studies, for the record: what they measured, marked as theirs
 * (environment.tool). Such a study has no winner, since autotune verified none of its variants.
 */
#ifndef AUTOTUNE_T4_STUDY_H
#define AUTOTUNE_T4_STUDY_H

#include "base/error.h"
#include "record/study.h"

/* What the user says of a file; NULL: as its metadata says. */
struct t4_origin {
    const char *kernel;
    const char *tool;
    const char *gpu; /* "NVIDIA A100-PCIE-40GB" */
};

/*
 * Reads the file at `path` into `study`. Returns 0; ERROR_CONFIG for a file that cannot be used; or
 * ERROR_USAGE if neither it nor `origin` names the kernel, the tool or the GPU. Release `study`
 * with study_release() in any case.
 */
int t4_study_read(const char *path, const struct t4_origin *origin, struct study *study,
                  struct error *error);

#endif
