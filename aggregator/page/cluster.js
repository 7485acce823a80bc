/* The cluster: all nodes as cells of one picture, coloured by any metric, at the page's instant. */
import {createAround} from './around.js';
import {createCells} from './cells.js';
import {createJobList} from './cluster_jobs.js';
import {editRacks, racksOf} from './cluster_racks.js';
import {createCurve, createFigures, createTop} from './cluster_side.js';
import {createTip} from './cluster_tip.js';
import {createTrouble} from './cluster_trouble.js';
import {el, onFrame, setText} from './dom.js';
import {createFeed} from './feed.js';
import {createLegend} from './legend.js';
import {STATES, stateOf} from './levels.js';
import {arrange, SORTS} from './order.js';
import {createScale} from './scale.js';
import {createSearch} from './search.js';
import {remember} from './settings.js';
import {counted as countText, format, time, unitName} from './units.js';

const METRIC = 'cpu_usage.busy';
const REORDER = 2000; /* ms between two orders by value, so that cells can be followed */

export const view = {
  name: 'cluster',
  title: (params) => params.metric || METRIC,
  open,
};

function open (root, context) {
  const {instant} = context;
  let params = {};
  let picture = null;
  let shown = null; /* {order, groups, of: what they were made of} */
  let racks = racksOf(context.params);
  let stopFeed = null;
  let curve = null;
  let described = false;

  /* ---- what it is made of ---- */

  let groupsAsked = null;
  const groups = () => (groupsAsked ??= context.get('groups').then((answer) => answer.groups, (error) => {
    groupsAsked = null;
    throw error;
  }));

  const search = createSearch({
    load: groups,
    choose: (metric) => change({metric: metric === METRIC ? null : metric}),
  });
  const sort = choice('order', 'Order', SORTS, (value) => {
    change({sort: value === 'name' ? null : value});
    if (value === 'rack' && !racks.count)
      openRacks();
  });
  const spread = choice('spread', 'Scale', {full: 'From zero', fit: 'Lowest to highest'}, (value) => change({scale: value === 'full' ? null : value}));
  const filter = el('input', {id: 'only', type: 'text', size: '10', spellcheck: 'false', autocomplete: 'off', placeholder: 'All',
    on: {change: () => change({nodes: filter.value.trim() || null})}});
  const rackButton = el('button', {type: 'button', 'class': 'button', on: {click: openRacks}}, 'Racks');

  const title = el('h1');
  const help = el('p', {'class': 'note metric-help'});
  const asOf = el('p', {'class': 'as-of'});
  const problem = el('p', {'class': 'problem', role: 'alert', hidden: true});
  const wait = el('p', {'class': 'note waiting'}, 'Waiting for values.');
  const stage = el('div', {'class': 'picture-stage'});
  const said = el('p', {'class': 'unseen', 'aria-live': 'polite'});
  const cells = createCells(stage, {onPoint: pointAt, onOpen: (i) => picture && context.go('node', {node: picture.nodes[i]})});
  const tip = createTip(stage, context, valueText);
  const legend = createLegend();
  const figures = createFigures(context);
  const top = createTop(context, {turn: () => change({low: params.low ? null : '1'})});
  const trouble = createTrouble(context);
  const jobs = createJobList(context);
  const curvePlace = el('div', {'class': 'curve'});
  const scale = createScale();
  const around = createAround(context, () => draw());

  cells.canvas.setAttribute('aria-describedby', 'cells-help');
  root.append(
    el('div', {'class': 'tools'}, search.element,
      el('div', {'class': 'field'}, el('label', {'for': 'only'}, 'Nodes'), filter), sort.element, rackButton, spread.element),
    problem,
    el('div', {'class': 'cluster'},
      el('div', {'class': 'main-part'}, el('section', {'class': 'panel picture', 'aria-label': 'Nodes'},
        el('div', {'class': 'picture-head'}, el('div', {}, title, help), asOf),
        wait, stage, legend.element,
        el('p', {'class': 'unseen', id: 'cells-help'}, 'Arrows go from node to node, Enter opens one. The table of nodes with the highest values follows.'), said),
      el('div', {'class': 'below'}, trouble.element, jobs.element)),
      el('div', {'class': 'side'},
        el('section', {'class': 'panel', 'aria-label': 'All nodes together'}, figures.element, curvePlace),
        top.element)));
  legend.paint();
  const stopKeys = context.keys.add({
    '/': ['Search a metric', () => search.input.focus()],
    'o': ['Next order', () => {
      const names = Object.keys(SORTS);
      sort.choose(names[(names.indexOf(params.sort ?? 'name') + 1) % names.length]);
    }],
  });

  /* ---- what is asked ---- */

  function change (some) {
    context.change(some);
    update(context.params);
  }

  function openRacks () {
    editRacks(context, picture?.nodes ?? [], () => {
      racks = racksOf(context.params);
      shown = null;
      if (params.sort === 'rack')
        draw();
      else
        change({sort: 'rack'});
    });
  }

  function update (next) {
    const before = params;
    params = {...next, metric: next.metric || METRIC};
    sort.set(params.sort in SORTS ? params.sort : 'name');
    spread.set(params.scale === 'fit' ? 'fit' : 'full');
    if (document.activeElement !== filter)
      filter.value = params.nodes ?? '';
    if (params.racks !== before.racks) {
      racks = racksOf(params);
      if (params.racks)
        remember('racks', params.racks);
    }
    if (params.metric !== before.metric || params.nodes !== before.nodes)
      begin();
    shown = params.sort === before.sort ? shown : null;
    draw();
  }

  function begin () {
    const {metric, nodes} = params;
    stopFeed?.();
    curve?.close();
    search.set(metric);
    scale.reset();
    fail(null);
    describe();
    picture = null;
    stopFeed = createFeed(context, {metric, node: nodes}, {take, fail, busy: (yes) => stage.classList.toggle('is-busy', yes)});
    curve = createCurve(curvePlace, context, metric, nodes);
    described = false;
  }

  /* The names of all metrics wait for the first picture. */
  function describeSoon () {
    if (!described)
      search.loaded().then(describe);
    described = true;
  }

  function describe () {
    const found = search.find(params.metric);
    setText(title, params.metric);
    setText(help, found ? [found.help, unitName(found.unit) && `In ${unitName(found.unit)}.`].filter(Boolean).join(' ') : '\u00a0');
    document.title = `${params.metric} · synop`;
  }

  function take (next) {
    picture = next;
    fail(null);
    draw();
    curve ??= createCurve(curvePlace, context, params.metric, params.nodes);
    curve.tick(next);
    describeSoon();
  }

  function fail (message) {
    problem.hidden = !message;
    setText(problem, message ?? '');
    wait.hidden = Boolean(message);
    const unknown = Boolean(message) && !picture;
    root.classList.toggle('is-unknown', unknown);
    if (unknown) {
      curve?.close();
      curve = null;
    }
    if (message)
      describeSoon();
  }

  /* ---- how it is drawn ---- */

  const draw = onFrame(() => {
    if (!picture)
      return;
    withStates();
    order();
    const [low, high] = scale.of(picture, params.scale === 'fit');
    const marks = marked();
    wait.hidden = picture.nodes.length > 0;
    setText(wait, params.nodes ? 'No node has such a name.' : instant.live ? 'No nodes are listed.' : 'The history has nothing of this instant.');
    cells.show({picture, order: shown.order, groups: shown.groups, low, high, marks, format: valueText});
    cells.canvas.setAttribute('aria-label', `${picture.nodes.length} nodes, coloured by ${params.metric}`);
    legend.show(counted(), marks.size, low, high, picture.unit);
    figures.show(picture);
    top.show(picture, Boolean(params.low), low, high);
    trouble.show(picture, around);
    jobs.show(around.list);
    sayWhen();
    tip.refresh(picture, cells.pointed);
  });

  /* Of the past only values are kept with the picture; how silent nodes were, the events say. */
  function withStates () {
    if (picture.until === null || picture.states)
      return;
    picture.states = picture.nodes.map((node, i) => (Number.isNaN(picture.values[i]) ? around.stateOf(node) ?? 'u' : 'u')).join('');
  }

  function order () {
    const name = params.sort ?? 'name';
    const groupOf = name === 'rack' ? (node) => racks.rackOf(node) : (node) => around.jobsOf(node)[0]?.job_id ?? null;
    const of = [name, name === 'value' ? Math.floor(performance.now() / REORDER) : 0, name === 'job' ? around.jobs : null, picture.nodes.length];
    const same = shown && sameNodes(shown.nodes, picture.nodes) && of.every((part, i) => part === shown.of[i]);
    if (!same)
      shown = {...arrange(picture, name, groupOf), of, nodes: picture.nodes};
  }

  function marked () {
    const marks = new Set();
    if (around.alerts.size)
      picture.nodes.forEach((node, i) => around.alerts.has(node) && marks.add(i));
    return marks;
  }

  function counted () {
    const counts = {};
    for (let i = 0; i < picture.nodes.length; i++) {
      const state = stateOf(picture, i);
      counts[state] = (counts[state] ?? 0) + 1;
    }
    return counts;
  }

  function sayWhen () {
    const count = `${countText(picture.nodes.length)} ${picture.nodes.length === 1 ? 'node' : 'nodes'}`;
    const length = picture.until === null ? null : (picture.until - picture.time) / 1000;
    const late = !instant.live && (instant.time() < picture.time || instant.time() >= picture.until);
    setText(asOf, `${count}, ${time(picture.time, 'short')}${length > 1 ? `, mean of ${format(length, 'seconds')}` : ''}${late ? ', loading' : ''}`);
    stage.classList.toggle('is-late', late || (instant.live && context.connection.state === 'lost'));
  }

  /* ---- one of them ---- */

  function pointAt (i, rect, byKey) {
    if (picture)
      tip.show(picture, i, rect, around, params.sort === 'rack' && i >= 0 ? racks.rackOf(picture.nodes[i]) : null);
    if (byKey && picture)
      setText(said, i < 0 ? '' : `${picture.nodes[i]}: ${valueText(picture, i)}${aboutNode(picture.nodes[i])}`);
  }

  function aboutNode (node) {
    const jobs = around.jobsOf(node).map((job) => `job ${job.job_id}`);
    return [...jobs, ...around.alertsOf(node)].map((text) => `, ${text}`).join('');
  }

  const stopConnection = context.connection.onChange(draw);
  update(context.params);
  return {
    update,
    close () {
      stopFeed?.();
      curve?.close();
      around.close();
      stopConnection();
      stopKeys();
      legend.close();
      draw.cancel();
      tip.close();
      cells.destroy();
    },
  };
}

function sameNodes (a, b) {
  return a === b || (a.length === b.length && a.every((node, i) => node === b[i]));
}

function valueText (picture, i) {
  const state = stateOf(picture, i);
  return state === 'u' ? format(picture.values[i], picture.unit) : STATES[state];
}

/* A labelled list to choose from: {element, set (value), choose (value)} */
function choice (id, label, texts, chosen) {
  const select = el('select', {id, on: {change: () => chosen(select.value)}},
    Object.entries(texts).map(([value, text]) => el('option', {value}, text)));
  return {
    element: el('div', {'class': 'field'}, el('label', {'for': id}, label), select),
    set (value) {
      select.value = value;
    },
    choose (value) {
      select.value = value;
      chosen(value);
    },
  };
}
