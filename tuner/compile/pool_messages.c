#include "compile/pool_messages.h"

#include <string.h>

static json_t *text_array(char *const *texts, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_string(texts[i]));
    return array;
}

/* What there is to precompile. */
static void add_headers(const struct options *options, bool more, json_t *message)
{
    json_object_set_new(message, "headers", text_array(options->headers, options->header_count));
    json_object_set_new(message, "definitions",
                        json_integer((json_int_t)options->definition_count));
    json_object_set_new(message, "more", json_boolean(more));
}

/* A source that is not UTF-8, as messages are, is read by the worker itself. */
json_t *pool_messages_request(const struct pool_job *job, bool more)
{
    json_t *options = text_array(job->options.items, job->options.count);
    json_t *message = json_pack("{s:s, s:s, s:s, s:o, s:s}", "do", "compile", "name", job->name,
                                "arch", job->arch, "options", options, "output", job->job.path);
    json_t *text = json_string(job->source->text);
    if (message != NULL && text != NULL)
        json_object_set(message, "text", text);
    json_decref(text);
    if (message != NULL && job->options.stamp_count > 0)
        json_object_set_new(message, "stamps",
                            text_array(job->options.stamps, job->options.stamp_count));
    if (message != NULL && job->options.header_count > 0)
        add_headers(&job->options, more, message);
    return message;
}

bool pool_messages_is(const json_t *message, const char *event)
{
    const char *name = json_string_value(json_object_get(message, "event"));
    return name != NULL && strcmp(name, event) == 0;
}
