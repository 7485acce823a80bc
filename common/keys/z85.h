/* Z85, ZeroMQ's way to write binary keys as text (RFC 32 of ZeroMQ): 4 bytes, read as a big-endian number, are 5 digits
 * to the base of 85. Written here since only link may know libzmq; a test holds it against libzmq's. */
#ifndef SYNOP_Z85_H
#define SYNOP_Z85_H

#include <stddef.h>
#include <stdint.h>

/* `length` is a multiple of 4; `text` takes length / 4 * 5 characters and a NUL. */
void z85_encode (const uint8_t *bytes, size_t length, char *text);

/* `length` is a multiple of 5; `bytes` takes length / 5 * 4. Returns 0, or -1 when a character is no digit or five of
 * them are more than 32 bits hold. */
int z85_decode (const char *text, size_t length, uint8_t *bytes);

#endif
