/* The page: its frame, and which view is shown. This is its table of contents. */
import {createAddress} from './address.js';
import {createApi} from './api.js';
import {createCharts} from './chart.js';
import {el, replace, setText} from './dom.js';
import {showFrame} from './frame.js';
import {createInstant} from './instant.js';
import {createKeys} from './keys.js';
import {createTimebar} from './timebar.js';
import * as units from './units.js';

/* Each view is a module, which is loaded when it is wanted. The first is the one that an address without a name shows. */
const VIEWS = {
  cluster: () => import('./cluster.js'),
  node: () => import('./node.js'),
  jobs: () => import('./jobs.js'),
  job: () => import('./job.js'),
  compare: () => import('./compare.js'),
  events: () => import('./events.js'),
  clocks: () => import('./clocks.js'),
};
/* What the head of the page leads to; the others are reached from these. */
const PLACES = [['cluster', 'Cluster'], ['jobs', 'Jobs'], ['events', 'Events'], ['clocks', 'Clocks']];

const address = createAddress();
const api = createApi();
const instant = createInstant();
const keys = createKeys();
const main = document.getElementById('main');

/* What every view is handed. */
const context = {
  get params () {
    return address.params;
  },
  go: address.go,
  link: address.link,
  change: address.change,
  carry: address.carry,
  get: api.get,
  watch: api.watch,
  lines: api.lines,
  connection: api.connection,
  instant,
  format: units.format,
  time: units.time,
  units,
  keys,
  chart: createCharts(instant),
};

let shown = null; /* {name, view, handle} of the view that is open */
let wanted = null; /* its name, also while it is being loaded */

async function show () {
  const name = address.name || Object.keys(VIEWS)[0];
  frame.mark(name);
  if (wanted !== name) {
    wanted = name;
    const view = await load(name);
    if (wanted === name)
      open(view, name);
  } else if (shown?.name === name) {
    shown.handle.update(address.params);
  }
  const title = shown?.view.title(address.params);
  setText(document.querySelector('title'), title ? `${title} · synop` : 'synop');
}

async function load (name) {
  if (!Object.hasOwn(VIEWS, name))
    return nowhere(name);
  try {
    return (await VIEWS[name]()).view;
  } catch {
    return unloaded();
  }
}

function open (view, name) {
  const again = shown !== null;
  shown?.handle.close();
  replace(main);
  main.className = `view view-${view.name}`;
  shown = {name, view, handle: view.open(main, context)};
  if (again) {
    window.scrollTo(0, 0);
    main.focus({preventScroll: true});
  }
}

/* The aggregator is away just now: it is tried again when it answers. */
function unloaded () {
  return {
    name: 'unloaded',
    title: () => 'No answer',
    open (root) {
      root.append(el('p', {'class': 'problem'}, 'The aggregator does not answer. ', el('a', {href: ''}, 'Load the page again')));
      wanted = null;
      return {update () {}, close () {}};
    },
  };
}

function nowhere (name) {
  return {
    name: 'nowhere',
    title: () => 'No such view',
    open (root) {
      root.append(el('h1', {}, 'There is no such view'), el('p', {}, `“${name}” is none of this page’s views.`));
      return {update () {}, close () {}};
    },
  };
}

const frame = showFrame(PLACES, context);
createTimebar(document.querySelector('footer.time'), context, address);
address.onChange(show);
show();
