// The look-up from C++; and what the header of libtuned_kernel declares links, too.
//     lookup_cpp BUNDLE
#include <autotune/tuned.h>
#include <autotune/tuned_kernel.h>

#include <iostream>
#include <memory>

int main(int argc, char **argv)
{
    tuned_error error;
    tuned_table *loaded = nullptr;
    if (argc != 2 || tuned_load(&loaded, argv[1], &error) != 0) {
        std::cerr << (argc != 2 ? "usage: lookup_cpp BUNDLE" : error.message) << '\n';
        return 2;
    }
    const std::unique_ptr<tuned_table, void (*)(tuned_table *)> table(loaded, tuned_free);

    tuned_gpu gpu = {"NVIDIA H200", 90, 132, 62914560, 4917};
    const tuned_value problem[] = {tuned_integer("n", 5000000), tuned_word("value_type", "float")};
    tuned_query query = {};
    query.kernel = "reduce_sum";
    query.gpu = &gpu;
    query.problem = problem;
    query.problem_count = 2;
    tuned_match match;
    if (tuned_find(table.get(), &query, &match) != 0) {
        return 1;
    }
    std::cout << tuned_rule_text(match.rule) << ": " << tuned_integer_of(&match, "block_size", 0)
              << '\n';

    tuned_kernels *kernels = nullptr; // there is no context
    return tuned_kernels_open(&kernels, argv[1], nullptr, &error) == TUNED_NO_GPU ? 0 : 1;
}
