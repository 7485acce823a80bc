/* See access_view.h. */
#include "aggregator/access/access_view.h"

#include <stddef.h>
#include <string.h>

#define AT(member) .offset = offsetof (struct access_settings, member)
#define TAKEN .reload = OPTIONS_RELOADED

static const char *const sees[] = { "own", "all", NULL };            /* as enum access_sees */
static const char *const sockets[] = { "group", "everybody", NULL }; /* as enum access_socket */

static int
check_url (const char *value, struct error *error)
{
  bool http = strncmp (value, "http://", 7) == 0 || strncmp (value, "https://", 8) == 0;

  if (*value && !http)
    return error_set (error, "must begin with http:// or https://");
  return strchr (value, '@') || strpbrk (value, " ?#") ? error_set (error, "must be no more than https://HOST:PORT/")
                                                       : 0;
}

static const struct option options[] = {
  { "access", "admins", "access-admins", OPTION_LIST, AT (admins),
    .fallback = "root, @synop, slurm, prometheus, synop-portal", TAKEN,
    .help = "Users, and @groups of users, who see the jobs of everybody; others see their own. On the aggregator's "
            "host root "
            "and its own user always do." },
  { "access", "everybody_sees", "access-everybody-sees", OPTION_CHOICE, AT (everybody_sees), .fallback = "own",
    .choices = sees, TAKEN, .help = "all: whoever may connect sees the jobs of everybody, as admins do." },
  { "access", "socket", "access-socket", OPTION_CHOICE, AT (socket), .fallback = "group", .choices = sockets,
    .help = "Who may open the UNIX socket: the aggregator's user and group, or every user of the host." },
  { "access", "tokens", "access-tokens", OPTION_PATH, AT (tokens), .fallback = "/etc/synop/keys/tokens", TAKEN,
    .help = "File of the hashes of users' tokens, as \"synop-aggregator token USER\" makes them, of mode 0600." },
  { "access", "munge_socket", "access-munge-socket", OPTION_PATH, AT (munge_socket), TAKEN,
    .help = "The socket of munged, for who shows a credential of MUNGE. Empty: where libmunge looks for it." },
  { "access", "proxy_user_header", "access-proxy-user-header", OPTION_TEXT, AT (proxy_user_header), TAKEN,
    .help =
        "The header in which one of [http] trusted_proxies names the user whom it has let in, as X-Remote-User; it has "
        "to take away what its clients send of that name. Empty: who asks a proxy is nobody." },
  { "traces", "users", "trace-users", OPTION_LIST, AT (tracers), TAKEN,
    .help = "Users, and @groups of users, who may have the processes of any job traced, beside root and the "
            "aggregator's own user: \"synop-aggregator trace JOB\"." },
  { "access", "url", "url", OPTION_TEXT, AT (url), .check = check_url,
    .help = "Of commands: where the aggregator answers over HTTP, as https://master:5580/, for hosts that have neither "
            "its socket nor its history. SYNOP_URL goes before the file." },
  { "access", "ca", "access-ca", OPTION_PATH, AT (ca),
    .help = "Of commands: PEM file with the certificates that its own is checked against. Empty: those that the system "
            "trusts." },
};

static int
open_access (const struct view_context *context, void **state, struct error *error)
{
  (void) error;
  *state = access_create (context->options);
  return 0;
}

static void
reload_access (void *access)
{
  access_reload (access);
}

static int
close_access (void *access)
{
  access_destroy (access);
  return 0;
}

const struct view access_view = {
  .name = "access",
  .options = options,
  .option_count = sizeof options / sizeof options[0],
  .options_size = sizeof (struct access_settings),
  .open = open_access,
  .reload = reload_access,
  .close = close_access,
};
