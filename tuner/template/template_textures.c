#include "template/template_textures.h"

#include "template/value_list.h"

#include <string.h>

/* False if `text` is none of the words. */
static bool read_word(const char *text, struct texture_options *options)
{
    static const char *const addresses[] = {[TEXTURE_WRAP] = "wrap",
                                            [TEXTURE_CLAMP] = "clamp",
                                            [TEXTURE_MIRROR] = "mirror",
                                            [TEXTURE_BORDER] = "border"};
    for (int i = 0; i < 4; i++)
        if (strcmp(text, addresses[i]) == 0) {
            options->address = (enum texture_address)i;
            return true;
        }
    if (strcmp(text, "point") == 0 || strcmp(text, "linear") == 0)
        options->linear = text[0] == 'l';
    else if (strcmp(text, "normalized") == 0)
        options->normalized = true;
    else if (strcmp(text, "as_float") == 0)
        options->as_float = true;
    else
        return false;
    return true;
}

/* The buffer first, then nothing or two extents, then words. */
static int read_parts(struct loader *loader, char **parts, size_t count, int line,
                      const struct names *known, struct argument *argument)
{
    size_t extents = 0;
    bool words = false;
    int status = 0;
    for (size_t i = 1; i < count && status == 0; i++) {
        bool word = read_word(parts[i], &argument->texture);
        if (!word && (words || extents == 2))
            return loader_fail(loader, line,
                               "'%s' in a texture is none of point, linear, clamp, border, wrap, "
                               "mirror, normalized, as_float",
                               parts[i]);
        if (!word)
            status = loader_read_expression(loader, parts[i], line, known,
                                            &argument->extents[extents++]);
        words = words || word;
    }
    if (status == 0 && (extents == 1 || (extents == 0 && words)))
        status = loader_fail(loader, line,
                             "texture(%s, …) needs a width and a height, or neither and no words",
                             parts[0]);
    return status;
}

int loader_read_texture(struct loader *loader, const char *inner, int line,
                        const struct names *known, struct argument *argument)
{
    char **parts;
    size_t count = text_split(inner, ',', &parts);
    argument->kind = ARGUMENT_TEXTURE;
    argument->texture.address = TEXTURE_CLAMP;
    int status =
        count > 0 && names_have(loader->buffers.items, parts[0])
            ? loader_read_expression(loader, parts[0], line, known, &argument->expression)
            : loader_fail(loader, line, "'texture(%s)' is not a texture over a buffer", inner);
    if (status == 0)
        status = read_parts(loader, parts, count, line, known, argument);
    text_split_release(parts, count);
    return status;
}
