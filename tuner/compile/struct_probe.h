/*
 * Checks the structs among a template's arguments against the types that the source declares, which a cubin does not tell:
 * how many members they have, which of them are pointers, numbers, structs and arrays, of which sizes, and to what the
 * pointers point; and the types of [constants] and the sizes of types of the source that buffers have. The probe is the
 * source with functions behind it that take the types apart (structured bindings of C++17), and with an error at its end,
 * so that the compiler's front end does it all and nothing is made:
 *
 *     if (struct_probe_make(&probe, &options, ...)) { compile them; struct_probe_read(template, log, ...); }
 */
#ifndef AUTOTUNE_STRUCT_PROBE_H
#define AUTOTUNE_STRUCT_PROBE_H

#include "base/error.h"
#include "template/template.h"
#include "template/value.h"
#include "template/variant.h"

#include <stdbool.h>

/* Makes the probe, which borrows from the template, of all launches and helpers that have structs and whose kernel is in
 * the unit of the first of these, and its options. `scope` has the parameters, and says what buffers' types are. False,
 * with nothing to release, if nothing is to be checked, or options fail, which variants say. */
bool struct_probe_make(struct source *probe, struct options *options,
                       const struct template *template, const struct scope *scope,
                       const struct bindings *problem);
void struct_probe_release(struct source *probe);

/* What the compiler's log says: 0, or ERROR_CONFIG at the template's line. `*unchecked` becomes what could not be taken
 * apart, such as a class with private members, and why, as lines of a new string; NULL for none. */
int struct_probe_read(const struct template *template, const char *log, char **unchecked,
                      struct error *error);

#endif
