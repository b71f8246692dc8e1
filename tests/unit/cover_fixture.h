/* A cover of an invented kernel and GPU, as text of a tuned INI. */
#ifndef AUTOTUNE_TESTS_COVER_FIXTURE_H
#define AUTOTUNE_TESTS_COVER_FIXTURE_H

#define COVER_HASH "0123456789abcdef0123456789abcdef"

#define COVER_GPU                                                                                  \
    "template_hash = " COVER_HASH                                                                  \
    "\ngpu = Alpha\narch = sm_80\ncompute_capability = 80\nsm_count = 100\nl2_bytes = 1000\n"      \
    "memory_bytes = 1000\ndriver = 13.0\nnvrtc = 13.0\nautotune = 0.1.0\n"                         \
    "date = 2026-11-22T03:00:00Z\ncache = cold\n"

#define COVER_TOP "[sum 0000c0e4]\nkernel = sum\ntemplate = sum\n" COVER_GPU "cover = 3\n"

#define COVER_RANGE "problem.type = float\nrange.n = 1024 .. 1048576\n"

#define COVER_CONFIGURATIONS_2                                                                     \
    "configuration.1.block_size = 128\nconfiguration.1.finish = atomic\n"                          \
    "configuration.2.block_size = 512\nconfiguration.2.finish = two_pass\n"

#define COVER_LOSS "mean_loss_percent = 0.5\nworst_loss_percent = 2.25\nheld_out_sizes = 7\n"

/* Configuration 1 is expected to be the faster one up to about n = 260000. */
#define COVER_MEASURED                                                                             \
    "measured.1 = n=1024: 2 3 us\n"                                                                \
    "measured.2 = n=65536: 3.0005 3.6 us\n"                                                        \
    "measured.3 = n=1048576: 12 9 us\n"

#define COVER COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 COVER_LOSS COVER_MEASURED

#endif
