/* A body on its way to a client: made in pieces as it is taken, compressed where that was asked for. */
#include <stdlib.h>
#include <string.h>

#include "common/http/http_private.h"
#include "synop/memory.h"

#define PIECE (32 * 1024)
#define GZIP_LEVEL 1
#define GZIP_WINDOW (13 + 16) /* 8 KiB; 16: with gzip's own head and end */
#define GZIP_MEMORY 7

struct stream {
  struct http *http;
  struct MHD_Connection *connection;
  struct http_reply reply;
  struct buffer piece;
  size_t at; /* in it */
  bool more, gzip, ended;
  bool held; /* what is compressed waits for room */
  z_stream z;
};

enum fill { FILLED, WAITS, ENDED, BROKEN };

static bool
stream_waits (struct stream *stream)
{
  struct http_wait wait;

  if (stream->reply.wait == NULL || !stream->reply.wait (stream->reply.context, &wait))
    return false;
  http_connection_wait (stream->http, stream->connection, &wait);
  return true;
}

static enum fill
piece_fill (struct stream *stream)
{
  while (stream->at == stream->piece.length && stream->more) {
    if (stream->reply.wait != NULL && http_connection_is_gone (stream->http, stream->connection))
      return BROKEN;
    if (stream_waits (stream))
      return WAITS;
    buffer_clear (&stream->piece);
    stream->at = 0;
    stream->more = stream->reply.next (stream->reply.context, &stream->piece, PIECE);
  }
  if (stream->at < stream->piece.length)
    return FILLED;
  return stream->reply.broken != NULL && stream->reply.broken (stream->reply.context) ? BROKEN : ENDED;
}

static ssize_t
read_plain (struct stream *stream, char *to, size_t room)
{
  enum fill fill = piece_fill (stream);
  size_t length;

  if (fill != FILLED)
    return fill == WAITS ? 0 : fill == ENDED ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
  length = stream->piece.length - stream->at;
  length = length < room ? length : room;
  memcpy (to, stream->piece.data + stream->at, length);
  stream->at += length;
  return (ssize_t) length;
}

/* What an endless body has so far goes out at once. */
static int
flush_of (const struct stream *stream, bool left)
{
  return !left ? Z_FINISH : stream->reply.endless ? Z_SYNC_FLUSH : Z_NO_FLUSH;
}

static ssize_t
read_gzip (struct stream *stream, char *to, size_t room)
{
  z_stream *z = &stream->z;

  if (stream->ended)
    return MHD_CONTENT_READER_END_OF_STREAM;
  z->next_out = (Bytef *) to;
  z->avail_out = (uInt) room;
  while (z->avail_out == room && !stream->ended) {
    enum fill fill = stream->held ? FILLED : piece_fill (stream);
    bool left = fill == FILLED;
    if (fill == WAITS)
      return 0;
    if (fill == BROKEN)
      return MHD_CONTENT_READER_END_WITH_ERROR;
    z->next_in = left ? (Bytef *) stream->piece.data + stream->at : NULL;
    z->avail_in = left ? (uInt) (stream->piece.length - stream->at) : 0;
    stream->ended = stream->http->library->deflate (z, flush_of (stream, left)) == Z_STREAM_END;
    stream->held = left && stream->reply.endless && z->avail_out == 0;
    stream->at = left ? stream->piece.length - z->avail_in : stream->at;
  }
  return (ssize_t) (room - z->avail_out);
}

static ssize_t
stream_read (void *context, uint64_t position, char *to, size_t room)
{
  struct stream *stream = context;

  (void) position;
  if (stream->reply.endless)
    http_connection_asks (stream->http, stream->connection, true, true);
  return stream->gzip ? read_gzip (stream, to, room) : read_plain (stream, to, room);
}

static void
stream_free (void *context)
{
  struct stream *stream = context;

  if (stream->gzip)
    stream->http->library->deflateEnd (&stream->z);
  if (stream->reply.free != NULL)
    stream->reply.free (stream->reply.context);
  buffer_free (&stream->piece);
  free (stream);
}

struct MHD_Response *
http_stream (struct http *http, struct MHD_Connection *connection, struct http_reply *reply, bool gzip)
{
  const struct http_library *library = http->library;
  struct stream *stream = memory_new (1, sizeof *stream);
  struct MHD_Response *response;

  stream->http = http;
  stream->connection = connection;
  stream->reply = *reply;
  stream->more = reply->next != NULL;
  stream->piece = reply->text;
  *reply = (struct http_reply){ 0 };
  stream->gzip = gzip && library->deflateInit2_ (&stream->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                                                 Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int) sizeof stream->z) == Z_OK;
  response = library->MHD_create_response_from_callback (stream->more   ? MHD_SIZE_UNKNOWN
                                                         : stream->gzip ? MHD_SIZE_UNKNOWN
                                                                        : stream->piece.length,
                                                         PIECE, stream_read, stream, stream_free);
  if (response == NULL)
    stream_free (stream);
  else if (stream->gzip)
    library->MHD_add_response_header (response, "Content-Encoding", "gzip");
  return response;
}
