/*
 * Compares the arguments that a template gives to a kernel with the parameters that the compiled
 * kernel has. The driver takes an array of pointers without its length: if an
 * argument were missing or too small, it would read whatever lies behind the array.
 */
#ifndef AUTOTUNE_LAUNCH_ARGUMENTS_H
#define AUTOTUNE_LAUNCH_ARGUMENTS_H

#include "base/error.h"
#include "compile/compilation.h"
#include "template/launch_plan.h"
#include "template/template.h"

/* Returns 0, or ERROR_CONFIG at the template's line for the first launch whose arguments differ in
 * number or size from the kernel's parameters. Says nothing about a cubin of an unknown format
 * (cubin_elf.h). */
int launch_arguments_check(const struct launch_plan *launch_plan, const struct template *template,
                           const struct compilation *compilation, struct error *error);

#endif
