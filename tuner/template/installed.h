/* What was installed with this program. */
#ifndef AUTOTUNE_INSTALLED_H
#define AUTOTUNE_INSTALLED_H

/* The folder of the templates: as far from the program as the installation put it, wherever that is
 * now; where nothing is there, the folder that the build was configured for. A new string. */
char *installed_templates(void);

#endif
