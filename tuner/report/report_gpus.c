#include "report/report_gpus.h"

#include "report/report_text.h"

#include <math.h>

/* "1.2 % slower", "0.4 % faster", "as fast". */
static void print_ratio(FILE *stream, double ratio)
{
    char buffer[REPORT_NUMBER_BYTES];
    double percent = fabs(ratio - 1) * 100;
    if (percent < 0.05)
        fputs("as fast", stream);
    else
        fprintf(stream, "%s %% %s", report_fixed(percent, 1, buffer),
                ratio > 1 ? "slower" : "faster");
}

static void print_check(FILE *stream, const struct study_gpu *gpu)
{
    char buffer[REPORT_NUMBER_BYTES];
    fputs("; finals checked there: the winner is ", stream);
    print_ratio(stream, gpu->winner_ratio);
    if (gpu->winner_loss * 100 < 0.05)
        fputs(", and is the fastest finalist", stream);
    else
        fprintf(stream, ", and %s %% behind the fastest finalist",
                report_fixed(gpu->winner_loss * 100, 1, buffer));
}

void report_gpu(FILE *stream, const struct study_gpu *gpu)
{
    char buffer[REPORT_NUMBER_BYTES];
    if (gpu->compared == 0) {
        fputs("not compared", stream);
    } else {
        print_ratio(stream, gpu->ratio);
        fprintf(stream, " (%zu variant%s compared", gpu->compared, gpu->compared == 1 ? "" : "s");
        if (gpu->compared > 1)
            fprintf(stream, ", each within %s %% of that",
                    report_fixed(gpu->spread * 100, 1, buffer));
        fputs(")", stream);
    }
    if (gpu->winner_ratio > 0)
        print_check(stream, gpu);
    if (gpu->failed > 0)
        fprintf(stream, "; %zu variant%s FAILED THERE that passed elsewhere", gpu->failed,
                gpu->failed == 1 ? "" : "s");
}
