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
enum {
    FORMAT_SIZED = 4,
    ATTRIBUTE_MAX_THREADS = 0x05,
    ATTRIBUTE_REQUIRED_THREADS = 0x10,
    ATTRIBUTE_PARAMETER = 0x17,       /* size in the upper 14 bits of the third word */
    ATTRIBUTE_PARAMETER_BYTES = 0x19, /* of all parameters */
    ATTRIBUTE_LARGE_PARAMETER = 0x45, /* size in the lower 16 bits, where 14 are too few */
    PARAMETER_BYTES = 12,
};

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

/* Reads the header; false if the bytes are not an ELF file of 64 bits. */
static bool read_header(struct bytes file, Elf64_Ehdr *header)
{
    if (file.count < sizeof *header)
        return false;
    memcpy(header, file.at, sizeof *header);
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_shentsize == sizeof(Elf64_Shdr);
}

static struct bytes find_info(struct bytes file, const char *entry)
{
    Elf64_Ehdr header;
    Elf64_Shdr names;
    if (!read_header(file, &header) || !section_at(file, &header, header.e_shstrndx, &names))
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

/* --- symbols --- */

struct symbols {
    struct bytes table, names;
};

static struct symbols find_symbols(struct bytes file)
{
    Elf64_Ehdr header;
    if (!read_header(file, &header))
        return (struct symbols){0};
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr table;
        Elf64_Shdr names;
        if (section_at(file, &header, i, &table) && table.sh_type == SHT_SYMTAB &&
            section_at(file, &header, table.sh_link, &names))
            return (struct symbols){slice(file, table.sh_offset, table.sh_size),
                                    slice(file, names.sh_offset, names.sh_size)};
    }
    return (struct symbols){0};
}

/* The name of symbol `index` if it is defined for others, and only once; otherwise NULL. */
static const char *defined_symbol(const struct symbols *symbols, size_t index)
{
    Elf64_Sym symbol;
    struct bytes bytes = slice(symbols->table, index * sizeof symbol, sizeof symbol);
    if (bytes.at == NULL)
        return NULL;
    memcpy(&symbol, bytes.at, sizeof symbol);
    int type = ELF64_ST_TYPE(symbol.st_info);
    if (ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL || symbol.st_shndx == SHN_UNDEF ||
        (type != STT_FUNC && type != STT_OBJECT) || symbol.st_name >= symbols->names.count ||
        memchr(symbols->names.at + symbol.st_name, 0, symbols->names.count - symbol.st_name) ==
            NULL)
        return NULL;
    return (const char *)symbols->names.at + symbol.st_name;
}

static bool defines(const struct symbols *symbols, const char *wanted)
{
    for (size_t i = 0; i < symbols->table.count / sizeof(Elf64_Sym); i++) {
        const char *name = defined_symbol(symbols, i);
        if (name != NULL && strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

const char *cubin_elf_common_symbol(const void *first, size_t first_bytes, const void *second,
                                    size_t second_bytes)
{
    const struct symbols in_first = find_symbols((struct bytes){first, first_bytes});
    const struct symbols in_second = find_symbols((struct bytes){second, second_bytes});
    for (size_t i = 0; i < in_first.table.count / sizeof(Elf64_Sym); i++) {
        const char *name = defined_symbol(&in_first, i);
        if (name != NULL && defines(&in_second, name))
            return name;
    }
    return NULL;
}

/* --- attributes --- */

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

struct attribute {
    unsigned format;
    unsigned number;
    unsigned word;      /* the value, or its size */
    struct bytes value; /* in format SIZED */
};

/* The attribute at `*at`, which moves on to the next one; false at the end, or if it is cut. */
static bool next_attribute(struct bytes info, size_t *at, struct attribute *attribute)
{
    if (info.count < 4 || *at > info.count - 4)
        return false;
    const unsigned char *header = info.at + *at;
    *attribute = (struct attribute){header[0], header[1], header[2] + 256u * header[3], {0}};
    size_t size = attribute->format == FORMAT_SIZED ? attribute->word : 0;
    *at += 4;
    if (size > info.count - *at)
        return false;
    attribute->value = (struct bytes){info.at + *at, size};
    *at += size;
    return true;
}

int cubin_elf_max_threads(const void *cubin, size_t cubin_bytes, const char *entry)
{
    struct bytes info = find_info((struct bytes){cubin, cubin_bytes}, entry);
    struct attribute attribute;
    size_t at = 0;
    while (next_attribute(info, &at, &attribute))
        if (attribute.value.count >= 3 * sizeof(uint32_t) &&
            (attribute.number == ATTRIBUTE_MAX_THREADS ||
             attribute.number == ATTRIBUTE_REQUIRED_THREADS))
            return threads_of(attribute.value.at);
    return 0;
}

/* Its words: the symbol, the parameter's number and offset, its size among flags. */
static void add_parameter(const struct attribute *attribute, struct cubin_parameters *parameters)
{
    uint16_t number;
    uint32_t last;
    memcpy(&number, attribute->value.at + 4, sizeof number);
    memcpy(&last, attribute->value.at + 8, sizeof last);
    if (number < CUBIN_PARAMETERS)
        parameters->bytes[number] =
            (uint16_t)(attribute->number == ATTRIBUTE_PARAMETER ? last >> 18 : last & 0xffff);
    parameters->count++;
}

bool cubin_elf_parameters(const void *cubin, size_t cubin_bytes, const char *entry,
                          struct cubin_parameters *parameters)
{
    struct bytes info = find_info((struct bytes){cubin, cubin_bytes}, entry);
    struct attribute attribute;
    size_t at = 0;
    unsigned all_bytes = 0;
    *parameters = (struct cubin_parameters){0};
    while (next_attribute(info, &at, &attribute)) {
        if (attribute.number == ATTRIBUTE_PARAMETER_BYTES)
            all_bytes = attribute.word;
        else if ((attribute.number == ATTRIBUTE_PARAMETER ||
                  attribute.number == ATTRIBUTE_LARGE_PARAMETER) &&
                 attribute.value.count >= PARAMETER_BYTES)
            add_parameter(&attribute, parameters);
    }
    return info.at != NULL && at == info.count && (parameters->count == 0) == (all_bytes == 0);
}
