#include "template/device_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool has(const struct device_list *list, int ordinal)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->ordinals[i] == ordinal)
            return true;
    return false;
}

/* A number, from `*text` to the next comma; sets `*text` behind that, or to NULL at the end. */
static bool take_ordinal(const char **text, struct device_list *list)
{
    enum { LARGEST = 9999 };
    const char *digits = *text + strspn(*text, " \t");
    char *end;
    long ordinal = isdigit((unsigned char)*digits) ? strtol(digits, &end, 10) : -1;
    if (ordinal < 0 || ordinal > LARGEST || list->count == DEVICES_MOST || has(list, (int)ordinal))
        return false;
    end += strspn(end, " \t");
    if (*end != ',' && *end != '\0')
        return false;
    list->ordinals[list->count++] = (int)ordinal;
    *text = *end == ',' ? end + 1 : NULL;
    return true;
}

bool device_list_parse(const char *text, struct device_list *list)
{
    *list = (struct device_list){.all = strcmp(text, "all") == 0};
    bool good = true;
    for (const char *rest = list->all ? NULL : text; rest != NULL && good;)
        good = take_ordinal(&rest, list);
    if (!good)
        *list = (struct device_list){0};
    return good;
}

bool device_list_is_stated(const struct device_list *list)
{
    return list->all || list->count > 0;
}
