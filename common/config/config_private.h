/* What the parts of the configuration share: config.c (sections and their settings), config_types.c (sections that users
 * name), config_value.c (values), config_file.c (the INI), config_arguments.c (the command line), config_print.c and
 * config_markdown.c (for people), config_suggest.c (did you mean), config_reload.c (reading again). */
#ifndef SYNOP_CONFIG_PRIVATE_H
#define SYNOP_CONFIG_PRIVATE_H

#include "synop/config.h"
#include "synop/config_suggest.h"

/* An option in a section: an option of "group *" is a setting in each group. */
struct setting {
  const struct option *option;
  const struct section *section;
  char *text;   /* the value as it was given, blanks taken off; "" when there is none */
  char *source; /* NULL: default */
  void *field;
  unsigned reading; /* number of the file reading that set it last, 0 for none */
  int line;         /* its line in that file */
};

struct section {
  char *name; /* "group cpu_usage" where the option says "group *" */
  struct setting *settings;
  size_t count;

  /* Of a section that a user named; else NULL. */
  const struct config_type *type;
  void *instance;
  char *source;     /* place of its "[TYPE NAME]": FILE:LINE, or the command line */
  unsigned reading; /* as in a setting, of that line */
  int line;
};

struct owner {
  const struct config_type *type;
  config_change_fn change;
  void *context;
};

struct config {
  const char *program;      /* NULL: not set */
  const char *default_path; /* NULL: no file is read */
  const struct option *options;
  size_t option_count;
  void *target;
  const struct config_wildcard *wildcard;
  const struct config_type *const *types; /* NULL-terminated */
  bool types_have_flags;
  struct section **sections; /* in the order of output */
  size_t section_count;
  struct owner *owners;
  size_t owner_count;
  unsigned readings;
  char *path; /* the file that was read last; NULL: none */
};

struct section *config_add_section (struct config *config, const char *name);
void section_add_setting (struct section *section, const struct option *option, void *field);
void section_destroy (struct section *section);
/* NULL: there is none. */
struct section *config_find_section (const struct config *config, const char *name);
struct setting *section_find (const struct section *section, const char *key);

/* The name of a named section: the part behind its type. */
const char *section_own_name (const struct section *section);
/* The type that the first `length` characters name; NULL: none. */
const struct config_type *config_find_type (const struct config *config, const char *name, size_t length);
/* Finds or makes [TYPE NAME]; NULL and error: that cannot be a name. */
struct section *config_open_section (struct config *config, const struct config_type *type, const char *name,
                                     size_t length, struct error *error);
/* The options of a type, of all its parts: NULL behind the last. `offset` (may be NULL): in an instance. */
const struct option *config_type_option (const struct config_type *type, size_t index, size_t *offset);
/* Runs the types' checks of their sections, once all are read. */
int config_check_sections (const struct config *config, struct error *error);

#define VALUE_MAX 4096 /* characters: PATH_MAX */
/* Checks and sets a value; after an error, which gives what was expected but not where, the old value stays. */
int setting_set (struct setting *setting, const char *text, struct error *error);
/* No value: 0, false or the first choice, which a program may treat as "inherited". */
bool setting_is_unset (const struct setting *setting);

/* The type as people write it: "DURATION", "yes|no", "error|warning". */
void option_describe_type (const struct option *option, struct buffer *out);
/* "1s; from 10ms to 1h" */
void option_describe_limits (const struct option *option, struct buffer *out);
bool option_is_wildcard (const struct option *option);
/* Whether a reload of this program takes anything over. */
bool config_has_reload (const struct config *config);
#define FLAG_SIZE 256
/* The name on the command line without its dashes; "" when there is none. `section`: "send.central" of what a user
 * named, else NULL. */
void option_flag (const struct option *option, const char *section, char flag[FLAG_SIZE]);
void setting_flag (const struct setting *setting, char flag[FLAG_SIZE]);

#endif
