/* Text to a socket that answers nothing: tcp://HOST:PORT, udp://HOST:PORT, unix:///PATH, unixgram:///PATH. */
#ifndef SYNOP_AGGREGATOR_SEND_LINE_SOCKET_H
#define SYNOP_AGGREGATOR_SEND_LINE_SOCKET_H

#include "aggregator/send/send_type.h"

struct line_socket {
  const struct send_setting *setting;
  int fd; /* -1: not connected */
  bool datagrams;
  size_t opened; /* how often */
};

void line_socket_init (struct line_socket *socket, const struct send_setting *setting);
void line_socket_close (struct line_socket *socket);
/* Lines, whole ones in each datagram. SEND_TAKEN: over a stream, the receiver's system has them all; of datagrams, they were sent,
 * which is all that can be known. SEND_AGAIN: answer.text says why. */
enum send_verdict line_socket_write (struct line_socket *socket, const struct buffer *lines,
                                     struct send_answer *answer);

#endif
