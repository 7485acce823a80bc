/* See synop/gzip.h. */
#include "synop/gzip.h"

#include <dlfcn.h>
#include <string.h>
#include <zlib.h>

#define ZLIB "libz.so.1"
#define WINDOW (15 + 16) /* 32 KiB; 16: with gzip's own head and end */
#define MEMORY 8

struct zlib {
  __typeof__ (&deflateInit2_) begin;
  __typeof__ (&deflate) deflate;
  __typeof__ (&deflateEnd) end;
};

static int
zlib_load (struct zlib *zlib, struct error *error)
{
  void *handle = dlopen (ZLIB, RTLD_NOW | RTLD_LOCAL);
  void *functions[] = { handle ? dlsym (handle, "deflateInit2_") : NULL, handle ? dlsym (handle, "deflate") : NULL,
                        handle ? dlsym (handle, "deflateEnd") : NULL };

  if (!functions[0] || !functions[1] || !functions[2])
    return error_set (error, "gzip needs %s: %s", ZLIB, handle ? "it lacks a function" : dlerror ());
  memcpy (zlib, functions, sizeof functions);
  return 0;
}

int
gzip_pack (const struct buffer *bytes, enum gzip_effort effort, struct buffer *packed, struct error *error)
{
  struct zlib zlib = { 0 };
  z_stream z = { .next_in = (unsigned char *) bytes->data, .avail_in = (unsigned) bytes->length };
  size_t room = bytes->length + bytes->length / 1000 + 1024; /* more than it can become */
  int result;

  if (zlib_load (&zlib, error) < 0)
    return -1;
  if (zlib.begin (&z, (int) effort, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int) sizeof z) !=
      Z_OK)
    return error_set (error, "zlib does not start");
  z.avail_out = (unsigned) room;
  z.next_out = (unsigned char *) buffer_reserve (packed, room);
  result = zlib.deflate (&z, Z_FINISH);
  packed->length += z.total_out;
  zlib.end (&z);
  return result == Z_STREAM_END ? 0 : error_set (error, "zlib failed: %d", result);
}
