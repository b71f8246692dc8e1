/* Python expressions of other tuners' files: evaluated, and translated to our own. */
#include "exchange/python_evaluate.h"
#include "exchange/python_translate.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static struct python_value values = {
    .kind = PYTHON_IS_LIST, .items = (struct python_value[]){{.integer = 4}}, .count = 1};
static const struct python_name items[] = {
    {"x", "x", false, &values}, {"BLOCK", "block", false, NULL}, {"kind", "kind", true, NULL}};

/* What is translated is an expression of ours, which python_translate_condition() has checked. */
static void translate(const char *text, bool condition)
{
    struct words words = {0};
    const struct python_names names = {items, sizeof items / sizeof *items, &words};
    struct error error = {0};
    char *ours = NULL;
    int status = (condition ? python_translate_condition : python_translate_value)(text, &names,
                                                                                   &ours, &error);
    FUZZ_REQUIRE((status == 0) == (ours != NULL));
    FUZZ_REQUIRE(status == 0 || (status == ERROR_CONFIG && error.message[0] != '\0'));
    free(ours);
    words_release(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct python_value value;
    struct error error = {0};
    char *text = fuzz_text(data, size);
    int status = python_evaluate_text(text, &value, &error);
    FUZZ_REQUIRE(status == 0 || (status == ERROR_CONFIG && error.message[0] != '\0'));
    python_value_release(&value);
    translate(text, true);
    translate(text, false);
    free(text);
    return 0;
}
