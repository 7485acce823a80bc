/* Which values the two ends of the colours are. It stays while values move a little, so that colours can be compared. */

/* The next number that is easily halved and read. */
export function niceAbove (value) {
  if (!(value > 0))
    return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((times) => times * power).find((nice) => nice >= value * (1 - 1e-9)) ?? 10 * power;
}

export function createScale () {
  let high = 0;
  let low = 0;
  return {
    reset () {
      high = 0;
      low = 0;
    },
    /* [low, high]: of shares 0 to 100; else from 0 (or below) to a round number. fit: exactly what is there. */
    of ({unit, min, max}, fit) {
      if (!Number.isFinite(max))
        return [0, unit === '%' || unit === 'percent' ? 100 : high || 1];
      if (fit)
        return max > min ? [min, max] : [min - 0.5, max + 0.5];
      if (unit === '%' || unit === 'percent')
        return [0, 100];
      if (unit === 'boolean')
        return [0, 1];
      if (max > high || max < high / 4)
        high = niceAbove(max);
      if (min < low || min > low / 4)
        low = min < 0 ? -niceAbove(-min) : 0;
      return [low, max <= 0 && low < 0 ? 0 : high];
    },
  };
}
