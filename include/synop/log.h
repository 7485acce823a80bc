/* Diagnostics to standard error, a line each. Under systemd (JOURNAL_STREAM) a line begins with its "<N>" priority,
 * else with time and level. Logging never waits: a line that standard error has no room for is dropped, and the next
 * one that fits gives the number of dropped ones. The level and that count are globals. Never log a secret. */
#ifndef SYNOP_LOG_H
#define SYNOP_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

extern const char *const log_level_names[]; /* as enum log_level: "error"; NULL-terminated */

void log_set_level (enum log_level level); /* default: LOG_LEVEL_INFO */
void log_error (const char *format, ...) __attribute__ ((format (printf, 1, 2)));
void log_warning (const char *format, ...) __attribute__ ((format (printf, 1, 2)));
void log_info (const char *format, ...) __attribute__ ((format (printf, 1, 2)));
void log_debug (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

#endif
