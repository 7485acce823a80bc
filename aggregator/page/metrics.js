/* What groups and metrics are, how their values are shown, and how curves of them are named and asked for. */
import * as units from './units.js';

const FRESH = 60000;
const known = new WeakMap(); /* of contexts */

/* What api/v1/groups says, asked at most once a minute for the whole page. */
export function loadCatalog (context) {
  const one = known.get(context);
  if (one && Date.now() - one.since < FRESH)
    return one.catalog;
  const catalog = context.get('groups').then(({groups}) => createCatalog(groups), () => one?.catalog ?? createCatalog([]));
  known.set(context, {since: Date.now(), catalog});
  return catalog;
}

export function createCatalog (groups) {
  const byName = new Map(groups.map((group) => [group.name, {...group, byName: new Map(group.metrics.map((metric) => [metric.name, metric]))}]));
  const unknown = {kind: 'gauge', unit: '', share: false, help: ''};
  return {
    group: (name) => byName.get(name) ?? null,
    metric: (group, name) => byName.get(group)?.byName.get(name) ?? {...unknown, name},
  };
}

const RATES = {'bytes': 'bytes/s', 'joules': 'watts', 'seconds': 'seconds/s', '': '/s'};

/* The value as it is shown: counters as what they are a second. `value` is a number, a text, or null. */
export function shown (metric, value, period) {
  if (typeof value !== 'number')
    return {value: value ?? null, unit: ''};
  if (metric.share)
    return {value, unit: 'percent'};
  if (metric.kind === 'counter')
    return {value: period > 0 ? value / period : null, unit: RATES[metric.unit] ?? `${metric.unit}/s`};
  return {value, unit: metric.unit};
}

const ENDLESS = 2 ** 63;

export function textOf (metric, value, period) {
  const {value: number, unit} = shown(metric, value, period);
  if (typeof number === 'string' || typeof number === 'boolean')
    return String(number);
  if (typeof number === 'object')
    return number === null ? units.MISSING : JSON.stringify(number);
  if (unit === 'boolean')
    return number ? 'yes' : 'no';
  if (unit === 'seconds' && number > 1e9)
    return units.time(number * 1000, 'full');
  return number >= ENDLESS ? 'no limit' : units.format(number, unit);
}

/* ---- curves ---- */

/* A curve is named "disk_io.read_bytes@sda", or "load.load_1", or "memory_info.used / memory_info.total". */
export const curveOf = (group, metric, row) => `${group}.${metric}${row === undefined || row === null ? '' : `@${row}`}`;

export function partsOf (curve) {
  const at = curve.indexOf('@');
  return at < 0 ? {metric: curve, row: null} : {metric: curve.slice(0, at), row: curve.slice(at + 1)};
}

/* Names have commas in them, and lists of them too. */
export const joinCurves = (curves) => curves.map((curve) => encodeURIComponent(curve).replace(/%(20|40|2F)/g, decodeURIComponent)).join(',');

export function splitCurves (text) {
  return (text ?? '').split(',').filter(Boolean).map((one) => {
    try {
      return decodeURIComponent(one);
    } catch {
      return one;
    }
  });
}

/* A glob that matches the text. Commas part globs, and what cannot be seen is refused, as are many stars: other characters
 * may stand where these are, so whoever asks looks at the names in the answer. */
export function globOf (text) {
  const parts = text.replace(/[*?[\]\\]/g, '\\$&').replace(/[, ]/g, '?').split(/[\p{C}\p{Z}]+/u);
  return parts.length > STARS ? `${parts.slice(0, STARS).join('*')}*` : parts.join('*');
}
const STARS = 3;

/* The words of a question about a node's curve, but for its time. */
export function questionOf (curve, catalog) {
  const {metric, row} = partsOf(curve);
  const [group, name] = metric.split(/\.(.*)/s);
  const {kind, share} = catalog.metric(group, name);
  return {metric, row: row === null ? null : globOf(row), rate: kind === 'counter' && !share ? 'yes' : null};
}
