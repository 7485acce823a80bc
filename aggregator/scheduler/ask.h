/* The program that asks a scheduler, started by the aggregator: "synop-aggregator ask SCHEDULER TIMEOUT_MS USER COMMAND
 * WANTED...". USER "": as who runs it; COMMAND: words before each tool's. WANTED is "ID,SECONDS,USER": the scheduler's id of
 * a job, since when it runs, and whose it is ("": not known). It prints a line for each: its number and its facts as JSON;
 * and "absent" when the scheduler has no tool here. */
#ifndef SYNOP_AGGREGATOR_ASK_H
#define SYNOP_AGGREGATOR_ASK_H

#define ASK_COMMAND "ask"
#define ASK_ABSENT "absent"

enum ask_word { ASK_WORD_COMMAND, ASK_WORD_SCHEDULER, ASK_WORD_TIMEOUT, ASK_WORD_USER, ASK_WORD_TOOLS, ASK_WORDS };

int ask_main (int argc, char **argv); /* argv[0] is "ask" */

#endif
