/* See send_options.h. */
#include "aggregator/send/send_options.h"

#include <curl/curl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "synop/data_folder.h"
#include "synop/naming.h"
#include "synop/send_labels.h"

#define AT(member) .offset = offsetof (struct send_options, member)

#define TYPE(name) &send_##name,
#define TYPE_NAME(name) #name,
static const struct send_type *const types[] = { SEND_TYPES (TYPE) };
static const char *const type_names[] = { SEND_TYPES (TYPE_NAME) NULL };

const struct send_type *
send_type_of (const struct send_options *options)
{
  return types[options->type];
}

const void *
send_own (const struct send_options *options)
{
  return config_part_of (&send_config_type, options, &types[options->type]->own);
}

const char *
send_names (const struct send_options *options)
{
  const char *usual = types[options->type]->names;

  return *options->names ? options->names : usual ? usual : SEND_NAMES;
}

int64_t
send_period (const struct send_options *options)
{
  return options->period_ns ? options->period_ns : types[options->type]->period_ns;
}

int64_t
send_gather (const struct send_options *options)
{
  const struct send_type *type = types[options->type];

  return type->gather_ns ? type->gather_ns (send_own (options)) : 0;
}

bool
send_posts (const struct send_options *options)
{
  const struct send_type *type = types[options->type];

  return type->pack && !*options->folder &&
         (!type->deliver || !*options->url || strncmp (options->url, "http", 4) == 0);
}

bool
send_is_stopped (const struct send_setting *setting)
{
  struct pollfd stop = { .fd = setting->stop, .events = POLLIN };

  return poll (&stop, 1, 0) > 0;
}

/* ---- the others ---- */

static int
check_url (const char *value, struct error *error)
{
  CURLU *url;
  CURLUcode code;
  char *user = NULL;

  url = curl_url ();
  code = curl_url_set (url, CURLUPART_URL, value,
                       CURLU_NON_SUPPORT_SCHEME | (strncmp (value, "unix:", 5) == 0 ? CURLU_NO_AUTHORITY : 0));
  if (code == CURLUE_OK && curl_url_get (url, CURLUPART_USER, &user, 0) == CURLUE_OK)
    error_set (error, "must hold no user and password: user and password_file are for them");
  else if (code != CURLUE_OK)
    error_set (error, "is no URL; expected such as http://HOST[:PORT][/PATH]");
  curl_url_cleanup (url);
  curl_free (user);
  return code != CURLUE_OK || user ? -1 : 0;
}

int
send_check_plain (const struct send_options *options, struct error *error)
{
  struct naming *naming = naming_create ();
  char folder[4096];
  int result = 0;

  data_folder ("aggregator", "names", folder, sizeof folder);
  if (naming_load (naming, send_names (options), folder, NULL) == 0)
    result = naming_check_plain (naming, error);
  naming_destroy (naming);
  return result < 0 ? error_prefix (error, "names: ") : 0;
}

/* ---- what goes together ---- */

static bool
has_word (const char *words, const char *word)
{
  size_t length = strlen (word);

  for (const char *at = words; at && (at = strstr (at, word)); at += length)
    if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
      return true;
  return false;
}

static bool
has_own (const struct send_type *type, const char *key)
{
  for (size_t i = 0; i < type->own.option_count; i++)
    if (strcmp (type->own.options[i].key, key) == 0)
      return true;
  return false;
}

/* May the type have this option? */
static int
check_given (const void *instance, const char *key, struct error *error)
{
  const struct send_options *options = instance;
  const struct send_type *type = types[options->type];

  if (has_word ("type groups nodes period timeout retry repeat", key) || has_word (type->shared, key) ||
      has_own (type, key) || (type->schemes && strcmp (key, "url") == 0))
    return 0;
  return error_set (error, "%s: type %s has no such option", key, type->name);
}

/* "http:// or https://" */
static int
check_scheme (const struct send_options *options, struct error *error)
{
  const char *schemes = types[options->type]->schemes;
  size_t length = strcspn (options->url, ":");
  char scheme[32], list[128] = "";

  snprintf (scheme, sizeof scheme, "%.*s", (int) length, options->url);
  if (has_word (schemes, scheme) && strncmp (options->url + length, "://", 3) == 0)
    return 0;
  for (size_t word; *schemes; schemes += word + (schemes[word] == ' ')) {
    size_t written = strlen (list);
    word = strcspn (schemes, " ");
    snprintf (list + written, sizeof list - written, "%s%.*s://", written ? " or " : "", (int) word, schemes);
  }
  return error_set (error, "url: must begin with %s", list);
}

static int
check_url_there (const struct send_options *options, struct error *error)
{
  const struct send_type *type = types[options->type];

  if (!type->schemes || (!*options->url && type->url_optional))
    return 0;
  if (!*options->url)
    return error_set (error, "url: must be given");
  return check_scheme (options, error);
}

static int
check_together (const void *instance, struct error *error)
{
  const struct send_options *options = instance;
  const struct send_type *type = types[options->type];

  if (check_url_there (options, error) < 0)
    return -1;
  if (!!*options->bearer_file + !!*options->token_file + !!*options->user > 1)
    return error_set (error, "user: goes with neither bearer_file nor token_file, nor they with each other");
  if (!*options->user != !*options->password_file)
    return error_set (error, "user: goes with password_file");
  if (!*options->certificate != !*options->key)
    return error_set (error, "certificate: goes with key");
  return type->check ? type->check (options, send_own (options), error) : 0;
}

static const struct option options[] = {
  { "", "type", NULL, OPTION_CHOICE, AT (type), "remote_write", .choices = type_names,
    .help = "What the receiver understands: docs/outlets.md says what each is for." },
  { "", "url", NULL, OPTION_TEXT, AT (url), .check = check_url,
    .help =
        "Where to: http://HOST:9090/api/v1/write of Prometheus, http://HOST:8428/api/v1/write of VictoriaMetrics." },
  { "", "names", NULL, OPTION_LIST, AT (names), .check = send_names_check,
    .help = "What metrics are called: sets, and names files by their path. Empty: what is usual for the type, "
            "of most " SEND_NAMES "." },
  { "", "groups", NULL, OPTION_LIST, AT (groups), .help = "Patterns of the groups that are sent. Empty: all." },
  { "", "nodes", NULL, OPTION_LIST, AT (nodes), .help = "Patterns of the nodes that are sent. Empty: all." },
  { "", "period", NULL, OPTION_DURATION, AT (period_ns), NULL, "100ms", "1h",
    .help = "A sample of each series so often; of groups that are sampled less often, each. Empty: 15s; each frame for "
            "types that take frames." },
  { "", "job", NULL, OPTION_TEXT, AT (job), "synop", .help = "The label job of all series." },
  { "", "labels", NULL, OPTION_LIST, AT (labels), .check = send_labels_check,
    .help = "Labels that all series get: NAME=VALUE, parted by commas." },
  { "", "bearer_file", NULL, OPTION_PATH, AT (bearer_file),
    .help = "File with the token for \"Authorization: Bearer\"." },
  { "", "token_file", NULL, OPTION_PATH, AT (token_file), .help = "File with a token, of influx and nats." },
  { "", "user", NULL, OPTION_TEXT, AT (user), .help = "Name for HTTP Basic, for NATS, for SASL of Kafka." },
  { "", "password_file", NULL, OPTION_PATH, AT (password_file), .help = "File with the password for it." },
  { "", "ca", NULL, OPTION_PATH, AT (ca),
    .help = "PEM file with those who may sign the receiver's certificate. Empty: those that the system trusts." },
  { "", "certificate", NULL, OPTION_PATH, AT (certificate), .help = "PEM file with the certificate to show." },
  { "", "key", NULL, OPTION_PATH, AT (key), .help = "PEM file with its secret key." },
  { "", "timeout", NULL, OPTION_DURATION, AT (timeout_ns), "30s", "100ms", "10m",
    .help = "A request that has no answer by then is tried again." },
  { "", "retry", NULL, OPTION_DURATION, AT (retry_ns), "5s", "100ms", "10m",
    .help = "What was not taken is tried again after 0.5 s, then after pauses that double up to this one. A receiver "
            "that asks for more by Retry-After gets it." },
  { "", "repeat", NULL, OPTION_DURATION, AT (repeat_ns), "0s", "0s", "1h",
    .help =
        "When the receiver was away, what it took in the last so long before is sent once more: for those that keep it "
        "in memory first, such as VictoriaMetrics. Prometheus needs none." },
  { "", "folder", NULL, OPTION_PATH, AT (folder),
    .help = "Of file, and of cloudwatch with format = emf: the folder, which is there. Files in it are called "
            "NAME-20261123T074700.123Z.jsonl, by the section's name and when they were begun." },
  { "", "size", NULL, OPTION_SIZE, AT (size), "100M", "4k", "1T",
    .help = "Of files: one that has so many bytes is followed by another." },
  { "", "age", NULL, OPTION_DURATION, AT (age_ns), "24h", "1s", "8760h",
    .help = "Of files: one that was begun so long ago is followed by another." },
  { "", "keep", NULL, OPTION_SIZE, AT (keep), "0", "0", "1M",
    .help = "Of files: so many are kept, and the oldest deleted. 0: all." },
};

#define OWN(name) &send_##name.own,
static const struct config_part *const own[] = { SEND_TYPES (OWN) NULL };

const struct config_type send_config_type = {
  .name = "send",
  .help = "Where samples and frames go: each such section is a sender of its own.",
  .first = { options, sizeof options / sizeof options[0], sizeof (struct send_options) },
  .others = own,
  .check = check_together,
  .check_given = check_given,
};
