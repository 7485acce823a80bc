/* See send_options.h. */
#include "aggregator/send/send_options.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "synop/data_folder.h"
#include "synop/naming.h"

#define AT(member) .offset = offsetof (struct send_options, member)

#define TYPE(name) &send_##name,
#define TYPE_NAME(name) #name,
static const struct send_type *const types[] = { SEND_TYPES (TYPE) };
static const char *const type_names[] = { SEND_TYPES (TYPE_NAME) NULL };
static const char *const protocols[] = { [PROTOCOL_AUTO] = "auto", [PROTOCOL_1] = "1.0", [PROTOCOL_2] = "2.0", NULL };

const struct send_type *
send_type_of (const struct send_options *options)
{
  return types[options->type];
}

/* ---- labels ---- */

static bool
is_label_name (const char *name)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", all[] = "0123456789";

  if (!*name || !strchr (letters, *name) || strncmp (name, "__", 2) == 0)
    return false;
  for (; *name; name++)
    if (!strchr (letters, *name) && !strchr (all, *name))
      return false;
  return true;
}

int
send_extra_next (const char **at, struct send_extra *extra, struct error *error)
{
  size_t length = strcspn (*at += strspn (*at, ", "), ",");
  const char *equals = memchr (*at, '=', length);
  int shown = (int) (length < 64 ? length : 64);

  if (length == 0)
    return 0;
  if (!equals || (size_t) (equals - *at) >= sizeof extra->name ||
      length - (size_t) (equals - *at) - 1 >= sizeof extra->value)
    return error_set (error, "\"%.*s\": expected NAME=VALUE", shown, *at);
  snprintf (extra->name, sizeof extra->name, "%.*s", (int) (equals - *at), *at);
  snprintf (extra->value, sizeof extra->value, "%.*s", (int) (length - (size_t) (equals - *at) - 1), equals + 1);
  if (!is_label_name (extra->name))
    return error_set (error, "\"%s\" is no name of a label: letters, digits and _, none of the first two both _",
                      extra->name);
  if (strcmp (extra->name, "instance") == 0 || strcmp (extra->name, "job") == 0)
    return error_set (error, "\"%s\" is the node's name, or the option job", extra->name);
  *at += length;
  return 1;
}

static int
check_labels (const char *value, struct error *error)
{
  struct send_extra extra, other;
  size_t count = 0;
  int result;

  while ((result = send_extra_next (&value, &extra, error)) > 0) {
    if (++count > SEND_EXTRAS_MAX)
      return error_set (error, "at most %d labels", SEND_EXTRAS_MAX);
    for (const char *at = value; send_extra_next (&at, &other, error) > 0;)
      if (strcmp (extra.name, other.name) == 0)
        return error_set (error, "\"%s\" stands twice", extra.name);
  }
  return result;
}

/* ---- the others ---- */

static int
check_url (const char *value, struct error *error)
{
  CURLU *url;
  CURLUcode code;
  char *user = NULL;

  if (strncmp (value, "http://", 7) != 0 && strncmp (value, "https://", 8) != 0)
    return error_set (error, "must begin with http:// or https://");
  url = curl_url ();
  code = curl_url_set (url, CURLUPART_URL, value, 0);
  if (code == CURLUE_OK && curl_url_get (url, CURLUPART_USER, &user, 0) == CURLUE_OK)
    error_set (error, "must hold no user and password: user and password_file are for them");
  else if (code != CURLUE_OK)
    error_set (error, "is no URL; expected http://HOST[:PORT][/PATH]");
  curl_url_cleanup (url);
  curl_free (user);
  return code != CURLUE_OK || user ? -1 : 0;
}

#define NAMES_DEFAULT "node-exporter,dcgm-exporter,synop"

/* Files of the default that are not there are no fault of who wrote the options: the sender says so. */
static int
check_names (const char *value, struct error *error)
{
  struct naming *naming = naming_create ();
  char folder[4096];
  int result;

  data_folder ("aggregator", "names", folder, sizeof folder);
  result = strcmp (value, NAMES_DEFAULT) == 0 ? 0 : naming_load (naming, value, folder, error);
  naming_destroy (naming);
  return result;
}

static int
check_together (const void *instance, struct error *error)
{
  const struct send_options *options = instance;

  if (!*options->url)
    return error_set (error, "url: must be given");
  if (*options->bearer_file && *options->user)
    return error_set (error, "bearer_file: goes not with user");
  if (!*options->user != !*options->password_file)
    return error_set (error, "user: goes with password_file");
  if (!*options->certificate != !*options->key)
    return error_set (error, "certificate: goes with key");
  return 0;
}

static const struct option options[] = {
  { "", "type", NULL, OPTION_CHOICE, AT (type), "remote_write", .choices = type_names,
    .help = "What the receiver understands: Prometheus' remote write." },
  { "", "url", NULL, OPTION_TEXT, AT (url), .check = check_url,
    .help =
        "Where to: http://HOST:9090/api/v1/write of Prometheus, http://HOST:8428/api/v1/write of VictoriaMetrics." },
  { "", "protocol", NULL, OPTION_CHOICE, AT (protocol), "auto", .choices = protocols,
    .help = "Of remote write: 2.0, 1.0, or 2.0 until the receiver shows that it takes 1.0 alone." },
  { "", "names", NULL, OPTION_LIST, AT (names), NAMES_DEFAULT, .check = check_names,
    .help = "What metrics are called: sets, and names files by their path." },
  { "", "groups", NULL, OPTION_LIST, AT (groups), .help = "Patterns of the groups that are sent. Empty: all." },
  { "", "nodes", NULL, OPTION_LIST, AT (nodes), .help = "Patterns of the nodes that are sent. Empty: all." },
  { "", "period", NULL, OPTION_DURATION, AT (period_ns), "15s", "100ms", "1h",
    .help = "A sample of each series so often; of groups that are sampled less often, each." },
  { "", "job", NULL, OPTION_TEXT, AT (job), "synop", .help = "The label job of all series." },
  { "", "labels", NULL, OPTION_LIST, AT (labels), .check = check_labels,
    .help = "Labels that all series get: NAME=VALUE, parted by commas." },
  { "", "bearer_file", NULL, OPTION_PATH, AT (bearer_file),
    .help = "File with the token for \"Authorization: Bearer\"." },
  { "", "user", NULL, OPTION_TEXT, AT (user), .help = "Name for HTTP Basic." },
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
};

const struct config_type send_config_type = { "send",
                                              "Where samples go: each such section is a sender of its own.",
                                              options,
                                              sizeof options / sizeof options[0],
                                              sizeof (struct send_options),
                                              check_together };
