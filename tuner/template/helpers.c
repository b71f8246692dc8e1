#include "template/helpers.h"

bool template_helper(const struct template *template, size_t index, struct helper *helper)
{
    for (size_t i = 0; i < template->buffer_count; i++)
        if (template->buffers[i].fill.kind == FILL_KERNEL && index-- == 0) {
            *helper = (struct helper){template->buffers[i].fill.kernel, NULL};
            return true;
        }
    for (size_t i = 0; i < template->expectation_count; i++)
        if (template->expectations[i].kind == EXPECT_REFERENCE && index-- == 0) {
            const struct expectation *expectation = &template->expectations[i];
            *helper = (struct helper){&expectation->reference, expectation};
            return true;
        }
    if (index >= template->verifier_count)
        return false;
    const struct verifier *verifier = &template->verifiers[index];
    *helper = (struct helper){.launch = &verifier->launch};
    if (verifier->expectation < template->expectation_count)
        helper->expectation = &template->expectations[verifier->expectation];
    return true;
}

bool template_has_helpers(const struct template *template)
{
    struct helper helper;
    return template_helper(template, 0, &helper);
}
