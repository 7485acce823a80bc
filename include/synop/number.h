/* Numbers as text, without a NUL behind them. Each function needs room for NUMBER_SIZE bytes and returns the end. */
#ifndef SYNOP_NUMBER_H
#define SYNOP_NUMBER_H

#include <stdint.h>

#define NUMBER_SIZE 40 /* a sign, 20 digits and a point before or between them, or what %.15g makes */

char *number_put_uint (char *to, uint64_t number);
char *number_put_int (char *to, int64_t number);
/* `digits` / 10^`places` (0 to 22), without zeros behind the last digit that is none. */
char *number_put_decimal (char *to, uint64_t digits, int places);
/* Of a finite number: up to 15 significant digits, as few as identify it; no exponent between 1e-7 and 1e15. */
char *number_put_real (char *to, double value);
/* The same, rounded to at most `places` digits (0 to 9) behind the point. */
char *number_put_places (char *to, double value, int places);

#endif
