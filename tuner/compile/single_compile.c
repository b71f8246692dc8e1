#include "compile/single_compile.h"

#include "base/alloc.h"
#include "compile/cubin_cache.h"
#include "compile/launch_check.h"

#include <stdlib.h>

static int open_pool(struct single_compile *compiler, const char *arch, struct error *error)
{
    enum { TIMEOUT_S = 600 };
    char *folder =
        compiler->cache != NULL ? alloc_string(compiler->cache) : cubin_cache_default_folder();
    const struct compile_pool_options options = {
        .compile_timeout_s = TIMEOUT_S, .cache_folder = folder, .cache_is_optional = true};
    int status = compiler->pool != NULL
                     ? 0
                     : compile_pool_new(&compiler->pool, &compiler->loop, &options, error);
    free(folder);
    return status != 0 ? status : compile_pool_set_arch(compiler->pool, arch, error);
}

/* Takes the result of a job that is done. */
static int take(const struct compile_job *job, const struct source *source,
                struct compilation *compilation, struct error *error)
{
    if (job->failure[0] != '\0')
        return error_set(error, job->failure_code, "%s", job->failure);
    if (job->has_cubin)
        return compile_job_image(job, compilation, error);
    compilation->log = alloc_string(job->compilation.log);
    return build_refused(source, compilation, error);
}

int single_compile_source_cubin(struct single_compile *compiler, const struct source *source,
                                const struct options *options, const char *arch,
                                struct compilation *compilation, bool *compiled,
                                struct error *error)
{
    struct compile_job *job = NULL;
    *compilation = (struct compilation){0};
    int status = open_pool(compiler, arch, error);
    if (status == 0)
        status = compile_pool_request(compiler->pool, source, options, false, &job, error);
    if (status == 0)
        status = compile_pool_wait(compiler->pool, job, error);
    if (status == 0)
        status = compile_pool_confirm(compiler->pool, error);
    if (status == 0 && compiled != NULL)
        *compiled = !job->cached;
    if (status == 0)
        status = take(job, source, compilation, error);
    if (job != NULL) {
        free(compiler->path);
        compiler->path = alloc_string(job->path);
        compile_pool_drop(compiler->pool, job);
    }
    return status;
}

int single_compile_cubin(struct single_compile *compiler, const struct build *build,
                         struct compilation *compilation, bool *compiled, struct error *error)
{
    struct options options;
    *compilation = (struct compilation){0};
    int status = build_options(build, &options, error);
    if (status == 0)
        status = single_compile_source_cubin(compiler, &build->template->source, &options,
                                             build->arch, compilation, compiled, error);
    options_release(&options);
    if (status == ERROR_CONFIG)
        (void)launch_check_refusal(build->template, compilation->log, error);
    return status;
}

void single_compile_release(struct single_compile *compiler)
{
    compile_pool_free(compiler->pool);
    event_loop_release(&compiler->loop);
    free(compiler->cache);
    free(compiler->path);
    *compiler = (struct single_compile){0};
}
