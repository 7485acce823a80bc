/* Pictures: a value for each node at an instant, of an answer's line or of a step of levels (a byte for each node).
 *
 * A picture: {time, until, metric, unit, nodes, states, values, exact, count, mean, min, max, minNode, maxNode}
 *   time, until       milliseconds; until is null for a tick
 *   states            a letter for each node: u up, s stale, d down, n never, m not known
 *   values            Float32Array or Float64Array; NaN is missing
 *   exact             false: values are known to a 250th of the scale */
import {instantOf} from './units.js';

const MISSING_LEVEL = 255;
const LEVELS = 250;

function bytesOf (base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++)
    bytes[i] = text.charCodeAt(i);
  return bytes;
}

function valuesOf (bytes, low, high, count = bytes.length) {
  const table = Float32Array.from({length: 256}, (_, level) => (level <= LEVELS ? low + (high - low) * level / LEVELS : NaN));
  table[MISSING_LEVEL] = NaN;
  const values = new Float32Array(count).fill(NaN);
  for (let i = 0; i < Math.min(count, bytes.length); i++)
    values[i] = table[bytes[i]];
  return values;
}

/* The picture of a line of now or watch; nodes are of the line before where it leaves them out, null: not known at all. */
export function pictureOf (line, nodesBefore = null) {
  const nodes = line.nodes ?? nodesBefore;
  const one = line.metrics?.[0];
  if (!nodes || !one)
    return null;
  const exact = Array.isArray(one.values);
  const values = exact ? Float64Array.from(nodes, (_, i) => one.values[i] ?? NaN) : valuesOf(bytesOf(one.levels ?? ''), one.low, one.high, nodes.length);
  return {
    time: instantOf(line.time),
    until: null,
    metric: one.metric,
    unit: one.unit,
    nodes,
    states: line.states ?? '',
    values,
    exact,
    count: one.count,
    mean: one.mean ?? NaN,
    min: one.min ?? NaN,
    max: one.max ?? NaN,
    minNode: one.min_node ?? null,
    maxNode: one.max_node ?? null,
  };
}

/* The picture of a step of an answer with format=levels. How nodes were is not in it: see statesOf. */
export function pictureOfStep (answer, index) {
  const values = valuesOf(bytesOf(answer.steps[index]), answer.low, answer.high, answer.nodes.length);
  const from = instantOf(answer.from) + index * answer.step * 1000;
  return {
    time: from,
    until: from + answer.step * 1000,
    metric: answer.metric,
    unit: answer.unit,
    nodes: answer.nodes,
    states: '',
    values,
    exact: false,
    ...summaryOf(values, answer.nodes),
  };
}

function summaryOf (values, nodes) {
  let count = 0, sum = 0, least = -1, most = -1;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (Number.isNaN(value))
      continue;
    count++;
    sum += value;
    if (least < 0 || value < values[least])
      least = i;
    if (most < 0 || value > values[most])
      most = i;
  }
  return {
    count,
    mean: count ? sum / count : NaN,
    min: count ? values[least] : NaN,
    max: count ? values[most] : NaN,
    minNode: count ? nodes[least] : null,
    maxNode: count ? nodes[most] : null,
  };
}

/* Indices of the `count` greatest values (sign 1) or least ones (-1), in order. */
export function extremesOf (values, count, sign = 1) {
  const best = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i] * sign;
    if (Number.isNaN(value) || (best.length === count && value <= values[best.at(-1)] * sign))
      continue;
    let at = best.length;
    while (at > 0 && values[best[at - 1]] * sign < value)
      at--;
    best.splice(at, 0, i);
    if (best.length > count)
      best.pop();
  }
  return best;
}

export const STATES = {u: 'up', s: 'stale', d: 'down', n: 'never heard', m: 'no value'};

/* The state that is shown of a node: one that is up and has no value is "m". */
export function stateOf (picture, i) {
  const state = picture.states[i] ?? 'u';
  return state === 'u' && Number.isNaN(picture.values[i]) ? 'm' : state;
}
