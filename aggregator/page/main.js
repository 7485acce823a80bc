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

import {view as cluster} from './cluster.js';
import {view as node} from './node.js';
import {view as jobs} from './jobs.js';
import {view as job} from './job.js';
import {view as compare} from './compare.js';
import {view as events} from './events.js';
import {view as clocks} from './clocks.js';

const VIEWS = [cluster, node, jobs, job, compare, events, clocks];
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

let shown = null; /* {view, handle} of the view that is open */

function show () {
  const name = address.name || VIEWS[0].name;
  const view = VIEWS.find((one) => one.name === name) ?? nowhere(name);
  if (shown?.view.name === view.name) {
    shown.handle.update(address.params);
  } else {
    shown?.handle.close();
    const again = shown !== null;
    replace(main);
    main.className = `view view-${view.name}`;
    shown = {view, handle: view.open(main, context)};
    if (again) {
      window.scrollTo(0, 0);
      main.focus({preventScroll: true});
    }
  }
  const title = view.title(address.params);
  setText(document.querySelector('title'), title ? `${title} · synop` : 'synop');
  frame.mark(view.name);
}

function nowhere (name) {
  return {
    name: `no ${name}`,
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
