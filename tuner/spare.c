#include "spare.h"

double spare_patience_s(const struct spare *spare, double timeout_s)
{
    double patience_s = timeout_s / 4;
    return patience_s > 2 * spare->longest_s ? patience_s : 2 * spare->longest_s;
}

void spare_start(struct spare *spare, const char *ordinal, json_t *open, size_t beside)
{
    if (worker_start(&spare->worker, "device", ordinal, NULL) != 0) {
        json_decref(open);
        return;
    }
    spare->beside = beside;
    spare->opens = open != NULL;
    if (open != NULL) /* a worker that is gone already shows when it is to take over */
        (void)channel_send(&spare->worker.channel, open, NULL);
}

bool spare_settle(struct spare *spare, double took_s)
{
    bool beside = spare->beside > 0;
    spare->beside -= beside;
    if (took_s > spare->longest_s)
        spare->longest_s = took_s;
    if (spare->worker.pid != 0) {
        worker_stop(&spare->worker);
        spare->gone = true;
    }
    return beside;
}

struct worker spare_take(struct spare *spare)
{
    struct worker worker = spare->worker;
    spare->worker = (struct worker){0};
    spare->beside = 0;
    return worker;
}

void spare_clear(struct spare *spare)
{
    worker_stop(&spare->worker);
    *spare = (struct spare){0};
}
