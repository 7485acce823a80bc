/* Nodes as cells: pictures of answers, order, racks, layout, what stood when, and the search for a metric. */
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {partAlerts} from './around.js';
import {hit, layOut, neighbour, placeOf} from './layout.js';
import {extremesOf, pictureOf, pictureOfStep, stateOf} from './levels.js';
import {arrange} from './order.js';
import {parseRacks} from './racks.js';
import {createReplay, stepOfSpan, stepOfSpeed} from './replay.js';
import {metricsOf, rank} from './search.js';

const base64 = (...bytes) => Buffer.from(bytes).toString('base64');

test('levels are values between low and high, and 255 is missing', () => {
  const line = {time: '2026-11-23T04:00:01Z', nodes: ['a', 'b', 'c', 'd'], states: 'uuds',
    metrics: [{metric: 'm', unit: '%', low: 0, high: 50, levels: base64(0, 250, 255, 255), mean: 25, min: 0, max: 50, count: 2, min_node: 'a', max_node: 'b'}]};
  const picture = pictureOf(line);
  assert.deepEqual([...picture.values], [0, 50, NaN, NaN]);
  assert.equal(picture.exact, false);
  assert.deepEqual([0, 1, 2, 3].map((i) => stateOf(picture, i)), ['u', 'u', 'd', 's']);
  const next = pictureOf({...line, nodes: undefined, metrics: [{...line.metrics[0], values: [1, null, 3, 4]}]}, picture.nodes);
  assert.deepEqual([...next.values], [1, NaN, 3, 4]);
  assert.equal(stateOf(next, 1), 'm');
  assert.equal(pictureOf({...line, nodes: undefined}), null);
});

test('a step of the past is a picture too', () => {
  const answer = {metric: 'm', unit: '%', from: '2026-11-23T04:00:00Z', step: 60, nodes: ['a', 'b', 'c'], low: 0, high: 100,
    steps: [base64(255, 255, 255), base64(25, 250, 255)]};
  const picture = pictureOfStep(answer, 1);
  assert.equal(picture.time, Date.parse('2026-11-23T04:01:00Z'));
  assert.equal(picture.until - picture.time, 60000);
  assert.deepEqual([picture.count, picture.mean, picture.minNode, picture.maxNode], [2, 55, 'a', 'b']);
  const empty = pictureOfStep(answer, 0);
  assert.deepEqual([empty.count, empty.mean, empty.minNode], [0, NaN, null]);
});

test('the highest and the lowest, in order, without what is missing', () => {
  const values = [3, NaN, 9, 9, 1, 7, NaN, 2];
  assert.deepEqual(extremesOf(values, 3), [2, 3, 5]);
  assert.deepEqual(extremesOf(values, 3, -1), [4, 7, 0]);
  assert.deepEqual(extremesOf([NaN], 3), []);
});

test('order by value: those without come last; groups in natural order, none last', () => {
  const picture = {nodes: ['n1', 'n2', 'n3', 'n4', 'n5'], states: 'uuduu', values: [1, NaN, NaN, 5, 3]};
  assert.deepEqual([...arrange(picture, 'value').order], [3, 4, 0, 2, 1]);
  const racks = {n1: 'r10', n2: 'r9', n3: null, n4: 'r10', n5: 'r9'};
  const {order, groups} = arrange(picture, 'rack', (node) => racks[node]);
  assert.deepEqual(groups.map(({name, count}) => [name, count]), [['r9', 2], ['r10', 2], ['no rack', 1]]);
  assert.deepEqual([...order], [1, 4, 0, 3, 2]);
});

test('racks are globs, pairs, or a part of the name', () => {
  const {rackOf, errors, count} = parseRacks('# ours\nleft: n[1-16],login*\nright: n[17-32]\nn99,cellar\n\n{r*}-n?\n');
  assert.deepEqual(errors, []);
  assert.equal(count, 4);
  const found = {n1: 'left', n16: 'left', n016: 'left', n17: 'right', n33: null, login7: 'left', n99: 'cellar', 'r12-n3': 'r12', 'r12-n33': null};
  for (const [node, rack] of Object.entries(found))
    assert.equal(rackOf(node), rack, node);
});

test('racks: patterns are as in shells, and all else is text', () => {
  const {rackOf} = parseRacks('a: n[12]\nb: n[!0-9].x\nc: a.b(c)+$\nd: [\n');
  const found = {n1: 'a', n2: 'a', n12: null, 'nx.x': 'b', 'n5.x': null, 'a.b(c)+$': 'c', aXb: null, '[': 'd'};
  for (const [node, rack] of Object.entries(found))
    assert.equal(rackOf(node), rack, node);
  assert.match(parseRacks('what').errors[0], /^Line 1:/);
});

test('cells have names while there is room, and are pixels when there are many', () => {
  const few = layOut(960, 560, 3, null);
  assert.ok(few.named && few.w > 200 && few.height <= 560);
  assert.ok(layOut(960, 560, 200, null).named, '200 nodes');
  const many = layOut(960, 560, 10000, null);
  assert.ok(!many.named && many.w >= 5 && many.height <= 560);
  assert.equal(layOut(100, 100, 10000, null).w, 1);
  assert.equal(layOut(100, 50, 10000, null, 0.5).w, 0.5);
});

test('each cell is found where it lies, in groups too', () => {
  const groups = Array.from({length: 12}, (_, i) => ({name: `r${i}`, from: i * 40, count: 40}));
  assert.ok(layOut(900, 900, 480, groups).blocks[0].label > 0 && layOut(300, 300, 480, groups).blocks[0].label === 0);
  for (const layout of [layOut(700, 500, 480, null), layOut(900, 900, 480, groups), layOut(300, 300, 480, groups)]) {
    assert.ok(layout.height <= 900);
    const places = new Set();
    for (const block of layout.blocks)
      for (let at = block.from; at < block.from + block.count; at++) {
        const [x, y] = placeOf(layout, block, at);
        places.add(`${x} ${y}`);
        assert.ok(y >= block.y + block.label);
        assert.equal(hit(layout, x + layout.w / 2, y + layout.h / 2), at);
        assert.ok(x >= 0 && y >= 0 && y + layout.h <= layout.height + 1e-9);
      }
    assert.equal(places.size, 480);
  }
});

test('arrows reach every cell, and end at the edges', () => {
  const groups = [{name: 'a', from: 0, count: 7}, {name: 'b', from: 7, count: 5}, {name: 'c', from: 12, count: 9}];
  const layout = layOut(330, 400, 21, groups);
  const reached = new Set([0]);
  const todo = [0];
  while (todo.length) {
    const at = todo.pop();
    for (const key of ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight']) {
      const next = neighbour(layout, at, key);
      assert.ok(next >= 0 && next < 21);
      if (!reached.has(next))
        todo.push(next);
      reached.add(next);
    }
  }
  assert.equal(reached.size, 21);
  const below = layOut(330, 400, 21, groups).blocks.findLast((block) => block.y > 0);
  if (below)
    assert.ok(down(layout, 0) >= below.from, 'down leaves the group for the one below');
  assert.equal(neighbour(layout, 0, 'ArrowLeft'), 0);
  assert.equal(neighbour(layout, 20, 'ArrowRight'), 20);
});

/* Where one gets by going down as far as it goes. */
function down (layout, at) {
  const next = neighbour(layout, at, 'ArrowDown');
  return next === at ? at : down(layout, next);
}

test('that a node is silent is a state of its cell, all else an alert', () => {
  const list = [
    {node: 'b', alert: 'node_down', text: 'down: no frames come'}, {node: 'c', alert: 'node_stale', text: 'stale: it is silent'},
    {node: 'a', alert: 'fault', text: 'XID errors on GPU 3: 2'}, {node: 'a', alert: 'group_failed', text: 'gpu: GPU 3: lost'},
    {node: '', alert: 'history_failed', text: 'the history cannot be written: no room'},
  ];
  const {alerts, states} = partAlerts(list);
  assert.deepEqual([...alerts], [['a', ['XID errors on GPU 3: 2', 'gpu: GPU 3: lost']]]);
  assert.deepEqual([...states], [['b', 'd'], ['c', 's']]);
});

test('metrics are found by name, unit and help; the best first', () => {
  const groups = [
    {name: 'memory_info', help: 'Memory of the node.', metrics: [
      {name: 'used', kind: 'gauge', unit: 'bytes', fold: 'none', of_node: true, help: 'total - available'},
      {name: 'total', kind: 'gauge', unit: 'bytes', fold: 'none', of_node: true, help: 'All that is used or free.'}]},
    {name: 'network', help: 'Interfaces.', metrics: [
      {name: 'rx_bytes', kind: 'counter', unit: 'bytes', fold: 'sum', of_node: false, help: 'Received.'},
      {name: 'mtu', kind: 'gauge', unit: 'bytes', fold: 'none', of_node: false, help: 'Of rows alone.'},
      {name: 'driver', kind: 'text', unit: '', fold: 'none', of_node: true, help: 'Text.'}]},
    {name: 'hardware_info', once: true, help: '', metrics: [{name: 'cores', kind: 'gauge', unit: '', fold: 'none', of_node: true, help: ''}]},
  ];
  const metrics = metricsOf(groups);
  assert.deepEqual(metrics.map(({name}) => name), ['memory_info.used', 'memory_info.total', 'network.rx_bytes']);
  assert.equal(metrics[2].unit, 'bytes/s');
  assert.deepEqual(rank(metrics, 'used').map(({name}) => name), ['memory_info.used', 'memory_info.total']);
  assert.deepEqual(rank(metrics, 'RECEIVED net').map(({name}) => name), ['network.rx_bytes']);
  assert.deepEqual(rank(metrics, 'nothing'), []);
});

test('the past is asked for in windows, once, and again only where it was not over', async () => {
  const asked = [];
  let now = 10000000;
  const ask = async ({from, to, step}) => {
    asked.push([from, to, step]);
    return {metric: 'm', unit: '', from: new Date(from).toISOString(), step, nodes: ['a'], low: 0, high: 1,
      steps: Array.from({length: Math.ceil((to - from) / step / 1000)}, (_, i) => base64(i))};
  };
  const replay = createReplay(ask, () => now, () => {}, (error) => assert.fail(error));
  assert.equal(replay.find(65000, 1), null);
  replay.want(65000, 1);
  replay.want(66000, 1);
  await new Promise(setImmediate);
  replay.want(67000, 1);
  assert.deepEqual(asked, [[60000, 90000, 1]]);
  assert.ok(Math.abs(replay.find(65400, 1).values[0] - 5 / 250) < 1e-6);
  assert.equal(replay.near(65400, 60).time, 65000);
  replay.want(now, 1);
  await new Promise(setImmediate);
  now += 3000;
  replay.want(now, 1);
  await new Promise(setImmediate);
  assert.equal(asked.length, 3, 'what was not over is asked for again');
  replay.close();
  assert.deepEqual([1, 10, 30, 60, 120, 600].map(stepOfSpeed), [1, 1, 5, 10, 60, 60]);
  assert.deepEqual([900, 3600, 86400].map(stepOfSpan), [60, 60, 720]);
});
