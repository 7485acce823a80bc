/* Values and times as people read them. What is missing is a dash, never 0. */
import {settings} from './settings.js';

export const MISSING = '–';
const SPACE = '\u00a0';

const THOUSANDS = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];
const BINARY = [[2 ** 50, 'Pi'], [2 ** 40, 'Ti'], [2 ** 30, 'Gi'], [2 ** 20, 'Mi'], [2 ** 10, 'Ki'], [1, '']];
const FRACTIONS = [[1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n']];
const SPANS = [[2 * 86400, 86400, 'd'], [2 * 3600, 3600, 'h'], [120, 60, 'min']];

/* The unit as it is written, and whether its values are scaled: bytes by powers of 1024, as in reports and on terminals. */
const WRITTEN = {
  'percent': ['%', null], '%': ['%', null], 'ratio': ['', null], 'boolean': ['', null], 'celsius': ['°C', null],
  'bytes': ['B', BINARY], 'bytes/s': ['B/s', BINARY], 'bits_per_second': ['bit/s', THOUSANDS], 'hertz': ['Hz', THOUSANDS],
  'joules': ['J', THOUSANDS], 'joules/s': ['W', THOUSANDS], 'watts': ['W', THOUSANDS], 'seconds/s': ['s/s', null],
  '': ['', THOUSANDS], '1/s': ['/s', THOUSANDS],
};

/* How values up to `most` are written: {factor, unit}; the same for all of a column or an axis. */
export function scale (most, unit = '') {
  const size = Math.abs(most);
  if (unit === 'seconds')
    return secondsScale(size);
  const [name, ladder] = WRITTEN[unit] ?? [unit, THOUSANDS];
  const [factor, prefix] = (ladder || []).find(([least]) => size >= least * 0.9995 && Number.isFinite(size)) ?? [1, ''];
  return {factor, unit: prefix + name};
}

function secondsScale (size) {
  const span = SPANS.find(([least]) => size >= least);
  if (span)
    return {factor: span[1], unit: span[2]};
  if (size === 0 || size >= 1 || !Number.isFinite(size))
    return {factor: 1, unit: 's'};
  const [factor, prefix] = FRACTIONS.find(([least]) => size >= least * 0.9995) ?? FRACTIONS.at(-1);
  return {factor, unit: `${prefix}s`};
}

/* Three digits that count: 0.123, 1.23, 12.3, 123, 1234. */
export function digits (number) {
  const size = Math.abs(number);
  if (size === 0)
    return '0';
  if (size < 0.001)
    return number.toPrecision(2);
  const places = size < 0.9995 ? 3 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return number.toFixed(places).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '').replace(/^-/, '−');
}

/* {number, unit}: for what sets them apart. */
export function parts (value, unit = '', most = value) {
  if (value === null || value === undefined || !Number.isFinite(value))
    return {number: MISSING, unit: ''};
  if (unit === 'percent' || unit === '%')
    return {number: percent(value), unit: '%'};
  const {factor, unit: name} = scale(most, unit);
  return {number: digits(value / factor), unit: name};
}

function percent (value) {
  return value.toFixed(Math.abs(value) >= 99.95 ? 0 : 1).replace(/^-(0\.0)$/, '$1').replace(/^-/, '−');
}

export function format (value, unit = '') {
  const {number, unit: name} = parts(value, unit);
  return name ? number + SPACE + name : number;
}

/* The same in less and less room: "41.3 %", "41 %", "41". */
export function shorterOf (text) {
  const short = text.replace(/^(\D?\d{2,})\.\d+/, '$1');
  return [text, short, ...(short.endsWith('%') ? [short.slice(0, -2)] : [])];
}

export function unitName (unit) {
  return unit === 'seconds' ? 's' : (WRITTEN[unit]?.[0] ?? unit);
}

/* 10000 -> 10 000: how many there are of something. */
export const counted = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, '\u202f');

/* Milliseconds since 1970 of RFC 3339, or of seconds, milliseconds or nanoseconds since then; NaN: not known. */
export function instantOf (when) {
  if (when === null || when === undefined || when === '')
    return NaN;
  if (typeof when === 'string')
    return Date.parse(when);
  const size = Math.abs(Number(when));
  return Number(when) * (size > 1e16 ? 1e-6 : size > 1e11 ? 1 : 1e3);
}

const two = (number) => String(number).padStart(2, '0');

/* form: 'full' 2026-11-23 04:19:25, 'clock' 04:19:25, 'minute' 04:19, 'date' 2026-11-23, 'short' (the clock, with the
 * date unless that is today). UTC is named. */
export function time (when, form = 'short', zone = settings.zone) {
  const ms = instantOf(when);
  if (!Number.isFinite(ms))
    return MISSING;
  const date = dateOf(ms, zone);
  const clock = clockOf(ms, zone) + (zone === 'utc' ? `${SPACE}UTC` : '');
  if (form === 'date')
    return date;
  if (form === 'minute')
    return clock.slice(0, 5);
  return form === 'clock' || (form === 'short' && date === dateOf(Date.now(), zone)) ? clock : `${date} ${clock}`;
}

function dateOf (ms, zone) {
  const t = new Date(ms);
  return zone === 'utc' ? `${t.getUTCFullYear()}-${two(t.getUTCMonth() + 1)}-${two(t.getUTCDate())}`
    : `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}`;
}

function clockOf (ms, zone) {
  const t = new Date(ms);
  return zone === 'utc' ? `${two(t.getUTCHours())}:${two(t.getUTCMinutes())}:${two(t.getUTCSeconds())}`
    : `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
}

/* A length of time in two words at most: 45 s, 2 min 5 s, 3 h 20 min, 4 d 2 h. */
export function duration (seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds))
    return MISSING;
  if (Math.abs(seconds) < 1)
    return format(seconds, 'seconds');
  let left = Math.round(Math.abs(seconds));
  const words = [];
  for (const [length, name] of [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']]) {
    if (words.length === 1 || left >= length) {
      const count = Math.floor(left / length);
      if (count > 0)
        words.push(`${count}${SPACE}${name}`);
      left -= count * length;
      if (words.length === 2 || (words.length === 1 && count === 0))
        break;
    }
  }
  return (seconds < 0 ? '−' : '') + words.join(' ');
}

const AGO = {s: 1000, m: 60000, h: 3600000, d: 86400000, w: 604800000};

/* Milliseconds of what people enter: 2026-11-23 04:00, 2026-11-23, 04:00:30 (today), -90m, now, or RFC 3339; NaN: none of these.
 * What has no zone is in the page's. */
export function parseTime (text, now = Date.now(), zone = settings.zone) {
  const words = text.trim();
  if (words === 'now')
    return now;
  const ago = /^-\s*(\d+(?:\.\d+)?)\s*([smhdw])$/.exec(words);
  if (ago)
    return now - Number(ago[1]) * AGO[ago[2]];
  const clock = /^\d?\d:\d\d(:\d\d)?$/.test(words);
  const full = (clock ? `${dateOf(now, zone)}T${words.padStart(words.length + (words.indexOf(':') === 1), '0')}` : words).replace(/^(\S+) +(?=\d)/, '$1T');
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/.test(full))
    return NaN;
  const whole = full.length === 10 ? `${full}T00:00` : full;
  return Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(whole.slice(11)) || zone !== 'utc' ? whole : `${whole}Z`);
}
