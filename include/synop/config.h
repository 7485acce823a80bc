/* Options: one table of them drives the INI file, the command line, --help, --print-config and docs/configuration.md.
 *
 * Each option has a place in the INI ("[agent] period") and a name on the command line ("--period"). Sources, the later
 * wins: default, file, command line. A bad value, an unknown section or key is an error that names file, line and what
 * is allowed (or the command line's option): exit code 2, nothing starts half. */
#ifndef SYNOP_CONFIG_H
#define SYNOP_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "synop/buffer.h"
#include "synop/error.h"

enum option_type {
  OPTION_TEXT,     /* char *, owned by the configuration */
  OPTION_PATH,     /* char *, owned; the same, shown as PATH */
  OPTION_DURATION, /* int64_t nanoseconds: "100us", "500ms", "1.5s", "5m", "1h"; a bare number is seconds */
  OPTION_SIZE,     /* uint64_t: "64k", "1M", "2G" (1024), or a bare number; also for counts */
  OPTION_BOOLEAN,  /* bool: yes no true false on off 1 0; on the command line "--name" alone is yes */
  OPTION_CHOICE,   /* int: index into `choices` */
  OPTION_LIST,     /* char *, owned; words parted by commas */
};

struct option {
  const char *section; /* "agent"; "group *": any [group NAME], see below */
  const char *key;     /* "period"; on the command line "--period" unless `flag` says otherwise */
  const char *flag;    /* another name on the command line, or "" for none; NULL: as the key, '_' as '-' */
  enum option_type type;
  size_t offset;                                         /* in the caller's struct */
  const char *fallback;                                  /* default, as it would be written; NULL: empty text */
  const char *minimum, *maximum;                         /* DURATION, SIZE: as written; NULL: no limit */
  const char *const *choices;                            /* OPTION_CHOICE: NULL-terminated */
  int (*check) (const char *value, struct error *error); /* TEXT, PATH, LIST: more rules; may be NULL */
  const char *help;                                      /* one or two sentences */
  char letter;                                           /* 'o': "-o" is its flag too; 0: none */
  int reload; /* options with one number are reloaded together, numbers are the program's; 0: a change needs a restart */
};

/* Blanks around texts are dropped, in lists also around each word. An empty value means the default where that is
 * empty, without a check; a number without a default is then 0 ("inherited").
 *
 * The INI: '#' or ';' begins a comment line, " ;" a comment behind a value. A list may continue in lines that begin
 * with a blank and hold neither '=' nor ':'. A key may stand once in a file.
 *
 * For sections "group *": the value goes into record `index` of an array of structs, found by the section's name. */
struct config_wildcard {
  const char *prefix;                               /* "group " */
  void *(*record) (void *target, const char *name); /* the struct for [group NAME]; NULL: no such group */
  const char *const *names;                         /* what is allowed, for the error; NULL-terminated */
};

/* Sections that users name, any number of each type: "[send central]", on the command line "--send.central.url". A name
 * has 1 to 64 of a-z, 0-9, '_' and '-'. */
struct config_part {
  const struct option *options; /* their section is not read, and `offset` lies in the part */
  size_t option_count;
  size_t size; /* of the part: zeros, then the defaults */
};
struct config_type {
  const char *name; /* "send" */
  const char *help; /* what such a section is, in a sentence or two */
  struct config_part first;
  const struct config_part *const *others;                  /* more options; NULL at the end; may be NULL */
  int (*check) (const void *instance, struct error *error); /* of its options together, "url: ..."; may be NULL */
  /* Of an option that has another value than its default: may it be given? -1 and error, for people. May be NULL. */
  int (*check_given) (const void *instance, const char *key, struct error *error);
};
/* One of the other parts of an instance, which begins with the first. */
const void *config_part_of (const struct config_type *type, const void *instance, const struct config_part *part);
/* A copy of an instance, for who needs it for longer than its section is there; free gives it back, NULL is fine. */
void *config_instance_copy (const struct config_type *type, const void *instance);
void config_instance_free (const struct config_type *type, void *copy);
/* A section was added (`before` NULL), removed (`now` NULL) or changed. `name` and `now` are valid until the owner
 * is called for that name again. */
typedef void (*config_change_fn) (void *context, const char *name, const void *before, const void *now);

struct config;

struct config *config_create (const struct option *options, size_t count, void *target,
                              const struct config_wildcard *wildcard); /* sets all defaults; wildcard may be NULL */
/* Types of sections, NULL-terminated; all of this must outlive the configuration. */
void config_add_types (struct config *config, const struct config_type *const *types, bool on_command_line);
/* The program's name for errors ("synop-aggregator replay"), and the file that is read unless --config names
 * another; NULL: the command reads none. Both must outlive the configuration. */
void config_set_program (struct config *config, const char *program, const char *default_path);
void config_destroy (struct config *config); /* frees the texts in the target too */

int config_read_file (struct config *config, const char *path, struct error *error);
int config_read_text (struct config *config, const char *name, const char *text, struct error *error); /* for fuzzing */
/* Reads argv from `*at`: "--name value", "--name=value", "-o value". Stops at the first operand, or behind a "--",
 * and sets `*at` to it. "--config FILE" ("-c") is read first, wherever it stands; without it the default file is
 * read if it exists. "--help" ("-h"), "--version" ("-V"), "--print-config" and other options without a value that
 * are in `words` (NULL-terminated, without their dashes: "once") are given to `word`, also when an error follows.
 * With "help" or "version" no file is read and no value is checked. "--verbose" ("-v", "-vv") raises the option
 * whose key is log_level, a choice, wherever its value came from. */
int config_read_arguments (struct config *config, int argc, char **argv, int *at, const char *const *words,
                           void (*word) (void *context, const char *name), void *context, struct error *error);
/* Moves operands behind the options, so that they may stand anywhere. */
int config_operands_last (struct config *config, int argc, char **argv, const char *const *words, struct error *error);
/* For a command that reads no file, such as "keys add NODE FILE": options and operands in any order behind argv[0]. Returns
 * how many `operands` there are, at most `max`, or -1. */
int config_read_operands (struct config *config, int argc, char **argv, const char **operands, int max,
                          const char *const *words, void (*word) (void *context, const char *name), void *context,
                          struct error *error);
/* For an unexpected operand: adds to the error how to write it if it is the value of a boolean. */
void config_hint_word (struct error *error, const char *word);
/* For an unexpected operand: adds to the error the nearest of the candidates (NULL-terminated). */
void config_hint_nearest (struct error *error, const char *word, const char *const *candidates);
/* Where an option's value came from: "default", "FILE:LINE", "command line". Later errors about it begin with this. */
const char *config_source (const struct config *config, const char *section, const char *key);
/* error_set with "[section] key (source): " before it. Returns -1. */
int config_error (const struct config *config, const char *section, const char *key, struct error *error,
                  const char *format, ...) __attribute__ ((format (printf, 5, 6)));

/* Sets the owner of a type's sections: `change` is called for each section that exists, and later by
 * config_take_sections. */
void config_own (struct config *config, const struct config_type *type, config_change_fn change, void *context);

/* Reloading: `fresh` was made of the same table and read from the same file and command line as `config`, which
 * stays. `reload`: only options with that number. */
/* -1 and error: the file that was read is gone. */
int config_check_file (const struct config *config, const struct config *fresh, struct error *error);
/* How many values differ. */
size_t config_changes (const struct config *config, const struct config *fresh, int reload);
/* Takes over the values that differ, and logs each. Frees the texts that they replace. */
void config_take (struct config *config, const struct config *fresh, int reload);
/* Takes over the sections of types that have an owner: each difference is logged, and the owner called for it. */
void config_take_sections (struct config *config, struct config *fresh);
/* Logs each value that still differs: it takes effect after a restart. */
void config_log_changes (const struct config *config, const struct config *fresh);

void config_print (const struct config *config, struct buffer *out);      /* --print-config: a valid INI file */
void config_print_help (const struct config *config, struct buffer *out); /* the options' part of --help, 100 columns */
void config_print_markdown (const struct config *config, struct buffer *out); /* docs/configuration.md's table */

int duration_parse (const char *text, int64_t *ns, struct error *error);

#endif
