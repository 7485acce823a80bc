/* See commands.h: "token USER". The token alone goes to standard output; only its hash is kept. */
#include "aggregator/command/commands.h"

#include <string.h>

#include "aggregator/access/access_tokens.h"
#include "aggregator/access/access_view.h"
#include "synop/file.h"
#include "synop/log.h"

static int
make (const char *path, const char *user)
{
  struct buffer token = { 0 };
  struct error error;
  int code = 1;

  if (access_token_make (path, user, &token, &error) < 0) {
    log_error ("%s", error.text);
  } else {
    buffer_add_string (&token, "\n");
    code = file_print (&token);
    log_info ("%s has a hash more, of %s; the token goes into ~/.config/synop/token of that user, with mode 0600", path,
              user);
  }
  if (token.length)
    explicit_bzero (token.data, token.length);
  buffer_free (&token);
  return code;
}

static int
revoke (const char *path, const char *user)
{
  struct error error;
  int count = access_token_revoke (path, user, &error);

  if (count < 0)
    log_error ("%s", error.text);
  else if (count == 0)
    log_error ("%s: %s has no token", path, user);
  else
    log_info ("%s: %d of %s %s taken away", path, count, user, count == 1 ? "is" : "are");
  return count > 0 ? 0 : 1;
}

int
token_run (const struct options *options)
{
  const struct access_settings *settings = options_of_view (options, &access_view);

  return options->revoke ? revoke (settings->tokens, options->of_user) : make (settings->tokens, options->of_user);
}
