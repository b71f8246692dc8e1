#include "compile/cubin_elf.h"

#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * A .nv.info section is a sequence of attributes: one byte for the format, one for the attribute,
 * and a 16-bit word. The word is the value, or in format SIZED the length of the value that
 * follows.
 */
enum { FORMAT_SIZED = 4, ATTRIBUTE_MAX_THREADS = 0x05, ATTRIBUTE_REQUIRED_THREADS = 0x10 };

struct bytes {
    const unsigned char *at;
    size_t count;
};

/* `count` bytes from `offset` on; empty if `from` is too short. */
static struct bytes slice(struct bytes from, uint64_t offset, uint64_t count)
{
    if (offset > from.count || count > from.count - offset)
        return (struct bytes){0};
    return (struct bytes){from.at + offset, (size_t)count};
}

static bool section_at(struct bytes file, const Elf64_Ehdr *header, unsigned index,
                       Elf64_Shdr *section)
{
    if (header->e_shoff > file.count)
        return false;
    struct bytes bytes =
        slice(file, header->e_shoff + (uint64_t)index * sizeof *section, sizeof *section);
    if (bytes.at == NULL)
        return false;
    memcpy(section, bytes.at, sizeof *section);
    return true;
}

/* True if the null-terminated string at `offset` of `strings` is ".nv.info.ENTRY". */
static bool names_info_of(struct bytes strings, uint64_t offset, const char *entry)
{
    static const char prefix[] = ".nv.info.";
    size_t prefix_length = sizeof prefix - 1;
    size_t entry_length = strlen(entry);
    struct bytes name = slice(strings, offset, prefix_length + entry_length + 1);
    return name.at != NULL && memcmp(name.at, prefix, prefix_length) == 0 &&
           memcmp(name.at + prefix_length, entry, entry_length + 1) == 0;
}

static struct bytes find_info(struct bytes file, const char *entry)
{
    Elf64_Ehdr header;
    Elf64_Shdr names;
    if (file.count < sizeof header)
        return (struct bytes){0};
    memcpy(&header, file.at, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shentsize != sizeof(Elf64_Shdr) ||
        !section_at(file, &header, header.e_shstrndx, &names))
        return (struct bytes){0};
    struct bytes strings = slice(file, names.sh_offset, names.sh_size);
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        if (section_at(file, &header, i, &section) &&
            names_info_of(strings, section.sh_name, entry))
            return slice(file, section.sh_offset, section.sh_size);
    }
    return (struct bytes){0};
}

/* Product of the three dimensions at `at`; 0 if it overflows. */
static int threads_of(const unsigned char *at)
{
    uint32_t dimensions[3];
    memcpy(dimensions, at, sizeof dimensions);
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        threads *= dimensions[i];
        if (threads > INT_MAX)
            return 0;
    }
    return (int)threads;
}

int cubin_elf_max_threads(const void *cubin, size_t cubin_bytes, const char *entry)
{
    struct bytes info = find_info((struct bytes){cubin, cubin_bytes}, entry);
    size_t at = 0;
    while (at + 4 <= info.count) {
        unsigned format = info.at[at];
        unsigned attribute = info.at[at + 1];
        size_t size = format == FORMAT_SIZED ? info.at[at + 2] + 256u * info.at[at + 3] : 0;
        at += 4;
        if (size > info.count - at)
            return 0;
        if (format == FORMAT_SIZED && size >= 3 * sizeof(uint32_t) &&
            (attribute == ATTRIBUTE_MAX_THREADS || attribute == ATTRIBUTE_REQUIRED_THREADS))
            return threads_of(info.at + at);
        at += size;
    }
    return 0;
}
