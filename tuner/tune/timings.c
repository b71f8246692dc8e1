#include "tune/timings.h"

#include "base/clock.h"

void timings_start(struct timings *timings)
{
    *timings = (struct timings){.since_ns = clock_ns(), .stage = TIMING_START};
}

void timings_stage(struct timings *timings, enum timing_stage stage)
{
    int64_t now = clock_ns();
    timings->total_ns[timings->stage] += now - timings->since_ns;
    timings->since_ns = now;
    timings->stage = stage;
}

void timings_share(struct timings *timings, int64_t load_ns, int64_t verify_ns, int64_t measure_ns)
{
    int64_t now = clock_ns();
    double sum = (double)load_ns + (double)verify_ns + (double)measure_ns;
    double elapsed = (double)(now - timings->since_ns);
    int64_t load = sum > 0 ? (int64_t)(elapsed * (double)load_ns / sum) : 0;
    int64_t verify = sum > 0 ? (int64_t)(elapsed * (double)verify_ns / sum) : 0;
    timings->total_ns[TIMING_LOAD] += load;
    timings->total_ns[TIMING_VERIFY] += verify;
    timings->total_ns[TIMING_MEASURE] += now - timings->since_ns - load - verify;
    timings->since_ns = now;
}

void timings_print(struct timings *timings, FILE *stream)
{
    static const char *const texts[] = {
#define X(name, text) text,
        TIMING_STAGES(X)
#undef X
    };
    int64_t sum = 0;
    timings_stage(timings, timings->stage);
    for (int i = 0; i < TIMING_STAGE_COUNT; i++) {
        fprintf(stream, "%9.3f s  %s\n", (double)timings->total_ns[i] * 1e-9, texts[i]);
        sum += timings->total_ns[i];
    }
    fprintf(stream, "%9.3f s  total\n", (double)sum * 1e-9);
}
