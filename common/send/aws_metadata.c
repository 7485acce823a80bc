/* See aws_metadata.h.
 *
 *   instance    PUT /latest/api/token with X-aws-ec2-metadata-token-ttl-seconds, then with the token
 *               GET /latest/meta-data/iam/security-credentials/, which names the role, and the same with its name
 *               GET /latest/meta-data/placement/region
 *   container   GET http://169.254.170.2$AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, or $AWS_CONTAINER_CREDENTIALS_FULL_URI */
#include "common/send/aws_metadata.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/send/curl_library.h"
#include "synop/file.h"

#define CONNECT_MS 1000L
#define PATIENCE_MS 2000L
#define INSTANCE "http://169.254.169.254"
#define CONTAINER "http://169.254.170.2"
#define ROLES "/latest/meta-data/iam/security-credentials/"

struct answer {
  char *text;
  size_t size, length;
};

static size_t
take (char *bytes, size_t size, size_t count, void *context)
{
  struct answer *answer = context;

  if (size * count >= answer->size - answer->length)
    return 0;
  memcpy (answer->text + answer->length, bytes, size * count);
  answer->length += size * count;
  answer->text[answer->length] = '\0';
  return size * count;
}

/* `header` NULL: none. No proxy is asked: these addresses are the host's own. */
static int
ask (const char *method, const char *url, const char *header, char *text, size_t size, struct error *error)
{
  const struct curl_library *curl = curl_library (error);
  struct answer answer = { text, size, 0 };
  struct curl_slist *headers;
  long status = 0;
  CURLcode code;
  CURL *easy;

  *text = '\0';
  if (!curl)
    return -1;
  headers = header ? curl->slist_append (NULL, header) : NULL;
  easy = curl->easy_init ();
  if (!easy)
    abort ();
  curl->easy_setopt (easy, CURLOPT_URL, url);
  curl->easy_setopt (easy, CURLOPT_CUSTOMREQUEST, method);
  curl->easy_setopt (easy, CURLOPT_HTTPHEADER, headers);
  curl->easy_setopt (easy, CURLOPT_NOPROXY, "*");
  curl->easy_setopt (easy, CURLOPT_NOSIGNAL, 1L);
  curl->easy_setopt (easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
  curl->easy_setopt (easy, CURLOPT_TIMEOUT_MS, PATIENCE_MS);
  curl->easy_setopt (easy, CURLOPT_WRITEFUNCTION, take);
  curl->easy_setopt (easy, CURLOPT_WRITEDATA, &answer);
  code = curl->easy_perform (easy);
  curl->easy_getinfo (easy, CURLINFO_RESPONSE_CODE, &status);
  curl->slist_free_all (headers);
  curl->easy_cleanup (easy);
  if (code != CURLE_OK)
    return error_set (error, "%s: %s", url, curl->easy_strerror (code));
  return status == 200 && *text ? 1 : error_set (error, "%s answers %ld", url, status);
}

static const char *
environment (const char *name)
{
  const char *value = getenv (name);

  return value ? value : "";
}

/* ---- the instance ---- */

struct instance {
  char base[256], token[512]; /* as a header */
};

static int
open_instance (struct instance *instance, struct error *error)
{
  static const char head[] = "X-aws-ec2-metadata-token: ";
  const char *endpoint = environment ("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  char url[512];

  if (strcasecmp (environment ("AWS_EC2_METADATA_DISABLED"), "true") == 0)
    return error_set (error, "AWS_EC2_METADATA_DISABLED says that it is not to be asked");
  snprintf (instance->base, sizeof instance->base, "%.250s", *endpoint ? endpoint : INSTANCE);
  instance->base[strcspn (instance->base, " ")] = '\0';
  if (*instance->base && instance->base[strlen (instance->base) - 1] == '/')
    instance->base[strlen (instance->base) - 1] = '\0';
  snprintf (url, sizeof url, "%s/latest/api/token", instance->base);
  strcpy (instance->token, head);
  return ask ("PUT", url, "X-aws-ec2-metadata-token-ttl-seconds: 60", instance->token + strlen (head),
              sizeof instance->token - strlen (head), error);
}

static int
ask_instance (const struct instance *instance, const char *path, const char *behind, char *text, size_t size,
              struct error *error)
{
  char url[1024];

  snprintf (url, sizeof url, "%s%s%.500s", instance->base, path, behind);
  return ask ("GET", url, instance->token, text, size, error);
}

int
aws_metadata_region (char *text, size_t size, struct error *error)
{
  struct instance instance;

  return open_instance (&instance, error) < 0
             ? -1
             : ask_instance (&instance, "/latest/meta-data/placement/region", "", text, size, error);
}

static int
instance_role (char *text, size_t size, struct error *error)
{
  struct instance instance;
  char role[256];

  if (open_instance (&instance, error) < 0 || ask_instance (&instance, ROLES, "", role, sizeof role, error) < 0)
    return -1;
  role[strcspn (role, "\r\n")] = '\0';
  return ask_instance (&instance, ROLES, role, text, size, error);
}

/* ---- the container ---- */

/* In clear only to what is on this host. */
static int
check_uri (const char *uri, struct error *error)
{
  static const char *const hosts[] = { "localhost", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]" };
  const char *host = uri + strlen ("http://");
  size_t length;
  bool good = strncmp (uri, "https://", 8) == 0;

  if (!good && strncmp (uri, "http://", 7) == 0) {
    length = *host == '[' ? strcspn (host, "]") + 1 : strcspn (host, ":/");
    good = strncmp (host, "127.", 4) == 0 && strspn (host, "0123456789.") == length;
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
      good |= strlen (hosts[i]) == length && strncmp (host, hosts[i], length) == 0;
  }
  return good ? 0 : error_set (error, "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or of this host");
}

static int
container_header (char *header, size_t size, struct error *error)
{
  const char *path = environment ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  char token[8192] = "";

  if (*path && file_read_text (path, token, sizeof token, error) < 0)
    return -1;
  token[strcspn (token, "\r\n")] = '\0';
  if (!*path)
    snprintf (token, sizeof token, "%s", environment ("AWS_CONTAINER_AUTHORIZATION_TOKEN"));
  *header = '\0';
  if (*token)
    snprintf (header, size, "Authorization: %s", token);
  explicit_bzero (token, sizeof token);
  return 0;
}

static int
container_role (const char *uri, char *text, size_t size, struct error *error)
{
  char header[8300];
  int result;

  if (check_uri (uri, error) < 0 || container_header (header, sizeof header, error) < 0)
    return -1;
  result = ask ("GET", uri, *header ? header : NULL, text, size, error);
  explicit_bzero (header, sizeof header);
  return result;
}

int
aws_metadata_role (char *text, size_t size, struct error *error)
{
  const char *relative = environment ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const char *whole = environment ("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  char uri[1024];

  if (!*relative && !*whole)
    return instance_role (text, size, error);
  snprintf (uri, sizeof uri, "%s%.900s", *relative ? CONTAINER : "", *relative ? relative : whole);
  return container_role (uri, text, size, error);
}
