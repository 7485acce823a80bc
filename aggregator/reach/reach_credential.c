/* What shows who asks; see reach_private.h. */
#include "aggregator/reach/reach_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/access/access_munge.h"
#include "synop/file.h"
#include "synop/memory.h"

#define TOKEN_MAX 512

const char *const reach_credential_names[REACH_CREDENTIALS] = { " by MUNGE", " by a token", "" };

static int
make_munge (const struct reach *reach, const char *target, struct buffer *header, struct error *error)
{
  char *payload = memory_format ("GET %s", target);
  int result;

  buffer_add_string (header, "Authorization: MUNGE ");
  result = access_munge_encode (reach->munge_socket, payload, header, error);
  free (payload);
  return result;
}

/* ---- a token ---- */

static int
token_read (const char *path, char token[TOKEN_MAX], struct error *error)
{
  int fd = file_open (path);
  struct stat status;
  ssize_t length;

  if (fd < 0)
    return error_set (error, "no token: %s: %s", path, file_error_text (-fd));
  if (fstat (fd, &status) < 0 || (status.st_mode & (S_IRWXG | S_IRWXO)) ||
      (status.st_uid != geteuid () && status.st_uid != 0)) {
    error_set (error, "the token is not used, since others can get at it; run: chmod 600 %s", path);
    file_close (&fd);
    return -1;
  }
  length = file_read (fd, token, TOKEN_MAX - 1);
  file_close (&fd);
  token[length > 0 ? length : 0] = '\0';
  token[strcspn (token, " \r\n")] = '\0';
  return *token ? 0 : error_set (error, "no token: %s is empty", path);
}

/* Nobody on the way is to read it. */
static bool
is_private (const char *url)
{
  static const char *const hosts[] = { "localhost", "[::1]" };
  size_t length;

  if (strncmp (url, "https://", 8) == 0)
    return true;
  url += strlen ("http://");
  if (strncmp (url, "127.", 4) == 0)
    return url[strspn (url, "0123456789.")] == ':' || url[strspn (url, "0123456789.")] == '/';
  for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
    length = strlen (hosts[i]);
    if (strncmp (url, hosts[i], length) == 0 && (url[length] == ':' || url[length] == '/'))
      return true;
  }
  return false;
}

static int
make_token (const struct reach *reach, struct buffer *header, struct error *error)
{
  char token[TOKEN_MAX];
  int result = token_read (reach->token, token, error);

  if (result == 0 && !is_private (reach->url))
    result = error_set (error, "the token of %s goes to https alone", reach->token);
  if (result == 0)
    buffer_printf (header, "Authorization: Bearer %s", token);
  explicit_bzero (token, sizeof token);
  return result;
}

int
reach_credential_make (enum reach_credential kind, const struct reach *reach, const char *target, struct buffer *header,
                       struct error *error)
{
  switch (kind) {
  case REACH_MUNGE:
    return make_munge (reach, target, header, error);
  case REACH_TOKEN:
    return make_token (reach, header, error);
  default:
    return 0;
  }
}

int
reach_put_output (void *context, const void *bytes, size_t length, struct error *error)
{
  (void) context;
  if (file_write (STDOUT_FILENO, bytes, length) == 0)
    return 0;
  return error_set (error, "standard output: %s", strerror (errno));
}
