/* The cloud's metadata service; see imds.h.
 *
 *   AWS     PUT /latest/api/token with X-aws-ec2-metadata-token-ttl-seconds: 60, then GETs that carry the token
 *   Azure   GET /metadata/instance/compute?api-version=2021-02-01 with Metadata: true: all in one JSON object, since
 *           more than 5 requests a second are refused
 *
 * Any program may answer at that address: every answer is bounded in time and size, and only short printable texts are
 * taken from it. */
#include "agent/neuron/imds.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "synop/clock.h"

#define ANSWER_MAX (64 * 1024)
#define HEADER_MAX 1024

struct endpoint {
  struct sockaddr_storage address;
  socklen_t length;
  char host[80]; /* for the Host header */
};

static int
endpoint_parse (struct endpoint *endpoint, const char *url, struct error *error)
{
  struct sockaddr_in *v4 = (struct sockaddr_in *) &endpoint->address;
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *) &endpoint->address;
  const char *scheme = "http://", *host = url + strlen (scheme), *behind;
  char text[80], *end;
  unsigned long port = 80;
  bool is_v6;

  *endpoint = (struct endpoint){ 0 };
  if (strncmp (url, scheme, strlen (scheme)) != 0)
    return error_set (error, "metadata endpoint \"%s\": expected http://ADDRESS[:PORT]", url);
  is_v6 = *host == '[';
  behind = is_v6 ? strchr (host, ']') : host + strcspn (host, ":/");
  if (!behind || (size_t) (behind - host) >= sizeof text)
    return error_set (error, "metadata endpoint \"%s\": expected http://ADDRESS[:PORT]", url);
  snprintf (text, sizeof text, "%.*s", (int) (behind - host - is_v6), host + is_v6);
  snprintf (endpoint->host, sizeof endpoint->host, "%.*s", (int) (behind - host + is_v6), host);
  behind += is_v6;
  if (*behind == ':') {
    port = strtoul (behind + 1, &end, 10);
    behind = end;
  }
  if ((*behind && strcmp (behind, "/") != 0) || port == 0 || port > 65535)
    return error_set (error, "metadata endpoint \"%s\": expected http://ADDRESS[:PORT]", url);
  if (is_v6 ? inet_pton (AF_INET6, text, &v6->sin6_addr) != 1 : inet_pton (AF_INET, text, &v4->sin_addr) != 1)
    return error_set (error, "metadata endpoint \"%s\": \"%s\" is not an address", url, text);
  endpoint->address.ss_family = is_v6 ? AF_INET6 : AF_INET;
  endpoint->length = is_v6 ? sizeof *v6 : sizeof *v4;
  if (is_v6)
    v6->sin6_port = htons ((uint16_t) port);
  else
    v4->sin_port = htons ((uint16_t) port);
  return 0;
}

static int
wait_for (int fd, short events, int64_t deadline_ns, struct error *error)
{
  struct pollfd poller = { .fd = fd, .events = events };
  int64_t left;
  int rc;

  do {
    left = (deadline_ns - clock_monotonic () + NS_PER_MS - 1) / NS_PER_MS;
    rc = left > 0 ? poll (&poller, 1, (int) (left < 60000 ? left : 60000)) : 0;
  } while (rc < 0 && errno == EINTR);
  return rc > 0 ? 0 : error_set (error, "metadata service: %s", rc < 0 ? strerror (errno) : "timed out");
}

static int
endpoint_connect (const struct endpoint *endpoint, int64_t deadline_ns, struct error *error)
{
  int fd = socket (endpoint->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int reason = 0;
  socklen_t size = sizeof reason;

  if (fd < 0)
    return error_set (error, "metadata service: %s", strerror (errno));
  if (connect (fd, (const struct sockaddr *) &endpoint->address, endpoint->length) < 0) {
    if (errno != EINPROGRESS)
      error_set (error, "metadata service: %s", strerror (errno));
    else if (wait_for (fd, POLLOUT, deadline_ns, error) == 0) {
      getsockopt (fd, SOL_SOCKET, SO_ERROR, &reason, &size);
      if (reason == 0)
        return fd;
      error_set (error, "metadata service: %s", strerror (reason));
    }
    close (fd);
    return -1;
  }
  return fd;
}

static int
send_all (int fd, const char *bytes, size_t length, int64_t deadline_ns, struct error *error)
{
  while (length > 0) {
    ssize_t sent = send (fd, bytes, length, MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes += sent;
      length -= (size_t) sent;
    } else if (errno != EAGAIN && errno != EINTR) {
      return error_set (error, "metadata service: %s", strerror (errno));
    } else if (wait_for (fd, POLLOUT, deadline_ns, error) < 0) {
      return -1;
    }
  }
  return 0;
}

/* Reads until the answer is complete. */
static int
receive_answer (int fd, int64_t deadline_ns, struct buffer *body, struct error *error)
{
  struct buffer answer = { 0 };
  int rc = IMDS_MORE;

  while (rc == IMDS_MORE) {
    ssize_t got = -1;
    if (answer.length >= ANSWER_MAX) {
      rc = error_set (error, "metadata service: an answer of more than %d bytes", ANSWER_MAX);
      break;
    }
    if (wait_for (fd, POLLIN, deadline_ns, error) == 0) {
      got = recv (fd, buffer_reserve (&answer, 4096), 4096, 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR))
        continue;
      if (got < 0)
        error_set (error, "metadata service: %s", strerror (errno));
    }
    if (got < 0) {
      rc = -1;
      break;
    }
    answer.length += (size_t) got;
    rc = imds_parse_answer (answer.data, answer.length, got == 0, body, error);
  }
  buffer_free (&answer);
  return rc;
}

/* One request on a connection of its own. `headers`: lines that end with "\r\n". */
static int
query (const struct endpoint *endpoint, const char *method, const char *path, const char *headers, int64_t deadline_ns,
       struct buffer *body, struct error *error)
{
  struct buffer request = { 0 };
  int rc = -1, fd = endpoint_connect (endpoint, deadline_ns, error);

  buffer_clear (body);
  if (fd < 0)
    return -1;
  buffer_printf (&request, "%s %s HTTP/1.1\r\nHost: %s\r\n%s%sConnection: close\r\n\r\n", method, path, endpoint->host,
                 headers, strcmp (method, "PUT") == 0 ? "Content-Length: 0\r\n" : "");
  if (send_all (fd, request.data, request.length, deadline_ns, error) == 0)
    rc = receive_answer (fd, deadline_ns, body, error);
  buffer_free (&request);
  close (fd);
  return rc;
}

static bool
is_plain (const char *text, size_t length)
{
  for (size_t i = 0; i < length; i++)
    if (text[i] <= ' ' || text[i] > '~')
      return false;
  return length > 0;
}

/* Requests a body that is one short word. */
static int
query_text (const struct endpoint *endpoint, const char *method, const char *path, const char *headers,
            int64_t deadline_ns, char text[IMDS_TEXT_SIZE], struct error *error)
{
  struct buffer body = { 0 };
  int rc = query (endpoint, method, path, headers, deadline_ns, &body, error);

  if (rc == 0 && (body.length >= IMDS_TEXT_SIZE || !is_plain (body.data, body.length)))
    rc = error_set (error, "metadata service: no usable answer to %s", path);
  if (rc == 0)
    snprintf (text, IMDS_TEXT_SIZE, "%.*s", (int) body.length, body.data);
  buffer_free (&body);
  return rc;
}

int
imds_query_aws (const char *url, int64_t deadline_ns, struct imds_facts *facts, struct error *error)
{
  const struct {
    const char *path;
    char *text;
  } questions[] = {
    { "/latest/meta-data/ami-id", facts->image_id },
    { "/latest/meta-data/instance-id", facts->instance_id },
    { "/latest/meta-data/instance-type", facts->instance_type },
    { "/latest/meta-data/placement/availability-zone", facts->availability_zone },
    { "/latest/meta-data/placement/region", facts->region },
  };
  char token[IMDS_TEXT_SIZE], header[HEADER_MAX];
  struct endpoint endpoint;

  if (endpoint_parse (&endpoint, url, error) < 0 ||
      query_text (&endpoint, "PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60\r\n", deadline_ns,
                  token, error) < 0)
    return -1;
  snprintf (header, sizeof header, "X-aws-ec2-metadata-token: %s\r\n", token);
  for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
    if (query_text (&endpoint, "GET", questions[i].path, header, deadline_ns, questions[i].text, error) < 0)
      return -1;
  return 0;
}

/* An own image has an id; one of the market place is publisher, offer, SKU and version. */
static void
azure_image (const json_t *compute, char image[IMDS_TEXT_SIZE])
{
  char publisher[IMDS_TEXT_SIZE], offer[IMDS_TEXT_SIZE], sku[IMDS_TEXT_SIZE], version[IMDS_TEXT_SIZE];
  const json_t *profile = json_object_get (compute, "storageProfile");

  if (imds_json_text (json_object_get (profile, "imageReference"), "id", image))
    return;
  if (imds_json_text (compute, "publisher", publisher) && imds_json_text (compute, "offer", offer) &&
      imds_json_text (compute, "sku", sku) && imds_json_text (compute, "version", version) &&
      snprintf (image, IMDS_TEXT_SIZE, "%s:%s:%s:%s", publisher, offer, sku, version) >= IMDS_TEXT_SIZE)
    image[0] = '\0';
}

int
imds_query_azure (const char *url, int64_t deadline_ns, struct imds_facts *facts, struct error *error)
{
  struct endpoint endpoint;
  struct buffer body = { 0 };
  json_t *compute;
  int rc = -1;

  if (endpoint_parse (&endpoint, url, error) == 0)
    rc = query (&endpoint, "GET", "/metadata/instance/compute?api-version=2021-02-01&format=json", "Metadata: true\r\n",
                deadline_ns, &body, error);
  if (rc == 0) {
    compute = json_loadb (body.data, body.length, 0, NULL);
    imds_json_text (compute, "vmId", facts->instance_id);
    imds_json_text (compute, "vmSize", facts->instance_type);
    imds_json_text (compute, "location", facts->region);
    imds_json_text (compute, "zone", facts->availability_zone);
    azure_image (compute, facts->image_id);
    json_decref (compute);
    if (!facts->instance_id[0])
      rc = error_set (error, "metadata service: no vmId in its answer");
  }
  buffer_free (&body);
  return rc;
}
