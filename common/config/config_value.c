/* Values of the configuration: from texts to durations, sizes and other types, and errors that say what is expected. */
#include "common/config/config_private.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "synop/clock.h"
#include "synop/memory.h"

static const struct unit {
  const char *name;
  uint64_t times;
} duration_units[] = { { "ns", 1 },
                       { "us", 1000 },
                       { "ms", (uint64_t) NS_PER_MS },
                       { "s", (uint64_t) NS_PER_S },
                       { "m", 60 * (uint64_t) NS_PER_S },
                       { "h", 3600 * (uint64_t) NS_PER_S },
                       { "d", 86400 * (uint64_t) NS_PER_S },
                       { NULL, 0 } },
  size_units[] = { { "", 1 },
                   { "k", (uint64_t) 1 << 10 },
                   { "M", (uint64_t) 1 << 20 },
                   { "G", (uint64_t) 1 << 30 },
                   { "T", (uint64_t) 1 << 40 },
                   { NULL, 0 } };

static const struct unit *
unit_find (const struct unit *units, const char *name, bool exactly)
{
  for (; units->name != NULL; units++)
    if (exactly ? strcmp (units->name, name) == 0 : strcasecmp (units->name, name) == 0)
      return units;
  return NULL;
}

/* DIGITS[.DIGITS], a blank or none, UNIT. The result must be a whole number. */
static int
number_parse (const char *text, const struct unit *units, const char *bare, bool exactly, uint64_t max, uint64_t *value)
{
  size_t whole_length = strspn (text, "0123456789");
  const char *fraction = text + whole_length;
  size_t fraction_length = 0;
  if (*fraction == '.') {
    fraction++;
    fraction_length = strspn (fraction, "0123456789");
    if (fraction_length == 0)
      return -1;
  }
  const char *name = fraction + fraction_length;
  while (*name == ' ')
    name++;
  const struct unit *unit = unit_find (units, *name != '\0' ? name : bare, exactly);
  if (whole_length == 0 || unit == NULL)
    return -1;

  uint64_t result = 0;
  for (size_t i = 0; i < whole_length; i++) {
    uint64_t digit = (uint64_t) (text[i] - '0');
    if (result > (max / unit->times - digit) / 10)
      return -1;
    result = result * 10 + digit;
  }
  result *= unit->times;
  uint64_t step = unit->times;
  for (size_t i = 0; i < fraction_length; i++) {
    if (step % 10 != 0)
      return -1;
    step /= 10;
    result += (uint64_t) (fraction[i] - '0') * step;
  }
  if (result > max)
    return -1;
  *value = result;
  return 0;
}

int
duration_parse (const char *text, int64_t *ns, struct error *error)
{
  uint64_t value;
  if (number_parse (text, duration_units, "s", true, INT64_MAX, &value) != 0)
    return error_set (error, "expected a duration, such as 500ms, 5s, 1m or 2h, not \"%.64s\"", text);
  *ns = (int64_t) value;
  return 0;
}

static int
size_parse (const char *text, uint64_t *value)
{
  return number_parse (text, size_units, "", false, UINT64_MAX, value);
}

static int
boolean_parse (const char *text, bool *value)
{
  static const char *const yes[] = { "yes", "true", "on", "1" }, *const no[] = { "no", "false", "off", "0" };
  for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
    *value = strcasecmp (text, yes[i]) == 0;
    if (*value || strcasecmp (text, no[i]) == 0)
      return 0;
  }
  return -1;
}

void
config_hint_word (struct error *error, const char *word)
{
  bool value;

  if (boolean_parse (word, &value) == 0)
    error_set (error, "%s; a yes or no stands behind a '=': --OPTION=%.8s", error->text, word);
}

static int
choice_parse (const char *text, const char *const *choices, int *value)
{
  for (int i = 0; choices[i] != NULL; i++)
    if (strcmp (text, choices[i]) == 0) {
      *value = i;
      return 0;
    }
  return -1;
}

/* ---- what is expected ---- */

static void
expect_range (const struct option *option, struct buffer *out)
{
  if (option->minimum != NULL && option->maximum != NULL)
    buffer_printf (out, " from %s to %s", option->minimum, option->maximum);
  else if (option->minimum != NULL)
    buffer_printf (out, " of at least %s", option->minimum);
  else if (option->maximum != NULL)
    buffer_printf (out, " of at most %s", option->maximum);
}

static int
expected (const struct option *option, const char *text, struct error *error)
{
  struct buffer out = { 0 };

  switch (option->type) {
  case OPTION_DURATION:
    buffer_add_string (&out, "a duration");
    expect_range (option, &out);
    buffer_add_string (&out, ", such as 500ms, 5s, 1m or 2h");
    break;
  case OPTION_SIZE:
    buffer_add_string (&out, "a number");
    expect_range (option, &out);
    buffer_add_string (&out, ", k, M or G may follow it");
    break;
  case OPTION_BOOLEAN:
    buffer_add_string (&out, "yes or no");
    break;
  case OPTION_CHOICE:
    for (size_t i = 0; option->choices[i] != NULL; i++)
      buffer_printf (&out, "%s%s", i == 0 ? "one of " : ", ", option->choices[i]);
    break;
  case OPTION_PATH:
    buffer_add_string (&out, "a path");
    break;
  case OPTION_TEXT:
  case OPTION_LIST:
    buffer_add_string (&out, "a text");
    break;
  }
  error_set (error, "expected %.*s, not \"%.64s\"", (int) out.length, out.data, text);
  buffer_free (&out);
  return -1;
}

/* ---- taking a value ---- */

static int
take_duration (const struct setting *setting, const char *text, struct error *error)
{
  const struct option *option = setting->option;
  int64_t value = 0, limit = 0;
  if (duration_parse (text, &value, NULL) != 0 ||
      (option->minimum != NULL && duration_parse (option->minimum, &limit, NULL) == 0 && value < limit) ||
      (option->maximum != NULL && duration_parse (option->maximum, &limit, NULL) == 0 && value > limit))
    return expected (option, text, error);
  *(int64_t *) setting->field = value;
  return 0;
}

static int
take_size (const struct setting *setting, const char *text, struct error *error)
{
  const struct option *option = setting->option;
  uint64_t value = 0, limit = 0;
  if (size_parse (text, &value) != 0 ||
      (option->minimum != NULL && size_parse (option->minimum, &limit) == 0 && value < limit) ||
      (option->maximum != NULL && size_parse (option->maximum, &limit) == 0 && value > limit))
    return expected (option, text, error);
  *(uint64_t *) setting->field = value;
  return 0;
}

static int
take (const struct setting *setting, const char *text, struct error *error)
{
  const struct option *option = setting->option;
  bool yes;
  int choice;

  switch (option->type) {
  case OPTION_DURATION:
    return take_duration (setting, text, error);
  case OPTION_SIZE:
    return take_size (setting, text, error);
  case OPTION_BOOLEAN:
    if (boolean_parse (text, &yes) != 0)
      return expected (option, text, error);
    *(bool *) setting->field = yes;
    return 0;
  case OPTION_CHOICE:
    if (choice_parse (text, option->choices, &choice) != 0)
      return expected (option, text, error);
    *(int *) setting->field = choice;
    return 0;
  case OPTION_PATH:
    if (*text == '\0')
      return expected (option, text, error);
    return option->check != NULL ? option->check (text, error) : 0;
  case OPTION_TEXT:
    return option->check != NULL ? option->check (text, error) : 0;
  case OPTION_LIST:
    return option->check != NULL && *text != '\0' ? option->check (text, error) : 0;
  }
  return -1;
}

static void
take_nothing (const struct setting *setting)
{
  switch (setting->option->type) {
  case OPTION_DURATION:
    *(int64_t *) setting->field = 0;
    break;
  case OPTION_SIZE:
    *(uint64_t *) setting->field = 0;
    break;
  case OPTION_BOOLEAN:
    *(bool *) setting->field = false;
    break;
  case OPTION_CHOICE:
    *(int *) setting->field = 0;
    break;
  case OPTION_TEXT:
  case OPTION_PATH:
  case OPTION_LIST:
    break;
  }
}

static bool
is_text (const struct option *option)
{
  return option->type == OPTION_TEXT || option->type == OPTION_PATH || option->type == OPTION_LIST;
}

bool
setting_is_unset (const struct setting *setting)
{
  return !is_text (setting->option) && *setting->text == '\0';
}

static bool
is_blank (char c)
{
  return c == ' ' || c == '\t';
}

/* A copy without blanks around it; of a list, without blanks around its words and without empty words. */
static char *
tidy (const struct option *option, const char *text)
{
  char *made = memory_new (strlen (text) + 1, 1);
  char *end = made;   /* end of the copy */
  char *solid = made; /* behind the last byte that is no blank */

  for (; *text != '\0'; text++) {
    bool comma = option->type == OPTION_LIST && *text == ',';
    if (is_blank (*text) && solid == end && (end == made || (option->type == OPTION_LIST && end[-1] == ',')))
      continue;
    if (comma) {
      end = solid;
      if (end == made || end[-1] == ',')
        continue;
    }
    *end++ = *text;
    if (!is_blank (*text))
      solid = end;
  }
  if (option->type == OPTION_LIST && solid > made && solid[-1] == ',')
    solid--;
  *solid = '\0';
  return made;
}

/* Texts that an INI file cannot hold are refused on the command line too. */
static int
text_check (const char *text, struct error *error)
{
  size_t length = strlen (text);
  if (length > VALUE_MAX)
    return error_set (error, "%zu characters are too many; no value has more than %d", length, VALUE_MAX);
  if (length > 1 && *text == '"' && text[length - 1] == '"')
    return error_set (error, "expected a value without quotes, not %.64s", text);
  for (const char *at = text; *at != '\0'; at++) {
    if ((unsigned char) *at < ' ' || *at == 0x7f)
      return error_set (error, "expected a text without control characters, not \"%.64s\"", text);
    if ((*at == '#' || *at == ';') && (at == text || is_blank (at[-1])))
      return error_set (error,
                        "\"%.64s\" holds '%c' behind a blank; a comment behind a value begins with \" ;\", and no "
                        "value may hold one",
                        text, *at);
  }
  return 0;
}

int
setting_set (struct setting *setting, const char *text, struct error *error)
{
  const struct option *option = setting->option;
  bool nothing_is_default = option->fallback == NULL || *option->fallback == '\0';
  char *tidied = tidy (option, text);

  if (*tidied == '\0' && nothing_is_default)
    take_nothing (setting);
  else if (text_check (tidied, error) != 0 || take (setting, tidied, error) != 0) {
    free (tidied);
    return -1;
  }
  free (setting->text);
  setting->text = tidied;
  if (is_text (option))
    *(char **) setting->field = tidied;
  return 0;
}
