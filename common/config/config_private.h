/* What the parts of the configuration share: config.c (the settings), config_value.c (their values), config_file.c (the
 * INI), config_arguments.c (the command line), config_print.c (for people), config_suggest.c (did you mean),
 * config_reload.c (reading again). */
#ifndef SYNOP_CONFIG_PRIVATE_H
#define SYNOP_CONFIG_PRIVATE_H

#include "synop/config.h"
#include "synop/config_suggest.h"

/* One option at one place: an option of "group *" is a setting in each group. */
struct setting {
  const struct option *option;
  char *section; /* "group cpu_usage" where the option says "group *" */
  char *text;    /* the value as it was given, blanks taken off; "" when there is none */
  char *source;  /* NULL: default */
  void *field;
  unsigned reading; /* which file it was read from last: a number, 0 for none */
  int line;         /* and its line there */
};

struct config {
  const char *program; /* NULL: not told */
  const struct option *options;
  size_t option_count;
  void *target;
  const struct config_wildcard *wildcard;
  struct setting *settings; /* in the order in which people see them: a section's are neighbours */
  size_t setting_count;
  unsigned readings;
  char *path; /* the file that was read last; NULL: none */
};

struct setting *config_find (const struct config *config, const char *section, const char *key);
/* Where options of a section that has this name lie; NULL: no such section. */
const struct setting *config_find_section (const struct config *config, const char *section);

#define VALUE_MAX 4096 /* characters: what a path can have */
/* Checks and takes a value; on an error, which says what is expected but not where, the old one stays. */
int setting_set (struct setting *setting, const char *text, struct error *error);
/* No value: 0, false or the first choice, which a program may take for "inherited". */
bool setting_is_unset (const struct setting *setting);

/* The type as people write it: "DURATION", "yes|no", "error|warning". */
void option_describe_type (const struct option *option, struct buffer *out);
bool option_is_wildcard (const struct option *option);
#define FLAG_SIZE 64
/* The name on the command line without its dashes; "" when there is none. */
void option_flag (const struct option *option, char flag[FLAG_SIZE]);

#endif
