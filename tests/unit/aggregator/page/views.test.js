/* What the views of nodes and jobs make of lines and answers: tables in order, names of curves, the newest of each group. */
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {withGaps} from './clocks.js';
import {overlay} from './compare.js';
import {secondsOf, SPANS, stepOf, windowOf} from './curves.js';
import {wordsOf} from './event_words.js';
import {columnsOf, stepFor} from './job_curves.js';
import {pathOf} from './job_items.js';
import {metersFrom, sentencesOf} from './job_notes.js';
import {createCatalog, curveOf, globOf, joinCurves, partsOf, questionOf, shown, splitCurves, textOf} from './metrics.js';
import {anatomy, createReadings, isOld} from './readings.js';
import {sorted} from './table.js';

const plain = (text) => text.replace(/\u00a0/g, ' ');
const catalog = createCatalog([
  {name: 'disk_io', rows_name: 'devices', fold_name: 'total', metrics: [{name: 'read_bytes', kind: 'counter', unit: 'bytes', share: false}]},
  {name: 'cpu_usage', rows_name: 'usage_data', fold_name: 'average_usage', metrics: [{name: 'user', kind: 'counter', unit: 'seconds', share: true}]},
]);

test('what is missing comes last, downwards too', () => {
  const rows = [{v: 2}, {v: null}, {v: 10}, {v: NaN}, {v: 1}];
  assert.deepEqual(sorted(rows, (row) => row.v).map(({v}) => v), [1, 2, 10, null, NaN]);
  assert.deepEqual(sorted(rows, (row) => row.v, true).map(({v}) => v), [10, 2, 1, null, NaN]);
  assert.deepEqual(sorted(['n10', 'n2', '', 'n1'], (row) => row), ['n1', 'n2', 'n10', '']);
});

test('curves have names that lists and addresses carry', () => {
  const names = [curveOf('load', 'load_1'), curveOf('disk_io', 'read_bytes', 'a,b@c%2C d'), 'a.b / c.d', curveOf('x', 'y', '0')];
  assert.deepEqual(splitCurves(joinCurves(names)), names);
  assert.deepEqual(splitCurves(undefined), []);
  assert.deepEqual(splitCurves('%zz'), ['%zz']);
  assert.deepEqual(partsOf('disk_io.read_bytes@mlx5_0@1'), {metric: 'disk_io.read_bytes', row: 'mlx5_0@1'});
});

test('a question about a counter asks for its rate, of a share it does not', () => {
  assert.deepEqual(questionOf('disk_io.read_bytes@sda', catalog), {metric: 'disk_io.read_bytes', row: 'sda', rate: 'yes'});
  assert.deepEqual(questionOf('cpu_usage.user', catalog), {metric: 'cpu_usage.user', row: null, rate: null});
  assert.equal(questionOf('unknown.thing', catalog).rate, null);
});

test('globs match the text itself, with few stars', () => {
  assert.equal(globOf('sda1'), 'sda1');
  assert.equal(globOf('a*b?[c]\\'), 'a\\*b\\?\\[c\\]\\\\');
  assert.equal(globOf('a,b c'), 'a?b?c');
  assert.equal(globOf('\u202ea\u0000b'), '*a*b');
  assert.ok(globOf('\u200b1\u200b2\u200b3\u200b4\u200b5').split('*').length <= 5);
});

test('counters are shown a second, shares in percent, texts as they are', () => {
  const counter = {kind: 'counter', unit: 'bytes'};
  assert.deepEqual(shown(counter, 300, 2), {value: 150, unit: 'bytes/s'});
  assert.deepEqual(shown(counter, 300, null), {value: null, unit: 'bytes/s'});
  assert.equal(plain(textOf(counter, 3000, 2)), '1.46 KiB/s');
  assert.equal(plain(textOf({kind: 'counter', unit: 'seconds', share: true}, 12.3, 1)), '12.3 %');
  assert.equal(textOf({kind: 'gauge', unit: 'boolean'}, 1), 'yes');
  assert.equal(textOf({kind: 'gauge', unit: ''}, 18446744073709552000), 'no limit');
  assert.equal(textOf({kind: 'text', unit: ''}, '<b>'), '<b>');
  assert.equal(textOf({kind: 'gauge', unit: 'bytes'}, null), '–');
});

test('readings keep the newest table of each group, and forget jobs that are gone', () => {
  const readings = createReadings();
  const line = (second, report) => ({time: `2026-11-23T04:00:${second}Z`, node: 'n1', clock: {wall_offset: second}, report});
  readings.take(line('02', {system_data: {load: {period: 1, error: '', load_1: 2}}, job_data: [{job_id: '7', report: {job_cpu: {period: 1, error: '', usage: 5}}}]}));
  readings.take(line('01', {system_data: {load: {period: 1, error: '', load_1: 1}, vm: {period: 60, error: '', page_faults: 3}}}));
  assert.equal(readings.find('load').value.load_1, 2, 'a late line replaces nothing');
  assert.equal(readings.find('vm').value.page_faults, 3);
  assert.equal(readings.clock.wall_offset, '02');
  assert.deepEqual(readings.owners('job_data').map(({owner}) => owner), ['7']);
  readings.take(line('03', {system_data: {load: {period: 1, error: '', load_1: 3}}}));
  assert.equal(readings.owners('job_data').length, 1, 'no job group was due');
  readings.take(line('04', {job_data: []}));
  assert.equal(readings.owners('job_data').length, 0);
  assert.ok(isOld({ms: 0, period: 1}, 60000) && !isOld({ms: 0, period: 60}, 60000));
});

test('a table has own values, a fold, rows', () => {
  const value = {period: 1, error: '', level: 3, total: {reads: 1}, devices: {sda: {reads: 1}, sdb: {reads: null}}};
  assert.deepEqual(anatomy({value}, catalog.group('disk_io')), {own: {level: 3}, fold: {reads: 1}, rows: [['sda', {reads: 1}], ['sdb', {reads: null}]]});
  assert.deepEqual(anatomy({value}, null).rows.map(([label]) => label), ['sda', 'sdb'], 'also of a group that nobody describes');
});

test('each span has a step of few points', () => {
  for (const [name, , seconds] of SPANS) {
    assert.equal(secondsOf(name), seconds);
    assert.ok(seconds / stepOf(seconds) <= 400 && seconds / stepOf(seconds) >= 60, name);
  }
  assert.ok(1000 * 604800 / stepFor(604800, 1000) <= 400000, 'a job of 1,000 nodes and a week is one answer');
});

test('the window follows the instant, and stays while that moves within', () => {
  const at = (seconds, live = false) => ({live, time: () => seconds * 1000, latest: () => 1e9 * 1000});
  assert.deepEqual(windowOf(at(1000, true), 100), {from: 900, to: 1000});
  const first = windowOf(at(1000), 100);
  assert.deepEqual(first, {from: 925, to: 1025});
  assert.equal(windowOf(at(1020), 100, first), first);
  assert.notEqual(windowOf(at(1030), 100, first), first);
});

test('gaps part curves', () => {
  const lines = [0, 1, 2, 3, 20, 21].map((second) => ({time: new Date(second * 1000).toISOString(), spread: second}));
  const [times, values] = withGaps(lines, [(line) => line.spread]);
  assert.deepEqual(values, [0, 1, 2, 3, null, 20, 21]);
  assert.equal(times[4], 4);
});

test('rows of a node are one line, and two jobs begin together', () => {
  const answer = {unit: 'bytes', series: [{node: 'n1', points: [[10, 1], [11, null]]}, {node: 'n1', points: [[10, 2], [11, null]]}, {node: 'n2', points: [[10, 5], [11, 6]]}]};
  assert.deepEqual(columnsOf(answer).lines, [{name: 'n1', values: [3, null]}, {name: 'n2', values: [5, 6]}]);
  const one = (begin, value) => ({unit: '', series: [{node: 'n', points: [[begin, value], [begin + 1, value]]}]});
  const reports = [100, 500].map((second) => ({started: new Date(second * 1000).toISOString()}));
  assert.deepEqual(overlay([one(100, 1), one(500, 2)], reports), [[100, 101], [1, 1], [2, 2]]);
});

test('events are sentences, unknown ones too; ids of jobs are paths', () => {
  assert.equal(wordsOf({type: 'event', event: 'gap', node: 'n1', lost: 3}).text, '3 frames lost for good');
  assert.equal(wordsOf({type: 'event', event: 'of_tomorrow', node: 'n1', depth: 3}).text, 'depth 3');
  assert.deepEqual(wordsOf({type: 'job', event: 'started', job_id: '7', user: 'ana'}).text, 'Job 7 began (ana)');
  assert.equal(pathOf('12/3'), 'jobs/12/3');
  assert.equal(pathOf('../x?y#z'), 'jobs//x%3Fy%23z');
});

test('a job’s notes come with their advice, the grave ones marked, and its remarks behind them; meters have names', () => {
  const notes = [{note: 'killed_for_memory', text: 'Killed.', advice: 'Ask for 3 GiB', write: '--mem=3G'}, {note: 'cpus_unused', text: 'Idle.', advice: 'Ask for fewer'}];
  assert.deepEqual(sentencesOf({notes, remarks: ['Bound by memory.']}),
    [['bad', 'Killed.', 'Ask for 3 GiB', '--mem=3G'], ['warn', 'Idle.', 'Ask for fewer', undefined], ['warn', 'Bound by memory.']]);
  const meters = metersFrom({meters: [{meter: 'gpu', title: 'GPU', unit: 'GPUs', percent: 75, used: 6, of: 8}, {meter: 'memory', title: 'Memory', unit: 'B', percent: null, used: null, of: null}]});
  assert.deepEqual(meters.map(({label, share, known}) => [label, share, known]), [['GPU', 0.75, true], ['Memory', 0, false]]);
});
