/*
 * Text in HTML and SVG.
 */
#ifndef AUTOTUNE_HTML_TEXT_H
#define AUTOTUNE_HTML_TEXT_H

#include <stdio.h>

/* Prints `text` as the content of an element or a quoted attribute; nothing for NULL. Markup is
 * escaped, and control characters, which XML forbids, become spaces. */
void html_text(FILE *stream, const char *text);

#endif
