/* The screen of one node, for both programs: made of the JSON lines of type node that `tail` shows and that a lone agent
 * makes. */
#ifndef SYNOP_NODE_SCREEN_H
#define SYNOP_NODE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "synop/canvas.h"

struct node_screen;

struct node_screen *node_screen_create (void);
void node_screen_destroy (struct node_screen *screen); /* NULL is fine */
void node_screen_clear (struct node_screen *screen);   /* another node is to come */

/* Takes the groups of a line; those that it lacks stay as they were. -1: it is no node's. */
int node_screen_take (struct node_screen *screen, const char *line, size_t length);
bool node_screen_is_filled (const struct node_screen *screen);   /* a line has come */
const char *node_screen_time (const struct node_screen *screen); /* of the newest line; "" */

/* Draws into `rows` rows of the canvas from row y on what is scrolled to; `jobs`: the node's jobs alone. */
void node_screen_draw (struct node_screen *screen, struct canvas *canvas, int y, int rows, bool jobs);
bool node_screen_key (struct node_screen *screen, int key); /* scrolls; true: it was such a key */

#endif
