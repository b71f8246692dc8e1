/* What reports say of the GPUs of a study, if there were several. */
#ifndef AUTOTUNE_REPORT_GPUS_H
#define AUTOTUNE_REPORT_GPUS_H

#include "record/study.h"

#include <stdio.h>

/*
 * "1.2 % slower (5 variants compared, each within 0.4 % of that); finals checked there: the winner is
 * 1 % slower, and 0.3 % behind the fastest finalist". `gpu` is not the first.
 */
void report_gpu(FILE *stream, const struct study_gpu *gpu);

#endif
