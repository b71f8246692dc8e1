#include "compile/pool_dispatch.h"

#include "base/clock.h"
#include "compile/pool_assignment.h"

/* A job that takes longer than this, and so many times its kind's average, is given to an idle machine,
 * too; how often jobs are looked at. */
#define PATIENCE_S 1.0
#define LOOK_NS 250000000
enum { PATIENCE = 3 };

/* An idle worker of another machine; NULL: there is none. */
static struct pool_worker *find_idle(const struct pool_workers *workers,
                                     const struct pool_place *place)
{
    for (size_t i = workers->idle_count; i-- > 0;)
        if (workers->idle[i]->place != place)
            return workers->idle[i];
    return NULL;
}

/* Whether a job takes so long that its machine may be slow, or hang. */
static bool is_slow(const struct pool_jobs *jobs, const struct pool_worker *worker)
{
    const struct pool_job *job = worker->job;
    if (job == NULL || job->twice)
        return false;
    double since_s = (double)(clock_ns() - worker->began_ns) * 1e-9;
    return since_s > PATIENCE_S &&
           since_s > PATIENCE * compile_estimate_mean_s(&jobs->estimate, job->kind);
}

/* Of the slow ones that another machine has time for, the one that has had its job for longest. */
static struct pool_worker *find_slow(const struct compile_pool *pool)
{
    struct pool_worker *slow = NULL;
    for (size_t i = 0; i < pool->workers.count; i++) {
        struct pool_worker *worker = pool->workers.items[i];
        if ((slow == NULL || worker->began_ns < slow->began_ns) && is_slow(&pool->jobs, worker) &&
            find_idle(&pool->workers, worker->place) != NULL)
            slow = worker;
    }
    return slow;
}

/* Gives jobs of slow machines to idle ones as well. */
static int give_twice(struct event_source *source, struct error *error)
{
    struct compile_pool *pool = source->owner;
    struct pool_worker *slow;
    (void)error;
    source->deadline_ns = EVENT_NEVER;
    while ((slow = find_slow(pool)) != NULL) {
        struct pool_worker *worker = find_idle(&pool->workers, slow->place);
        pool_workers_take_idle(&pool->workers, worker);
        slow->job->twice = worker->second = true;
        pool_assignment_begin(pool, worker, slow->job);
    }
    return 0;
}

/* Slow jobs are looked for as long as nothing is queued and some workers are idle while others are
 * not. */
static void plan_look(struct compile_pool *pool)
{
    const struct pool_workers *workers = &pool->workers;
    bool wanted = workers->places.count > 1 && pool->jobs.queue_count == 0 &&
                  workers->idle_count > 0 &&
                  workers->idle_count + workers->starting_count < workers->count;
    if (!wanted)
        pool->source.deadline_ns = EVENT_NEVER;
    else if (pool->source.deadline_ns == EVENT_NEVER)
        pool->source.deadline_ns = clock_ns() + LOOK_NS;
}

/* Gives queued jobs to idle workers, and starts workers for the rest. */
static int dispatch(struct event_source *source, struct error *error)
{
    struct compile_pool *pool = source->owner;
    struct pool_workers *workers = &pool->workers;
    while (pool->jobs.queue_count > 0 && workers->idle_count > 0) {
        struct pool_worker *worker = workers->idle[workers->idle_count - 1];
        pool_workers_take_idle(workers, worker);
        pool_assignment_begin(pool, worker, pool_jobs_dequeue(&pool->jobs));
    }
    plan_look(pool);
    return pool_workers_add_for(workers, pool->jobs.queue_count, error);
}

/* Takes what a worker has sent and gives it its next job. */
static int take_messages(struct event_source *source, struct error *error)
{
    struct pool_worker *worker = source->owner;
    struct compile_pool *pool = worker->pool;
    int status = pool_assignment_take(worker, error);
    return status == 1 ? dispatch(&pool->source, error) : status;
}

void pool_dispatch_begin(struct compile_pool *pool, struct event_loop *loop)
{
    pool->workers.readable = take_messages;
    pool->workers.expired = pool_assignment_expire;
    pool->source = (struct event_source){.descriptor = -1,
                                         .deadline_ns = EVENT_NEVER,
                                         .owner = pool,
                                         .prepare = dispatch,
                                         .expired = give_twice};
    event_loop_add(loop, &pool->source);
}
