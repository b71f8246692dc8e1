#include "template/sweep_limits.h"

#include "base/literal.h"
#include "template/value.h"

int sweep_limits_read(struct sweep_limits *limits, struct ini_file *ini, const char *section,
                      struct error *error)
{
    const struct ini_entry *budget = ini_file_get(ini, section, "budget");
    const struct ini_entry *evaluations = ini_file_get(ini, section, "evaluations");
    struct value value;
    if (budget != NULL && !duration_parse(budget->value, &limits->budget_s))
        return error_set_at(error, ERROR_CONFIG, ini->path, budget->line,
                            "budget '%s' is not a duration; write it as 90s, 10m or 2h",
                            budget->value);
    if (evaluations == NULL)
        return 0;
    if (value_parse(evaluations->value, &value, NULL) != 0 || value.kind != VALUE_INTEGER ||
        value.as.integer < 1)
        return error_set_at(error, ERROR_CONFIG, ini->path, evaluations->line,
                            "evaluations '%s' is not a whole number of at least 1",
                            evaluations->value);
    limits->evaluations = (size_t)value.as.integer;
    return 0;
}
