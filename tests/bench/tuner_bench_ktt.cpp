// Runs KTT on the space of configs/bench_num_load.ini, for tests/bench/tuner_bench.sh:
//
//     tuner_bench_ktt RUN [verified]     (run it in the project's folder)
//
// Uses the same source, n, grids and 504 configurations, but finishes in one launch (last_block),
// as for Kernel Tuner. KTT keeps its defaults: one sample per configuration, and no verification
// unless `verified` is given. Each run is a separate process, so that it starts clean. Prints
//
//     RUN,VERSION,WALL_S,VARIANTS,VARIANTS_PER_S,WINNER
//
// WALL_S is the time from creating the CUDA context to the last configuration; it does not include
// making the input. Exit status 1: KTT found no valid configuration; its message is on stderr.
//
// tuner_bench_ktt.sh builds it.
#include <Ktt.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#ifndef KTT_VERSION
#define KTT_VERSION "2.2" // release 2.2 calls itself 2.1.0
#endif

namespace
{

constexpr uint64_t N = uint64_t{1} << 24;
constexpr uint64_t MAX_BLOCKS_PER_SM = 8;

// Integers from -8 to 8, whose sum is exact in any order.
std::vector<float> make_input()
{
    std::vector<float> values(N);
    uint32_t state = 1;
    for (float &value : values) {
        state = state * 1664525 + 1013904223;
        value = static_cast<float>(static_cast<int>((state >> 8) % 17) - 8);
    }
    return values;
}

float sum_of(const std::vector<float> &values)
{
    double sum = 0;
    for (float value : values) {
        sum += value;
    }
    return static_cast<float>(sum);
}

void add_parameters(ktt::Tuner &tuner, ktt::KernelId kernel, ktt::KernelDefinitionId definition)
{
    using Values = std::vector<uint64_t>;
    tuner.AddParameter(kernel, "BLOCK_SIZE", Values{32, 64, 128, 256, 512, 1024});
    tuner.AddParameter(kernel, "NUM_LOAD", Values{1, 2, 4, 8, 16, 32});
    tuner.AddParameter(kernel, "MIN_BLOCKS", Values{1, 2, 4, 8});
    tuner.AddParameter(kernel, "BLOCKS_PER_SM", Values{1, 2, 4, MAX_BLOCKS_PER_SM});
    tuner.AddConstraint(kernel, {"BLOCK_SIZE", "MIN_BLOCKS"},
                        [](const Values &values) { return values[0] * values[1] <= 2048; });
    tuner.AddThreadModifier(kernel, {definition}, ktt::ModifierType::Local,
                            ktt::ModifierDimension::X, "BLOCK_SIZE", ktt::ModifierAction::Multiply);
    // at least one block per SM; no more blocks than have work
    tuner.AddThreadModifier(kernel, {definition}, ktt::ModifierType::Global,
                            ktt::ModifierDimension::X, {"BLOCK_SIZE", "NUM_LOAD", "BLOCKS_PER_SM"},
                            [](uint64_t sm_count, const Values &values) {
                                const uint64_t share = values[0] * values[1];
                                return std::min((N + share - 1) / share, sm_count * values[2]);
                            });
}

struct Outcome {
    double wall_s;
    size_t valid;
    std::string winner;
};

Outcome tune(const std::vector<float> &values, float sum, bool verified)
{
    const auto start = std::chrono::steady_clock::now();
    ktt::Tuner::SetLoggingLevel(ktt::LoggingLevel::Warning);
    ktt::Tuner tuner(0, 0, ktt::ComputeApi::CUDA);
    tuner.SetCompilerOptions(
        "-std=c++17 -Ikernel_templates -DVECTOR_WIDTH=1 -DFINISH=FINISH_LAST_BLOCK");
    const uint64_t sm_count = tuner.GetCurrentDeviceInfo().GetMaxComputeUnits();
    const uint64_t blocks = sm_count * MAX_BLOCKS_PER_SM;

    const ktt::KernelDefinitionId definition =
        tuner.AddKernelDefinitionFromFile("reduce", "kernel_templates/reduce.cu",
                                          ktt::DimensionVector(sm_count), ktt::DimensionVector(1));
    const ktt::ArgumentId in = tuner.AddArgumentVector(values, ktt::ArgumentAccessType::ReadOnly);
    const ktt::ArgumentId n = tuner.AddArgumentScalar(N);
    const ktt::ArgumentId partials = tuner.AddArgumentVector(std::vector<uint64_t>(2 * blocks),
                                                             ktt::ArgumentAccessType::ReadWrite);
    const ktt::ArgumentId state = tuner.AddArgumentVector(std::vector<uint32_t>(32 * (1 + blocks)),
                                                          ktt::ArgumentAccessType::ReadWrite);
    const ktt::ArgumentId out =
        tuner.AddArgumentVector(std::vector<float>(1), ktt::ArgumentAccessType::WriteOnly);
    tuner.SetArguments(definition, {in, n, partials, state, out});

    const ktt::KernelId kernel = tuner.CreateSimpleKernel("reduce", definition);
    add_parameters(tuner, kernel, definition);
    if (verified) {
        tuner.SetReferenceComputation(out,
                                      [sum](void *buffer) { memcpy(buffer, &sum, sizeof sum); });
    }

    Outcome outcome{};
    ktt::Nanoseconds best = ktt::InvalidDuration;
    for (const ktt::KernelResult &result : tuner.Tune(kernel)) {
        if (!result.IsValid()) {
            continue;
        }
        outcome.valid++;
        if (result.GetTotalDuration() < best) {
            best = result.GetTotalDuration();
            outcome.winner.clear();
            for (const ktt::ParameterPair &pair : result.GetConfiguration().GetPairs()) {
                outcome.winner += (outcome.winner.empty() ? "" : " ") + pair.GetName() + "=" +
                                  pair.GetValueString();
            }
        }
    }
    outcome.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return outcome;
}

} // namespace

int main(int argc, char **argv)
{
    const bool verified = argc == 3 && strcmp(argv[2], "verified") == 0;
    if (argc < 2 || (argc > 2 && !verified)) {
        fprintf(stderr, "usage: tuner_bench_ktt RUN [verified]\n");
        return 2;
    }
    const std::vector<float> values = make_input();
    try {
        const Outcome outcome = tune(values, sum_of(values), verified);
        if (outcome.valid == 0) {
            fprintf(stderr, "tuner_bench_ktt: KTT finds no configuration valid\n");
            return 1;
        }
        printf("%s,%s%s,%.1f,%zu,%.1f,%s\n", argv[1], KTT_VERSION, verified ? " verified" : "",
               outcome.wall_s, outcome.valid, static_cast<double>(outcome.valid) / outcome.wall_s,
               outcome.winner.c_str());
        return 0;
    } catch (const std::exception &exception) {
        fprintf(stderr, "tuner_bench_ktt: %s\n", exception.what());
        return 1;
    }
}
