/* Finds what was installed with this program. */
#ifndef AUTOTUNE_INSTALLED_H
#define AUTOTUNE_INSTALLED_H

/* The templates' folder: where the installation put it relative to the program, even if both were
 * moved; if it does not exist, the folder that the build was configured for. A new string. */
char *installed_templates(void);

#endif
