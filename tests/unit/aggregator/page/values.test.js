/* Values, times, colours, scales, the address: what the page makes of numbers and text. */
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {format as addressOf, parse} from './address.js';
import {addTick, addTicks, bucketsOf, stepFor} from './buckets.js';
import {oklabOf, RAMP, RAMP_INK, stepOf} from './colours.js';
import {createScale, niceAbove} from './scale.js';
import {MISSING, duration, format, instantOf, parseTime, parts, scale, shorterOf, time} from './units.js';

const plain = (text) => text.replace(/\u00a0/g, ' ');

test('values have their unit, and three digits that count', () => {
  const forms = [
    [12.345, '%', '12.3 %'], [100, 'percent', '100 %'], [99.97, '%', '100 %'], [-0.01, '%', '0.0 %'], [0, 'bytes', '0 B'],
    [999, 'bytes', '999 B'], [1000, 'bytes', '1000 B'], [1024, 'bytes', '1 KiB'], [1048575, 'bytes', '1 MiB'], [25276514304, 'bytes', '23.5 GiB'], [1.5 * 2 ** 20, 'bytes/s', '1.5 MiB/s'],
    [4e11, 'bits_per_second', '400 Gbit/s'], [2.45e9, 'hertz', '2.45 GHz'], [300, 'joules/s', '300 W'], [61.5, 'celsius', '61.5 °C'],
    [0.000123, 'seconds', '123 µs'], [0.5, 'seconds', '500 ms'], [90, 'seconds', '90 s'], [180, 'seconds', '3 min'], [7200, 'seconds', '2 h'],
    [172800, 'seconds', '2 d'], [12345678, '', '12.3 M'], [0.02912, '', '0.029'], [-1500, '', '−1.5 k'], [3, 'widgets', '3 widgets'],
  ];
  for (const [value, unit, text] of forms)
    assert.equal(plain(format(value, unit)), text, `${value} ${unit}`);
});

test('what is missing is a dash, and never 0', () => {
  for (const value of [null, undefined, NaN, Infinity])
    assert.equal(format(value, '%'), MISSING);
  assert.deepEqual(parts(null, 'bytes'), {number: MISSING, unit: ''});
  assert.equal(time(null), MISSING);
  assert.equal(duration(NaN), MISSING);
});

test('a column is written in one unit', () => {
  assert.deepEqual(scale(5 * 2 ** 30, 'bytes'), {factor: 2 ** 30, unit: 'GiB'});
  assert.deepEqual(parts(2 ** 21, 'bytes', 5 * 2 ** 30), {number: '0.002', unit: 'GiB'});
});

test('instants are of text, seconds, milliseconds or nanoseconds', () => {
  const ms = 1795407500123;
  for (const when of ['2026-11-23T04:18:20.123456789Z', ms, ms / 1000, ms * 1e6])
    assert.ok(Math.abs(instantOf(when) - ms) < 1, String(when));
  assert.ok(Number.isNaN(instantOf('')));
  assert.equal(plain(time(ms, 'full', 'utc')), '2026-11-23 04:18:20 UTC');
  assert.equal(time(ms, 'minute', 'utc'), '04:18');
});

test('durations have two words', () => {
  const forms = [[45, '45 s'], [125, '2 min 5 s'], [12000, '3 h 20 min'], [86400, '1 d'], [90060, '1 d 1 h'], [3605, '1 h'], [-90, '−1 min 30 s']];
  for (const [seconds, text] of forms)
    assert.equal(plain(duration(seconds)), text);
});

test('people enter times as the commands take them', () => {
  const now = Date.parse('2026-11-23T12:00:00Z');
  const forms = [
    ['2026-11-23 04:00', '2026-11-23T04:00:00Z'], ['2026-11-23', '2026-11-23T00:00:00Z'], ['4:05', '2026-11-23T04:05:00Z'],
    ['04:05:06', '2026-11-23T04:05:06Z'], ['-90m', '2026-11-23T10:30:00Z'], ['-1.5 h', '2026-11-23T10:30:00Z'], ['now', '2026-11-23T12:00:00Z'],
    ['2026-11-23T05:00:00+01:00', '2026-11-23T04:00:00Z'],
  ];
  for (const [text, iso] of forms)
    assert.equal(parseTime(text, now, 'utc'), Date.parse(iso), text);
  for (const text of ['', 'yesterday', '2026-13-01', '25:00', '2026', '<b>'])
    assert.ok(Number.isNaN(parseTime(text, now, 'utc')), text);
});

test('each step of the colours is as far as the others, and lighter', () => {
  const way = RAMP.map(oklabOf);
  const far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
  const whole = way.slice(1).reduce((sum, colour, i) => sum + far(colour, way[i]), 0);
  for (let i = 16; i < way.length; i += 16) { /* 8 bits round single steps */
    const piece = way.slice(i - 15, i + 1).reduce((sum, colour, k) => sum + far(colour, way[i - 16 + k]), 0);
    assert.ok(Math.abs(piece * 255 / 16 / whole - 1) < 0.2, `step ${i}: ${piece}`);
    assert.ok(way[i][0] > way[i - 16][0] + 0.015, `step ${i} is not lighter`);
  }
});

/* Brettel, Viénot and Mollon's model as Machado, Oliveira and Fernandes tabled it (2009), severity 1, of linear light. */
const BLIND = {
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};
const linear = (x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
const encoded = (x) => 255 * (x <= 0.0031308 ? 12.92 * Math.max(0, x) : 1.055 * Math.min(1, x) ** (1 / 2.4) - 0.055);

test('colour-blind people see them in the same order', () => {
  for (const [name, matrix] of Object.entries(BLIND)) {
    const seen = RAMP.map((colour) => oklabOf(matrix.map((row) => encoded(row.reduce((sum, x, i) => sum + x * linear(colour[i]), 0)))));
    for (let i = 16; i < seen.length; i += 16) {
      assert.ok(seen[i][0] > seen[i - 16][0], `${name}: step ${i} is not lighter`);
      const apart = Math.hypot(...seen[i].map((x, k) => x - seen[i - 16][k]));
      assert.ok(apart > 0.02, `${name}: step ${i} looks like ${i - 16}`);
    }
  }
});

test('names on cells can be read', () => {
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  RAMP.forEach((colour, i) => {
    const [high, low] = [light(colour), light(rgb(RAMP_INK[i]))].sort((a, b) => b - a);
    assert.ok((high + 0.05) / (low + 0.05) >= 4.5, `step ${i}: ${(high + 0.05) / (low + 0.05)}`);
  });
});

test('values outside of the scale are its ends', () => {
  assert.deepEqual([-1, 0, 50, 100, 101].map((value) => stepOf(value, 0, 100)), [0, 0, 128, 255, 255]);
  assert.equal(stepOf(5, 5, 5), 0);
});

test('a scale is round, and stays while values move a little', () => {
  assert.deepEqual([0.7, 1, 1.01, 128, 6.1e9].map(niceAbove), [0.8, 1, 1.5, 150, 8e9]);
  const one = createScale();
  assert.deepEqual(one.of({unit: '%', min: 3, max: 40}, false), [0, 100]);
  assert.deepEqual(one.of({unit: '', min: 3, max: 40}, true), [3, 40]);
  assert.deepEqual(one.of({unit: '', min: 3, max: 40}, false), [0, 40]);
  assert.deepEqual(one.of({unit: '', min: 3, max: 30}, false), [0, 40]);
  assert.deepEqual(one.of({unit: '', min: 3, max: 41}, false), [0, 50]);
  assert.deepEqual(one.of({unit: '', min: 3, max: 6}, false), [0, 6]);
  assert.deepEqual(one.of({unit: 'celsius', min: -3, max: 6}, false), [-3, 6]);
  assert.deepEqual(one.of({unit: '', min: NaN, max: NaN}, false), [0, 6]);
});

test('addresses say what they mean, and take anything', () => {
  const params = {metric: 'memory_info.used / memory_info.total', node: 'a&b=c#d?é<b>', at: '2026-11-23T04:00:00Z', empty: '', none: null};
  const text = addressOf('cluster', params);
  assert.match(text, /^#\/cluster\?metric=memory_info\.used%20\/%20memory_info\.total&node=a%26b%3Dc%23d%3F%C3%A9%3Cb%3E&at=2026-11-23T04:00:00Z$/);
  assert.deepEqual(parse(text), {name: 'cluster', params: {metric: params.metric, node: params.node, at: params.at}});
  assert.deepEqual(parse(''), {name: '', params: {}});
  assert.deepEqual(parse('#/%ff?a=%'), {name: '%ff', params: {a: '%'}});
});

test('values in little room are shorter, and never another number', () => {
  assert.deepEqual(shorterOf('41.3\u00a0%'), ['41.3\u00a0%', '41\u00a0%', '41']);
  assert.deepEqual(shorterOf('−12.5\u00a0GiB'), ['−12.5\u00a0GiB', '−12\u00a0GiB']);
  assert.deepEqual(shorterOf('4.0\u00a0%'), ['4.0\u00a0%', '4.0\u00a0%', '4.0']);
  assert.deepEqual(shorterOf('–'), ['–', '–']);
});

test('the curve goes on with ticks, in the steps of the answer', () => {
  const answer = {step: 60, tiers: [{from: '1970-01-01T00:00:00Z'}], series: [
    {row: 'mean', points: [[0, 10, 8, 12, 60], [60, null, null, null, 0], [120, 30, 30, 30, 1]]},
    {row: 'min', points: [[0, 2, 1, 3, 60], [60, null, null, null, 0], [120, 20, 20, 20, 1]]},
    {row: 'max', points: [[0, 90, 80, 99, 60], [60, null, null, null, 0], [120, 40, 40, 40, 1]]}]};
  const buckets = bucketsOf(answer);
  assert.equal(buckets.begin, 0);
  assert.deepEqual([buckets.low, buckets.mean, buckets.high], [[1, null, 20], [10, null, 30], [99, null, 40]]);
  addTick(buckets, {seconds: 125, mean: 40, min: 10, max: 70}, 4);
  assert.deepEqual([buckets.low[2], buckets.mean[2], buckets.high[2]], [10, 35, 70]);
  addTick(buckets, {seconds: 250, mean: 1, min: 0, max: 2}, 4);
  assert.deepEqual(buckets.times, [60, 120, 180, 240]);
  assert.deepEqual(buckets.mean, [null, 35, null, 1]);
  addTick(buckets, {seconds: 251, mean: NaN, min: NaN, max: NaN}, 4);
  assert.equal(buckets.mean[3], 1);
});

test('ticks that the history had not written yet close the gap behind its answer', () => {
  const answer = {step: 1, series: [{row: null, points: [[10, 5, 4, 6, 3], [11, 7, 6, 8, 3], [12, null, null, null, 0], [13, null, null, null, 0]]}]};
  const buckets = bucketsOf(answer);
  addTicks(buckets, [10, 11, 12, 13, 14].map((seconds) => ({seconds, mean: seconds, min: 0, max: 20})), 90);
  assert.deepEqual(buckets.times, [10, 11, 12, 13, 14]);
  assert.deepEqual(buckets.mean, [5, 7, 12, 13, 14]);
  assert.deepEqual(buckets.high, [6, 8, 20, 20, 20]);
  const none = bucketsOf({step: 1, series: []});
  addTicks(none, [{seconds: 3, mean: 1, min: 0, max: 2}], 90);
  assert.deepEqual(none.mean, [1]);
});

test('curves of long spans, and of many nodes, are of minutes', () => {
  assert.deepEqual([900, 3600, 86400, 31536000].map((seconds) => stepFor(seconds)), [5, 15, 600, 604800]);
  assert.equal(stepFor(900, true), 60);
});
