/* Finds a file of a source. */
#ifndef AUTOTUNE_SOURCE_FILE_H
#define AUTOTUNE_SOURCE_FILE_H

/* The path of FOLDER/NAME if that is a file, otherwise NULL; free it. Links to folders are followed; one to
 * the file is not, because the compiler looks for what the file includes beside the link. Pipes and devices
 * count as files here, so that reading one fails: the compiler would wait for a pipe. */
char *source_find_file(const char *folder, const char *name);

#endif
