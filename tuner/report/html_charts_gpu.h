/*
 * Charts of how a study's variants use the GPU. Each prints nothing if the study has no data for it.
 */
#ifndef AUTOTUNE_HTML_CHARTS_GPU_H
#define AUTOTUNE_HTML_CHARTS_GPU_H

#include "report/chart.h"

/* Rates under the limits of memory and arithmetic. */
void chart_roofline(const struct charts *charts);

/* Time against occupancy, and occupancy against registers. */
void chart_occupancy(const struct charts *charts);
void chart_registers(const struct charts *charts);

/* Latency against the size of the grid and of blocks, for kernels that move no bytes, such as
 * barriers. */
void chart_latency(const struct charts *charts);

#endif
