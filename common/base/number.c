/* Writes numbers by hand, since snprintf would cost more than the rest of a line. */
#include "synop/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                  "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                  "8081828384858687888990919293949596979899";

static const uint64_t whole_powers[] = { UINT64_C (1),
                                         UINT64_C (10),
                                         UINT64_C (100),
                                         UINT64_C (1000),
                                         UINT64_C (10000),
                                         UINT64_C (100000),
                                         UINT64_C (1000000),
                                         UINT64_C (10000000),
                                         UINT64_C (100000000),
                                         UINT64_C (1000000000),
                                         UINT64_C (10000000000),
                                         UINT64_C (100000000000),
                                         UINT64_C (1000000000000),
                                         UINT64_C (10000000000000),
                                         UINT64_C (100000000000000),
                                         UINT64_C (1000000000000000),
                                         UINT64_C (10000000000000000),
                                         UINT64_C (100000000000000000),
                                         UINT64_C (1000000000000000000),
                                         UINT64_C (10000000000000000000) };
#define PLACES_WHOLE 19 /* 10^19 is the last that fits */

/* The last `count` digits of a number, with zeros before it when it has fewer. */
static inline char *
digits_put (char *to, uint64_t number, int count)
{
  char *at = to + count;

  for (; at - to >= 2; number /= 100) {
    at -= 2;
    memcpy (at, digit_pairs + number % 100 * 2, 2);
  }
  if (at != to)
    *to = (char) ('0' + number % 10);
  return to + count;
}

static inline char *
whole_put (char *to, uint64_t number)
{
  if (number < 10) {
    *to = (char) ('0' + number);
    return to + 1;
  }

  int count = (64 - __builtin_clzll (number)) * 1233 >> 12; /* log10, or one more */

  return digits_put (to, number, count + (number >= whole_powers[count]));
}

/* `digits` / 10^`places`. */
static char *
number_put (char *to, uint64_t digits, int places)
{
  if (places == 0)
    return whole_put (to, digits);

  uint64_t whole = places > PLACES_WHOLE ? 0 : digits / whole_powers[places];

  to = whole_put (to, whole);
  *to++ = '.';
  return digits_put (to, places > PLACES_WHOLE ? digits : digits - whole * whole_powers[places], places);
}

char *
number_put_uint (char *to, uint64_t number)
{
  return whole_put (to, number);
}

char *
number_put_int (char *to, int64_t number)
{
  if (number < 0)
    *to++ = '-';
  return whole_put (to, number < 0 ? -(uint64_t) number : (uint64_t) number);
}

char *
number_put_decimal (char *to, uint64_t digits, int places)
{
  while (places >= 4 && digits % 10000 == 0) {
    digits /= 10000;
    places -= 4;
  }
  while (places > 0 && digits % 10 == 0) {
    digits /= 10;
    places--;
  }
  return number_put (to, digits, places);
}

static const double powers_of_ten[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* Most values have few places: what remains of the digits is found by one multiplication, and not by a division for each. */
static char *
put_short (char *to, double value, uint64_t digits, int places)
{
  uint64_t few = (uint64_t) (value * 1e4 + 0.5);

  if (places > 4 && places < 15 && few * whole_powers[places - 4] == digits)
    return number_put_decimal (to, few, 4);
  return number_put_decimal (to, digits, places);
}

/* Between 1e-7 and 1e15 the power of ten that makes a whole number of 15 digits is exact as a double, so the product
 * is off by less than a tenth of the last digit: a value of 15 digits or fewer is printed as it was written. Other
 * values are rare, and left to snprintf. */
char *
number_put_real (char *to, double value)
{
  if (value < 0) {
    *to++ = '-';
    value = -value;
  }
  if (value == 0.0) {
    *to++ = '0';
    return to;
  }
  if (!(value >= 1e-7 && value < 1e15))
    return to + snprintf (to, NUMBER_SIZE, "%.15g", value);
  if (value == (double) (uint64_t) value)
    return whole_put (to, (uint64_t) value);

  uint64_t bits;

  memcpy (&bits, &value, sizeof bits);

  int places = 14 - (((int) (bits >> 52) - 1023) * 1233 >> 12); /* 14 - log10, or one less than that */

  if (value * powers_of_ten[places] >= 1e15)
    places--;
  return put_short (to, value, (uint64_t) (value * powers_of_ten[places] + 0.5), places);
}

char *
number_put_places (char *to, double value, int places)
{
  double scaled = fabs (value) * powers_of_ten[places];

  if (!(scaled < 1e15))
    return number_put_real (to, value);

  uint64_t digits = (uint64_t) (scaled + 0.5);

  if (value < 0 && digits != 0)
    *to++ = '-';
  return number_put_decimal (to, digits, places);
}
