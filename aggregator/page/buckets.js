/* The combined curve: of an answer of the history, and of ticks as they come, in the same steps. */
import {instantOf} from './units.js';

const NICE = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400, 604800];

/* A step such that there are at most 240 of them; of many nodes, and of more than a while, of minutes, which are kept ready. */
export const stepFor = (seconds, many = false) => NICE.find((step) => seconds / step <= 240 && step >= (many || seconds > 3600 ? 60 : 1)) ?? NICE.at(-1);

/* {step, begin, times, low, mean, high, counts} of an answer to combined, or to a fold; begin: of the history, where that is later. */
export function bucketsOf (answer) {
  const row = (name) => answer.series.find((one) => one.row === name)?.points;
  const mean = row('mean') ?? answer.series[0]?.points ?? [];
  const low = row('min') ?? mean;
  const high = row('max') ?? mean;
  return {
    step: answer.step,
    begin: (answer.tiers ?? []).reduce((least, tier) => Math.min(least, instantOf(tier.from)), Infinity),
    times: mean.map((point) => point[0]),
    low: mean.map((_, i) => low[i]?.[2] ?? low[i]?.[1] ?? null),
    mean: mean.map((point) => point[1]),
    high: mean.map((_, i) => high[i]?.[3] ?? high[i]?.[1] ?? null),
    counts: mean.map((point) => point[4] ?? (point[1] === null ? 0 : 1)),
  };
}

/* A tick goes into its step; steps that nothing came in stay gaps. At most `most` steps are kept. */
export function addTick (buckets, {seconds, mean, min, max}, most) {
  const {times, low, counts, high, step} = buckets;
  const begin = Math.floor(seconds / step) * step;
  if (!times.length)
    append(buckets, begin);
  while (times.at(-1) < begin && begin - times.at(-1) <= most * step)
    append(buckets, times.at(-1) + step);
  const at = times.length - 1;
  if (times[at] !== begin || !Number.isFinite(mean))
    return;
  const count = counts[at];
  buckets.mean[at] = count ? (buckets.mean[at] * count + mean) / (count + 1) : mean;
  low[at] = low[at] === null ? min : Math.min(low[at], min);
  high[at] = high[at] === null ? max : Math.max(high[at], max);
  counts[at] = count + 1;
  for (const column of [times, low, buckets.mean, high, counts])
    if (column.length > most)
      column.splice(0, column.length - most);
}

/* Those that the history had not written yet when it answered. */
export function addTicks (buckets, ticks, most) {
  const {times, low, mean, high, counts, step} = buckets;
  while (times.length && counts.at(-1) === 0)
    for (const column of [times, low, mean, high, counts])
      column.pop();
  const from = times.length ? times.at(-1) + step : -Infinity;
  for (const tick of ticks)
    if (tick.seconds >= from)
      addTick(buckets, tick, most + times.length);
}

function append ({times, low, mean, high, counts}, begin) {
  times.push(begin);
  low.push(null);
  mean.push(null);
  high.push(null);
  counts.push(0);
}
