/* The INI file. inih splits its lines; each first passes through line_next, which reports what inih would swallow (a
 * line too long, a section without keys, a line that is no "key = value") with its number.
 *
 *   # a comment, or ; a comment
 *   [section]
 *   key = value      ; a comment behind a value
 *   list = one, two,
 *     three          (a line that begins with a blank and holds neither '=' nor ':' continues the list before it) */
#include "common/config/config_private.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synop/file.h"
#include "synop/memory.h"

/* inih cuts lines at 200 bytes unless this variable is set; some builds of inih lack it. */
#pragma weak ini_max_line
extern int ini_max_line;
#define LINE_MAX_WANTED (2 * VALUE_MAX)

#define FILE_BYTES_MAX (1 << 20)
#define SECTION_MAX 256

struct reading {
  struct config *config;
  const char *name; /* of the file, for errors */
  const char *next; /* the text not read yet */
  int line;
  const struct section *section; /* NULL before the first */
  struct setting *last;          /* the key before this line, in this section; NULL: none */
  bool waiting;                  /* inih has a line that must return as a key */
  bool goes_on;                  /* and that line continues the list before it */
  bool failed;                   /* `error` is set: nothing more is read */
  struct error *error;
};

static void
list_sections (const struct config *config, struct buffer *out)
{
  const struct config_wildcard *wildcard = config->wildcard;
  size_t begin = out->length;

  for (size_t i = 0; i < config->section_count; i++) {
    const struct section *section = config->sections[i];
    if (section->type == NULL &&
        (wildcard == NULL || strncmp (section->name, wildcard->prefix, strlen (wildcard->prefix)) != 0))
      buffer_printf (out, "%s[%s]", out->length > begin ? ", " : "", section->name);
  }
  for (const struct config_type *const *type = config->types; *type != NULL; type++)
    buffer_printf (out, "%s[%s NAME]", out->length > begin ? ", " : "", (*type)->name);
  if (wildcard == NULL)
    return;
  buffer_printf (out, "%s[%sNAME] with NAME one of", out->length > begin ? ", " : "", wildcard->prefix);
  for (const char *const *name = wildcard->names; *name != NULL; name++)
    buffer_printf (out, "%s %s", name != wildcard->names ? "," : "", *name);
}

static int
unknown_section (const struct reading *reading, const char *name)
{
  const struct config *config = reading->config;
  struct suggestion suggestion = { .word = name };
  struct buffer text = { 0 };

  for (size_t i = 0; i < config->section_count; i++)
    suggestion_consider (&suggestion, config->sections[i]->name);
  for (const struct config_type *const *type = config->types; *type != NULL; type++) {
    char *named = memory_format ("%s%s", (*type)->name, name + strcspn (name, " "));
    suggestion_consider (&suggestion, named);
    free (named);
  }
  buffer_printf (&text, "unknown section [%.64s]", name);
  if (*suggestion.best != '\0')
    buffer_printf (&text, ", did you mean [%s]?", suggestion.best);
  buffer_add_string (&text, *suggestion.best != '\0' ? " Allowed sections are " : "; allowed sections are ");
  list_sections (config, &text);
  error_set (reading->error, "%.*s", (int) text.length, text.data);
  buffer_free (&text);
  return -1;
}

static int
unknown_key (const struct reading *reading, const char *key)
{
  const struct section *section = reading->section;
  struct suggestion suggestion = { .word = key };
  struct buffer allowed = { 0 };

  for (size_t i = 0; i < section->count; i++) {
    suggestion_consider (&suggestion, section->settings[i].option->key);
    buffer_printf (&allowed, "%s%s", i > 0 ? ", " : "", section->settings[i].option->key);
  }
  if (*suggestion.best != '\0')
    error_set (reading->error, "[%s] %.64s: unknown key, did you mean \"%s\"? Allowed keys are %.*s", section->name,
               key, suggestion.best, (int) allowed.length, allowed.data);
  else
    error_set (reading->error, "[%s] %.64s: unknown key; allowed keys are %.*s", section->name, key,
               (int) allowed.length, allowed.data);
  buffer_free (&allowed);
  return -1;
}

/* "[send central]": once in a file, since a second one is probably meant to have another name. */
static int
named_section (struct reading *reading, const struct config_type *type, const char *name)
{
  const char *own = name + strlen (type->name) + (name[strlen (type->name)] == ' ');
  struct section *section = config_open_section (reading->config, type, own, strlen (own), reading->error);

  if (section == NULL)
    return error_prefix (reading->error, "[%.80s]: ", name);
  if (section->reading == reading->config->readings)
    return error_set (reading->error, "[%s]: stands in this file already, in line %d", name, section->line);
  section->reading = reading->config->readings;
  section->line = reading->line;
  free (section->source);
  section->source = memory_format ("%s:%d", reading->name, reading->line);
  reading->section = section;
  return 0;
}

/* "[section]", with nothing but a comment behind it. */
static int
section_line (struct reading *reading, const char *line, size_t length)
{
  const char *end = memchr (line, ']', length);
  size_t name_length = end != NULL ? (size_t) (end - line - 1) : 0;
  const char *rest = end != NULL ? end + 1 : line;
  while (rest < line + length && (*rest == ' ' || *rest == '\t'))
    rest++;
  if (end == NULL || (rest < line + length && *rest != ';' && *rest != '#'))
    return error_set (reading->error, "expected \"[section]\", not \"%.*s\"", (int) (length < 64 ? length : 64), line);
  char name[SECTION_MAX];
  snprintf (name, sizeof name, "%.*s", (int) name_length, line + 1); /* a name that is cut is unknown anyway */
  reading->last = NULL;
  const struct config_type *type = config_find_type (reading->config, name, strcspn (name, " "));
  if (type != NULL)
    return named_section (reading, type, name);
  reading->section = config_find_section (reading->config, name);
  return reading->section != NULL ? 0 : unknown_section (reading, name);
}

static int
list_line_check (const struct reading *reading, const char *line, size_t length)
{
  if (reading->last == NULL || reading->last->option->type != OPTION_LIST)
    return error_set (reading->error, "expected \"key = value\", not \"%.*s\"", (int) (length < 64 ? length : 64),
                      line);
  return 0;
}

/* Checks one line and writes to `into` the line for inih. */
static int
line_check (struct reading *reading, const char *line, size_t length, char *into, size_t size)
{
  bool indented = length > 0 && (*line == ' ' || *line == '\t');
  while (length > 0 && (*line == ' ' || *line == '\t')) {
    line++;
    length--;
  }
  if (length == 0 || *line == '#' || *line == ';') {
    strcpy (into, "\n");
    return 0;
  }
  if (length + 3 > size) /* a blank before it, a newline and a NUL behind it */
    return error_set (reading->error,
                      "this line is too long: at most %zu characters are read; a list may go on in a "
                      "next line that begins with a blank",
                      size - 3);
  if (*line == '[') {
    strcpy (into, "[ ]\n"); /* so that inih takes no line for a continuation across sections */
    return section_line (reading, line, length);
  }
  if (reading->section == NULL)
    return error_set (reading->error, "\"%.*s\" stands before the first [section]", (int) (length < 64 ? length : 64),
                      line);
  reading->goes_on = indented && memchr (line, '=', length) == NULL && memchr (line, ':', length) == NULL;
  if (reading->goes_on && list_line_check (reading, line, length) != 0)
    return -1;
  into[0] = ' ';
  memcpy (into + reading->goes_on, line, length);
  memcpy (into + reading->goes_on + length, "\n", 2);
  reading->waiting = true;
  return 0;
}

static char *
reading_stop (struct reading *reading)
{
  error_prefix (reading->error, "%s:%d: ", reading->name, reading->line);
  reading->failed = true;
  return NULL;
}

/* Checks that inih returned the last line: otherwise it had no '='. */
static bool
was_answered (struct reading *reading)
{
  if (reading->failed)
    return false;
  if (!reading->waiting)
    return true;
  error_set (reading->error, "expected \"key = value\"");
  reading_stop (reading);
  return false;
}

/* inih's reader: as fgets. */
static char *
line_next (char *into, int size, void *context)
{
  struct reading *reading = context;
  if (!was_answered (reading) || *reading->next == '\0')
    return NULL;

  const char *line = reading->next;
  size_t length = strcspn (line, "\n");
  reading->next += length + (line[length] == '\n');
  if (++reading->line == 1 && strncmp (line, "\xef\xbb\xbf", 3) == 0) {
    line += 3;
    length -= 3;
  }
  while (length > 0 && strchr (" \t\r", line[length - 1]) != NULL)
    length--;
  return line_check (reading, line, length, into, (size_t) size) == 0 ? into : reading_stop (reading);
}

static int
setting_read (struct reading *reading, struct setting *setting, const char *value)
{
  if (!reading->goes_on && setting->reading == reading->config->readings)
    return error_set (reading->error, "[%s] %s: stands in this file already, in line %d", setting->section->name,
                      setting->option->key, setting->line);

  char *text = reading->goes_on ? memory_format ("%s,%s", setting->text, value) : memory_string (value);
  int result = setting_set (setting, text, reading->error);
  free (text);
  if (result != 0)
    return error_prefix (reading->error, "[%s] %s: ", setting->section->name, setting->option->key);
  reading->last = setting;
  if (reading->goes_on)
    return 0;
  setting->reading = reading->config->readings;
  setting->line = reading->line;
  free (setting->source);
  setting->source = memory_format ("%s:%d", reading->name, reading->line);
  return 0;
}

/* inih's handler: 1 is fine. */
static int
key_take (void *context, const char *section, const char *key, const char *value)
{
  struct reading *reading = context;
  int result;
  (void) section; /* cut to 49 bytes there; reading->section is whole */

  reading->waiting = false;
  struct setting *setting = section_find (reading->section, key);
  if (*key == '\0')
    result = error_set (reading->error, "expected \"key = value\"");
  else if (setting == NULL)
    result = unknown_key (reading, key);
  else
    result = setting_read (reading, setting, value);
  if (result != 0)
    reading_stop (reading);
  return result == 0;
}

int
config_read_text (struct config *config, const char *name, const char *text, struct error *error)
{
  struct error unused;
  struct reading reading = { .config = config, .name = name, .next = text, .error = error != NULL ? error : &unused };

  if (&ini_max_line != NULL && ini_max_line < LINE_MAX_WANTED)
    ini_max_line = LINE_MAX_WANTED;
  config->readings++;
  int result = ini_parse_stream (line_next, &reading, key_take, &reading);
  if (!was_answered (&reading))
    return -1;
  if (result != 0)
    return error_set (error, "%s: cannot be parsed", name);
  return 0;
}

int
config_read_file (struct config *config, const char *path, struct error *error)
{
  struct stat status;
  char *text = NULL;
  ssize_t length;
  int result = -1;

  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0 || fstat (fd, &status) != 0) {
    error_set (error, "%s: %s", path, strerror (errno));
    goto out;
  }
  if (!S_ISREG (status.st_mode) && !S_ISCHR (status.st_mode)) { /* /dev/null serves as an empty file */
    error_set (error, "%s: %s", path, S_ISDIR (status.st_mode) ? "is a directory" : "is not a file");
    goto out;
  }
  text = memory_new (FILE_BYTES_MAX + 1, 1);
  length = file_read (fd, text, FILE_BYTES_MAX + 1);
  if (length < 0)
    error_set (error, "%s: %s", path, strerror (errno));
  else if (length > FILE_BYTES_MAX)
    error_set (error, "%s: larger than 1 MB, so not a configuration file", path);
  else if (memchr (text, '\0', (size_t) length) != NULL)
    error_set (error, "%s: holds NUL bytes, so not a configuration file", path);
  else
    result = config_read_text (config, path, text, error);
out:
  if (fd >= 0)
    close (fd);
  free (text);
  free (config->path);
  config->path = memory_string (path);
  return result;
}
