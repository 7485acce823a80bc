/* Tables of made-up cells, the same ones for the same seed. */
#ifndef SYNOP_TESTS_MADE_TABLES_H
#define SYNOP_TESTS_MADE_TABLES_H

/* Writes FOLDER/t0.parquet, t0.arrow, and t0.jsonl, what is in both: {"columns":[{"name","type","label","unit","help"},...],
 * ...}, then an array for each row; a double as the 16 digits of its bits, or "nan". And so on: tables that are written side by
 * side. The exit code. */
int made_random (const char *seed, const char *folder);

/* Writes so many rows of what a sampler finds on 1,000 nodes: {"rows","seconds","bytes","rss_mib","sums"}, the sums as
 * columnar_read.mjs has them, which wrap around in 64 bits. The exit code. */
int made_rows (const char *count, const char *form, const char *path);

#endif
