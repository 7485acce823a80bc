/* The commands, and what they share. Each `run` returns the exit code. */
#ifndef SYNOP_AGGREGATOR_COMMANDS_H
#define SYNOP_AGGREGATOR_COMMANDS_H

#include <stdint.h>

#include "aggregator/config/options.h"
#include "aggregator/history/history_read.h"
#include "aggregator/history/replay_progress.h"
#include "aggregator/reach/reach.h"
#include "synop/error.h"

/* Clients of a running aggregator's UNIX socket. */
int client_tail (const struct options *options);
int client_status (const struct options *options);
int job_run (const struct options *options); /* "job start ID", "job end ID": announcements of prologs and epilogs */
int top_command (const struct options *options); /* the cluster on the terminal */

/* Readers of a history. */
int check_run (const struct options *options);    /* is it whole, and what is in it? */
int job_list_run (const struct options *options); /* "jobs" */
int replay_run (const struct options *options);   /* the lines of the stream */
int report_run (const struct options *options);   /* on one job */
int query_run (const struct options *options);    /* how a metric went */
int trace_run (const struct options *options);    /* traces of a job, made one */
int send_run (const struct options *options);     /* what senders would send, and what it costs */

int token_run (const struct options *options); /* makes a user's token, or revokes them */

int aggregator_keys_command (int argc, char **argv); /* makes, admits, lists and revokes keys; argv[0] is "keys" */

/* ---- shared ---- */

/* Logs a failed request to `options->socket`, with errno as it was left, and what to do about it. */
void client_log_no_answer (const struct options *options, const struct reach *reach, const struct error *error);

const char *replay_path (const struct options *options); /* of the history */
/* The interval, for the commands that read it. */
int replay_interval (const struct options *options, const char *section, struct history_query *query,
                     struct error *error);
/* The interval as parameters, which an aggregator reads as this host does, whatever its time of day is. */
void command_interval (struct reach_question *question, const struct history_query *query);
/* Logs what was broken; returns the exit code. */
int replay_broken (const char *path, const char *what, size_t broken);

/* Makes a running aggregator write the part of the history that it still holds in memory, up to that cluster time.
 * Where none runs, or one that writes another file, nothing happens; when it cannot be reached, or cannot write, a
 * warning is logged. */
void catch_up (const struct options *options, int64_t to_ns);

/* Warns of patterns of --node and --group that match nothing, since a misspelt one shows nothing. It is no error: a
 * node or group may come later. For the stream the aggregator is asked for the names; the caller reports one that
 * does not answer. */
void filters_check_stream (const struct options *options, const struct reach *reach);
void filters_check_history (const struct options *options, struct history_file *file,
                            const struct history_query *query);

#endif
