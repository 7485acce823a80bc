/* Keeps the agent small: it runs on every node, beside work that wants the memory. */
#ifndef SYNOP_AGENT_FOOTPRINT_H
#define SYNOP_AGENT_FOOTPRINT_H

/* Before the first thread: one heap for all of them, no huge pages for small things. */
void footprint_prepare (void);

/* When everything has started: lets go of the pages that only starting needed. */
void footprint_settle (void);

#endif
