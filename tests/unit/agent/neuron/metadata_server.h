/* A metadata service played on loopback by a thread: it answers each connection by a function of the request, and ends
 * with the test. Header-only, since each test is a program of its own. */
#ifndef SYNOP_METADATA_SERVER_H
#define SYNOP_METADATA_SERVER_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_SIZE 2048

struct metadata_server {
  /* Writes the answer to the connection; the server closes it then. */
  void (*answer) (int connection, const char *request);
  int listener;
  pthread_t thread;
  char endpoint[64];
  unsigned requests; /* read it after metadata_server_stop */
};

static inline void *
metadata_server_run (void *argument)
{
  struct metadata_server *server = argument;
  int connection;

  while ((connection = accept (server->listener, NULL, NULL)) >= 0) {
    char request[REQUEST_SIZE] = "";
    size_t length = 0;
    ssize_t got = 1;
    while (got > 0 && length < sizeof request - 1 && !strstr (request, "\r\n\r\n")) {
      got = recv (connection, request + length, sizeof request - 1 - length, 0);
      length += got > 0 ? (size_t) got : 0;
      request[length] = '\0';
    }
    server->requests++;
    if (got > 0)
      server->answer (connection, request);
    close (connection);
  }
  return NULL;
}

static inline void
metadata_server_start (struct metadata_server *server, void (*answer) (int, const char *))
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  socklen_t size = sizeof address;

  *server = (struct metadata_server){ .answer = answer, .listener = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
  assert_int_equal (bind (server->listener, (struct sockaddr *) &address, sizeof address), 0);
  assert_int_equal (listen (server->listener, 16), 0);
  assert_int_equal (getsockname (server->listener, (struct sockaddr *) &address, &size), 0);
  snprintf (server->endpoint, sizeof server->endpoint, "http://127.0.0.1:%u", ntohs (address.sin_port));
  assert_int_equal (pthread_create (&server->thread, NULL, metadata_server_run, server), 0);
}

static inline void
metadata_server_stop (struct metadata_server *server)
{
  shutdown (server->listener, SHUT_RDWR); /* wakes accept */
  pthread_join (server->thread, NULL);
  close (server->listener);
}

static inline void
send_text (int connection, const char *text)
{
  size_t length = strlen (text);
  ssize_t sent;

  for (; length > 0 && (sent = send (connection, text, length, MSG_NOSIGNAL)) > 0; text += sent)
    length -= (size_t) sent;
}

static inline void
send_body (int connection, const char *body)
{
  char head[128];

  snprintf (head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n",
            strlen (body));
  send_text (connection, head);
  send_text (connection, body);
}

/* EC2's service, version 2: no answer without a token, which only a PUT gives. */
static inline void
answer_as_aws (int connection, const char *request)
{
  static const char *const answers[][2] = {
    { "ami-id", "ami-0abcdef1234567890" }, { "instance-id", "i-0fedcba9876543210" },
    { "instance-type", "p5.48xlarge" },    { "placement/availability-zone", "us-east-2c" },
    { "placement/region", "us-east-2" },
  };
  char start[128];

  if (strncmp (request, "PUT /latest/api/token HTTP/1.1\r\n", 32) == 0) {
    if (strstr (request, "\r\nX-aws-ec2-metadata-token-ttl-seconds: "))
      send_body (connection, "TOKEN==");
    else
      send_text (connection, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    return;
  }
  if (strstr (request, "\r\nX-aws-ec2-metadata-token: TOKEN==\r\n"))
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
      snprintf (start, sizeof start, "GET /latest/meta-data/%s HTTP/1.1\r\n", answers[i][0]);
      if (strncmp (request, start, strlen (start)) == 0) {
        send_body (connection, answers[i][1]);
        return;
      }
    }
  send_text (connection, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
}

/* Azure's: a JSON object, in chunks. */
static inline void
answer_as_azure (int connection, const char *request)
{
  const char *first =
      "{\"azEnvironment\":\"AzurePublicCloud\",\"location\":\"westeurope\",\"offer\":\"ubuntu-hpc\","
      "\"plan\":{\"name\":\"\",\"vmSize\":\"wrong\"},\"publisher\":\"microsoft-dsvm\",\"sku\":\"2204\",";
  const char *second = "\"storageProfile\":{\"dataDisks\":[{\"lun\":\"0\"}],\"imageReference\":{\"id\":\"\"}},"
                       "\"version\":\"22.04.2023080201\",\"vmId\":\"02aab8a4-74ef-476e-8182-f6d2ba4166a6\","
                       "\"vmSize\":\"Standard_ND96isr_H100_v5\",\"zone\":\"2\"}";
  char text[1024];

  if (strncmp (request, "GET /metadata/instance/compute?api-version=", 43) != 0 ||
      !strstr (request, "\r\nMetadata: true\r\n")) {
    send_text (connection, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    return;
  }
  snprintf (text, sizeof text,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n%zX\r\n%s\r\n0\r\n\r\n", strlen (first),
            first, strlen (second), second);
  send_text (connection, text);
}

#endif
