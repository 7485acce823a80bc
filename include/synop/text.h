/* Characters of foreign texts, for everything that people read: logs, lines, tables, documents. */
#ifndef SYNOP_TEXT_H
#define SYNOP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_BROKEN UINT32_MAX

/* The character at the beginning of `left` > 0 bytes of UTF-8, and its length; TEXT_BROKEN of length 1: it is none. */
uint32_t text_character (const char *text, size_t left, size_t *length);

/* A character that is invisible, moves a terminal's cursor, or reverses its neighbours: controls (C0, DEL, C1),
 * marks of direction (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), separators of lines, private use,
 * and TEXT_BROKEN. */
bool text_is_unsound (uint32_t character);

#endif
