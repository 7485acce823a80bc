/* See aws.h. */
#include "common/send/aws.h"

#include <ini.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/send/aws_metadata.h"
#include "synop/file.h"
#include "synop/memory.h"

#define RENEW_BEFORE 300 /* s */
#define FILE_MAX 65536

struct aws {
  const struct aws_options *options;
  struct aws_keys keys;
  bool of_role; /* they are kept */
  char region[64];
};

struct aws *
aws_create (const struct aws_options *options)
{
  struct aws *aws = memory_new (1, sizeof *aws);

  aws->options = options;
  return aws;
}

void
aws_destroy (struct aws *aws)
{
  if (!aws)
    return;
  explicit_bzero (aws, sizeof *aws);
  free (aws);
}

void
aws_forget (struct aws *aws)
{
  aws->of_role = false;
}

/* "": it is not there. */
static const char *
environment (const char *name)
{
  const char *value = getenv (name);

  return value ? value : "";
}

/* What goes into headers holds nothing but plain characters. */
static bool
put (char *to, size_t size, const char *value)
{
  size_t length = strlen (value);

  for (size_t i = 0; i < length; i++)
    if (value[i] <= ' ' || value[i] > '~')
      return false;
  if (length >= size)
    return false;
  memcpy (to, value, length + 1);
  return true;
}

/* ---- the environment ---- */

/* As the other sources: 1, 0 when it has none, -1 and error. */
static int
read_environment (struct aws_keys *keys, struct error *error)
{
  const char *id = environment ("AWS_ACCESS_KEY_ID"), *secret = environment ("AWS_SECRET_ACCESS_KEY");

  if (!*id && !*secret)
    return 0;
  if (!*id || !*secret)
    return error_set (error, "the environment has one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and not both");
  if (!put (keys->id, sizeof keys->id, id) || !put (keys->secret, sizeof keys->secret, secret) ||
      !put (keys->token, sizeof keys->token, environment ("AWS_SESSION_TOKEN")))
    return error_set (error, "the environment's AWS keys are too long, or no keys");
  return 1;
}

/* ---- the shared file ---- */

struct profile {
  const char *name;
  struct aws_keys *keys;
  bool found, too_long;
};

static int
take_pair (void *context, const char *section, const char *name, const char *value)
{
  struct profile *profile = context;
  struct aws_keys *keys = profile->keys;
  bool fits = true;

  if (strcmp (section, profile->name) != 0)
    return 1;
  profile->found = true;
  if (strcmp (name, "aws_access_key_id") == 0)
    fits = put (keys->id, sizeof keys->id, value);
  else if (strcmp (name, "aws_secret_access_key") == 0)
    fits = put (keys->secret, sizeof keys->secret, value);
  else if (strcmp (name, "aws_session_token") == 0)
    fits = put (keys->token, sizeof keys->token, value);
  profile->too_long |= !fits;
  return 1;
}

int
aws_read_profile (const char *text, const char *profile, struct aws_keys *keys, struct error *error)
{
  struct profile wanted = { profile, keys, false, false };
  int line = ini_parse_string (text, take_pair, &wanted);

  if (line > 0)
    return error_set (error, "line %d is none of [PROFILE] and NAME = VALUE", line);
  if (!wanted.found)
    return 0;
  if (wanted.too_long || !*keys->id || !*keys->secret)
    return error_set (error, "[%s] has no aws_access_key_id and aws_secret_access_key%s", profile,
                      wanted.too_long ? " of a usual length" : "");
  return 1;
}

static int
read_shared_file (const struct aws_options *options, struct aws_keys *keys, struct error *error)
{
  const char *profile = *options->profile ? options->profile : environment ("AWS_PROFILE");
  const char *path =
      *options->credentials_file ? options->credentials_file : environment ("AWS_SHARED_CREDENTIALS_FILE");
  bool asked = *profile || *path;
  char own[PATH_MAX], *text;
  int result;

  snprintf (own, sizeof own, "%s/.aws/credentials", environment ("HOME"));
  path = *path ? path : own;
  profile = *profile ? profile : "default";
  text = memory_new (1, FILE_MAX);
  result = file_read_text (path, text, FILE_MAX, error) < 0 ? -1 : aws_read_profile (text, profile, keys, error);
  if (result < 0 && *text)
    error_prefix (error, "%s: ", path);
  if (result == 0 && asked)
    result = error_set (error, "%s has no profile %s", path, profile);
  if (result < 0 && !asked && !*text)
    result = 0;
  explicit_bzero (text, FILE_MAX);
  free (text);
  return result;
}

/* ---- roles ---- */

static const char *
text_of (const json_t *object, const char *key)
{
  const char *text = json_string_value (json_object_get (object, key));

  return text ? text : "";
}

static int
take_role (const json_t *answer, struct aws_keys *keys, struct error *error)
{
  struct tm end = { 0 };

  if (!put (keys->id, sizeof keys->id, text_of (answer, "AccessKeyId")) ||
      !put (keys->secret, sizeof keys->secret, text_of (answer, "SecretAccessKey")) ||
      !put (keys->token, sizeof keys->token, text_of (answer, "Token")) || !*keys->id || !*keys->secret)
    return error_set (error, "it gives no keys: %.100s", text_of (answer, "Message"));
  if (strptime (text_of (answer, "Expiration"), "%Y-%m-%dT%H:%M:%SZ", &end))
    keys->expires_s = timegm (&end);
  return 1;
}

int
aws_read_role (const char *text, struct aws_keys *keys, struct error *error)
{
  json_t *answer = json_loads (text, 0, NULL);
  int result = answer ? take_role (answer, keys, error) : error_set (error, "it answers no JSON");

  json_decref (answer);
  return result;
}

static int
ask_role (struct aws_keys *keys, struct error *error)
{
  char text[16384];
  int result = aws_metadata_role (text, sizeof text, error);

  if (result > 0)
    result = aws_read_role (text, keys, error);
  explicit_bzero (text, sizeof text);
  return result;
}

/* ---- the first that there is ---- */

static int
find_keys (struct aws *aws, struct error *error)
{
  struct aws_keys *keys = &aws->keys;
  bool asked = *aws->options->profile || *aws->options->credentials_file;
  int result = 0;

  explicit_bzero (keys, sizeof *keys);
  aws->of_role = false;
  if (!asked)
    result = read_environment (keys, error);
  if (result == 0)
    result = read_shared_file (aws->options, keys, error);
  if (result != 0)
    return result;
  result = ask_role (keys, error);
  aws->of_role = result > 0;
  if (result < 0)
    error_prefix (error,
                  "there are no keys for AWS: none in the environment or in ~/.aws/credentials, and of a role: ");
  return result;
}

const struct aws_keys *
aws_keys (struct aws *aws, int64_t now_s, struct error *error)
{
  int64_t expires_s = aws->keys.expires_s;
  struct aws_keys old;
  bool good;

  if (aws->of_role && (!expires_s || now_s < expires_s - RENEW_BEFORE))
    return &aws->keys;
  old = aws->keys;
  good = aws->of_role && now_s < expires_s;
  if (find_keys (aws, error) < 0) {
    aws->keys = old;
    aws->of_role = good;
  } else {
    good = true;
  }
  explicit_bzero (&old, sizeof old);
  return good ? &aws->keys : NULL;
}

/* It becomes a part of a host's name. */
static const char *
check_region (const char *region, struct error *error)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

  if (*region && strspn (region, letters) == strlen (region) && strlen (region) < 64)
    return region;
  error_set (error, "\"%.64s\" is no region of AWS, such as eu-west-1", region);
  return NULL;
}

const char *
aws_region (struct aws *aws, struct error *error)
{
  const char *region = *aws->options->region ? aws->options->region : environment ("AWS_REGION");

  region = *region ? region : environment ("AWS_DEFAULT_REGION");
  if (*region)
    return check_region (region, error);
  if (!*aws->region && aws_metadata_region (aws->region, sizeof aws->region, error) < 0) {
    error_prefix (error, "region: neither the option nor AWS_REGION says which, and of the instance: ");
    *aws->region = '\0';
    return NULL;
  }
  return check_region (aws->region, error);
}
