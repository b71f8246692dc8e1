/* What the tuned INI's one reader makes of a section for either side. record/test_tuned_file.c and
 * library/test_libtuned_files.c have what is refused, and where. */
#include "base/tuned_reader.h"

#include "unit/test.h"

#define LOOK_UP                                                                                    \
    "kernel = sum\ntemplate = sum\ntemplate_hash = 0123\ngpu = Alpha\ncompute_capability = 80\n"
#define REST                                                                                       \
    "arch = sm_80\nsm_count = 100\nl2_bytes = 2^20\nmemory_bytes = 1\ndriver = 13.0\n"             \
    "nvrtc = 13.0\nautotune = 0\ndate = 2026-11-21T06:12:00Z\ncache = cold\nmedian_ns = "          \
    "1.5\nlow_ns = 1\n"                                                                            \
    "high_ns = 2\nsamples = 3\nregisters = 32\nblocks_per_sm = 8\noccupancy = 0.5\n"

/* What the callbacks were told. */
struct log {
    char text[4096];
};

static void add(struct log *log, const char *text)
{
    (void)strncat(log->text, text, sizeof log->text - strlen(log->text) - 1);
}

static int on_begin(struct tuned_reader *reader, const char *section)
{
    add(reader->user, "[");
    add(reader->user, section);
    return 0;
}

static int on_item(struct tuned_reader *reader, const struct tuned_item *item)
{
    char text[200];
    (void)snprintf(text, sizeof text, " %s%s=%s", tuned_key_rules[item->key].key,
                   item->name != NULL ? item->name : "", item->text);
    add(reader->user, text);
    return strcmp(item->text, "stop") == 0 ? 42 : 0;
}

static int on_end(struct tuned_reader *reader)
{
    add(reader->user, "]");
    return 0;
}

static void on_skip(struct tuned_reader *reader)
{
    add(reader->user, "!");
}

static int read_text(struct tuned_reader *reader, enum tuned_reading reading, struct log *log,
                     const char *text)
{
    *log = (struct log){""};
    *reader = (struct tuned_reader){.reading = reading,
                                    .begin = on_begin,
                                    .item = on_item,
                                    .end = on_end,
                                    .skip = on_skip,
                                    .user = log};
    return tuned_reader_read(reader, text, strlen(text));
}

UNIT_TEST(the_tuner_reads_and_wants_everything)
{
    struct tuned_reader reader;
    struct log log;
    assert_int_equal(read_text(&reader, TUNED_BY_TUNER, &log,
                               "[a]\n" LOOK_UP REST "tie.1.n = 1\ntie.1.m = 1\ntie.2.n = w\n"),
                     0);
    assert_non_null(strstr(log.text, " samples=3 "));
    assert_non_null(strstr(log.text, " tie.n=1 tie.m=1 tie.n=w]"));
    assert_int_equal(read_text(&reader, TUNED_BY_TUNER, &log, "[a]\n" LOOK_UP),
                     INI_READER_BAD_FILE);
    assert_string_equal(reader.ini.message,
                        "section 'a' has no key 'arch'; is this a tuned INI of autotune?");
    assert_int_equal(reader.ini.line, 1);
    assert_int_equal(
        read_text(&reader, TUNED_BY_TUNER, &log, "[a]\n" LOOK_UP REST "newer.key = 1\n"), 0);
}

UNIT_TEST(every_required_key_is_missed)
{
    for (int reading = TUNED_BY_APPLICATION; reading <= TUNED_BY_TUNER; reading++) {
        size_t required = 0;
        for (size_t key = 0; key < TUNED_KEY_COUNT; key++) {
            const struct tuned_key_rule *rule = &tuned_key_rules[key];
            static const char all[] = LOOK_UP REST;
            char text[sizeof all + 16] = "[a]\n";
            char expected[100];
            struct tuned_reader reader;
            struct log log;
            if (rule->presence[reading] < TUNED_REQUIRED)
                continue;
            required++;
            for (const char *line = all; *line != '\0'; line = strchr(line, '\n') + 1)
                if (strncmp(line, rule->key, strlen(rule->key)) != 0 ||
                    line[strlen(rule->key)] != ' ')
                    (void)strncat(text, line, (size_t)(strchr(line, '\n') + 1 - line));
            assert_int_equal(read_text(&reader, (enum tuned_reading)reading, &log, text),
                             INI_READER_BAD_FILE);
            (void)snprintf(expected, sizeof expected, "section 'a' has no key '%s'; ", rule->key);
            assert_int_equal(strncmp(reader.ini.message, expected, strlen(expected)), 0);
        }
        assert_int_equal(required, reading == TUNED_BY_TUNER ? 21 : 5);
    }
}

UNIT_TEST(a_time_needs_samples_and_is_inside_its_interval)
{
    static const struct {
        const char *time, *message;
    } cases[] = {{"median_ns = 3\nlow_ns = 3\nhigh_ns = 4\nsamples = 1\n", ""},
                 {"median_ns = 0\nlow_ns = 0\nhigh_ns = 0\nsamples = 0\n", ""},
                 {"median_ns = 3\nlow_ns = 3\nhigh_ns = 4\nsamples = 0\n", "samples = 0"},
                 {"low_ns = 2\nhigh_ns = 4\nsamples = 1\nmedian_ns = 1\n", "median_ns of"},
                 {"median_ns = 5\nlow_ns = 2\nhigh_ns = 4\nsamples = 1\n", "median_ns of"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1000] = "[a]\n" LOOK_UP REST;
        struct tuned_reader reader;
        struct log log;
        char *old = strstr(text, "median_ns");
        char rest[200];
        (void)snprintf(rest, sizeof rest, "%s", strstr(text, "registers"));
        (void)snprintf(old, sizeof text - (size_t)(old - text), "%s%s", cases[i].time, rest);
        int status = read_text(&reader, TUNED_BY_TUNER, &log, text);
        assert_int_equal(status, *cases[i].message != '\0' ? INI_READER_BAD_FILE : 0);
        assert_non_null(strstr(reader.ini.message, cases[i].message));
    }
}
