#include "template/value.h"

#include "unit/comma_locale.h"
#include "unit/test.h"

static void assert_text(struct value value, const char *expected)
{
    char buffer[VALUE_TEXT_BYTES];
    assert_string_equal(value_text(value, buffer), expected);
}

UNIT_TEST(texts)
{
    assert_text(value_integer(-256), "-256");
    assert_text(value_integer(INT64_MIN), "-9223372036854775808");
    assert_text(value_real(0.5), "0.5");
    assert_text(value_real(0.1), "0.1");
    assert_text(value_real(1e-3), "0.001");
    assert_text(value_real(1e300), "1e+300");
    assert_text(value_word("last_block"), "last_block");
    assert_text(value_boolean(true), "true");
    assert_text(value_boolean(false), "false");
}

UNIT_TEST(texts_are_the_same_in_every_locale)
{
    if (!comma_locale_enter())
        skip();
    texts(state);
    comma_locale_leave();
}

UNIT_TEST(equality_is_of_kind_and_content)
{
    char word[] = "atomic";
    assert_true(value_equal(value_word(word), value_word("atomic")));
    assert_false(value_equal(value_word("atomic"), value_word("atomics")));
    assert_false(value_equal(value_integer(1), value_real(1)));
    assert_false(value_equal(value_integer(1), value_boolean(true)));
    assert_true(value_equal(value_boolean(true), value_boolean(true)));
    assert_false(value_equal(value_boolean(true), value_boolean(false)));
    assert_false(value_equal(value_real(1), value_real(1.5)));
}

static void fill(struct bindings *bindings)
{
    bindings_set(bindings, "block_size", value_integer(256));
    bindings_set(bindings, "scale", value_real(0.5));
    bindings_set(bindings, "finish", value_word("atomic"));
    bindings_set(bindings, "cold", value_boolean(true));
}

UNIT_TEST(setting_copies_and_replaces)
{
    struct bindings bindings = {0};
    char name[] = "finish";
    char word[] = "atomic";
    bindings_set(&bindings, name, value_word(word));
    memset(name, 'x', sizeof name - 1);
    memset(word, 'x', sizeof word - 1);
    assert_true(value_equal(*bindings_find(&bindings, "finish"), value_word("atomic")));
    bindings_set(&bindings, "n", value_integer(1));
    bindings_set(&bindings, "finish", value_word("two_pass"));
    bindings_set(&bindings, "finish", *bindings_find(&bindings, "finish"));
    assert_int_equal(bindings.count, 2);
    assert_string_equal(bindings.items[0].name, "finish");
    assert_string_equal(bindings.items[0].value.as.word, "two_pass");
    assert_null(bindings_find(&bindings, "finis"));
    bindings_release(&bindings);
    assert_int_equal(bindings.count, 0);
    assert_null(bindings_find(&bindings, "n"));
}

UNIT_TEST(copying_and_appending)
{
    struct bindings a = {0};
    struct bindings b = {0};
    fill(&a);
    bindings_set(&b, "old", value_word("gone"));
    bindings_copy(&b, &a);
    assert_true(bindings_equal(&a, &b));
    assert_ptr_not_equal(a.items[2].value.as.word, b.items[2].value.as.word);
    struct bindings more = {0};
    bindings_set(&more, "block_size", value_integer(512));
    bindings_set(&more, "n", value_integer(7));
    bindings_append(&b, &more);
    char *text = bindings_text(&b);
    assert_string_equal(text, "block_size=512 scale=0.5 finish=atomic cold=true n=7");
    assert_false(bindings_equal(&a, &b));
    free(text);
    bindings_release(&a);
    bindings_release(&b);
    bindings_release(&more);
    text = bindings_text(&a);
    assert_string_equal(text, "");
    free(text);
}

UNIT_TEST(equality_of_bindings_heeds_the_order)
{
    struct bindings a = {0};
    struct bindings b = {0};
    bindings_set(&a, "x", value_integer(1));
    bindings_set(&a, "y", value_integer(1));
    bindings_set(&b, "y", value_integer(1));
    bindings_set(&b, "x", value_integer(1));
    assert_false(bindings_equal(&a, &b));
    bindings_release(&a);
    bindings_release(&b);
}

UNIT_TEST(json_and_back)
{
    struct bindings a = {0};
    struct bindings b = {0};
    struct error error;
    fill(&a);
    bindings_set(&a, "whole", value_real(2));
    bindings_set(&a, "large", value_integer(INT64_MAX));
    json_t *object = bindings_to_json(&a);
    char *text = json_dumps(object, JSON_COMPACT);
    assert_string_equal(text, "{\"block_size\":256,\"scale\":0.5,\"finish\":\"atomic\","
                              "\"cold\":true,\"whole\":2.0,\"large\":9223372036854775807}");
    json_t *read = json_loads(text, 0, NULL);
    assert_int_equal(bindings_from_json(&b, read, &error), 0);
    assert_true(bindings_equal(&a, &b));
    free(text);
    json_decref(read);
    json_decref(object);
    bindings_release(&a);
    bindings_release(&b);
}

UNIT_TEST(json_that_is_no_value)
{
    static const char *const texts[] = {"{\"n\": 1, \"bad\": []}", "{\"bad\": null}",
                                        "{\"bad\": {}}",
                                        "{\"bad\": \"a word of more than sixty-three letters, "
                                        "which no value text could ever hold\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct bindings bindings = {0};
        struct error error;
        json_t *object = json_loads(texts[i], 0, NULL);
        assert_int_equal(bindings_from_json(&bindings, object, &error), ERROR_RECORD);
        assert_string_equal(error.message,
                            "member 'bad' is neither a number, a word nor a boolean");
        json_decref(object);
        bindings_release(&bindings);
    }
}
