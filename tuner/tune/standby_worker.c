#include "tune/standby_worker.h"

double standby_worker_patience_s(const struct standby_worker *standby, double timeout_s)
{
    double patience_s = timeout_s / 4;
    return patience_s > 2 * standby->longest_s ? patience_s : 2 * standby->longest_s;
}

void standby_worker_start(struct standby_worker *standby, struct node *node, const char *which,
                          json_t *open, size_t beside)
{
    if (worker_start(&standby->worker, node, "device", which, NULL) != 0) {
        json_decref(open);
        return;
    }
    standby->beside = beside;
    standby->opens = open != NULL;
    if (open != NULL) /* a worker that is gone already shows when it is to take over */
        worker_send(&standby->worker, open, NULL, 0);
}

bool standby_worker_settle(struct standby_worker *standby, double took_s)
{
    bool beside = standby->beside > 0;
    standby->beside -= beside;
    if (took_s > standby->longest_s)
        standby->longest_s = took_s;
    if (worker_is_running(&standby->worker)) {
        worker_stop(&standby->worker);
        standby->gone = true;
    }
    return beside;
}

struct worker standby_worker_take(struct standby_worker *standby)
{
    struct worker worker = standby->worker;
    standby->worker = (struct worker){0};
    standby->beside = 0;
    return worker;
}

void standby_worker_clear(struct standby_worker *standby)
{
    worker_stop(&standby->worker);
    *standby = (struct standby_worker){0};
}
