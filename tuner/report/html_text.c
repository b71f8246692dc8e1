#include "report/html_text.h"

#include <string.h>

void html_text(FILE *stream, const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        unsigned char letter = (unsigned char)*text;
        if (strchr("<>&\"'", *text) != NULL)
            fprintf(stream, "&#%d;", *text);
        else
            fputc(letter < ' ' && strchr("\n\t", *text) == NULL ? ' ' : letter, stream);
    }
}
