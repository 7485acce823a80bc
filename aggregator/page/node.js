/* One node: what it is, what each of its groups says, live or at the page's instant, and curves of whatever is clicked. */
import {createNodeAlerts} from './alerts.js';
import {createCurves} from './curves.js';
import {el, onFrame, replace, setText} from './dom.js';
import {createEventList} from './event_list.js';
import {createGroupTable} from './group_table.js';
import {globOf, joinCurves, loadCatalog, splitCurves} from './metrics.js';
import {ACCELERATOR_PARTS} from './node_accelerators.js';
import {createNodeFeed} from './node_feed.js';
import {BASIC_PARTS} from './node_parts.js';
import {isOld} from './readings.js';
import {duration, format, MISSING, time} from './units.js';

const {cpus, memory, load, pressure, disks, mounts, network, infiniband, sensors, energy} = BASIC_PARTS;
const {gpus, processes, neuron, ecc, jobs} = ACCELERATOR_PARTS;
const PARTS = [cpus, memory, load, pressure, jobs, gpus, processes, neuron, ecc, disks, network, infiniband, mounts, energy, sensors];
const WIDE = new Set(['cpus', 'gpus', 'gpu-processes', 'jobs', 'disks', 'network', 'infiniband', 'mounts', 'neuron']);
const FIRST_CURVES = 'cpu_usage.busy,memory_info.used';
const STATE_EVERY = 5000;

export const view = {
  name: 'node',
  title: (params) => params.node ?? 'Node',
  open (root, context) {
    let shown = null;
    const show = (params) => {
      if (shown?.node !== params.node) {
        shown?.close();
        replace(root);
        shown = openNode(root, context, params.node ?? '');
      }
      shown.update(params);
    };
    show(context.params);
    return {update: show, close: () => shown.close()};
  },
};

function openNode (root, context, node) {
  const state = el('span', {'class': 'state'});
  const sample = el('span', {'class': 'dim', role: 'status'});
  const facts = el('p', {'class': 'node-facts'});
  const alerts = createNodeAlerts(context, node);
  const problem = el('p', {'class': 'problem', hidden: true});
  const parts = el('div', {'class': 'parts'});
  const groups = el('div', {'class': 'groups'});
  const events = createEventList(context, {node, span: 86400, label: `Events of ${node}`, short: true});
  const curves = createCurves(context, {node, label: `Curves of ${node}`, toggled: (list, span) => change({curves: joinCurves(list) || 'none', over: span})});
  root.append(
    el('div', {'class': 'head'}, el('h1', {}, node), state, sample), facts, alerts.element, problem, curves.element, parts,
    el('section', {'class': 'panel', 'aria-labelledby': 'node-events'}, el('h2', {id: 'node-events'}, 'Events of the last day'), events.element),
    el('section', {'class': 'panel all-groups', 'aria-labelledby': 'node-groups'}, el('h2', {id: 'node-groups'}, 'All groups'),
      el('p', {'class': 'note'}, 'Everything that this node samples.'), groups));

  const made = new Map(); /* parts that are shown, by id */
  const opened = new Map(); /* groups: {details, inside} */
  const problems = {state: '', lines: ''};
  let about = null; /* what api/v1/nodes says */
  let readings = null;
  let catalog = null;
  let closed = false;
  let timer = 0;

  function change (params) {
    context.change(params);
    update(context.params);
  }

  function update (params) {
    const wanted = params.curves === undefined ? FIRST_CURVES : params.curves === 'none' ? '' : params.curves;
    curves.show(splitCurves(wanted).slice(0, 12), params.over ?? '15m');
    markCurves();
  }

  /* ---- values ---- */

  const paint = onFrame(() => {
    if (closed || !readings || !catalog)
      return;
    paintHead();
    PARTS.forEach(paintPart);
    paintGroups();
    markCurves();
  });

  function paintPart (part) {
    const there = part.always || part.groups.some((group) => readings.find(group)) || part.shown?.(readings);
    const empty = part.shown && !part.shown(readings);
    if (!there || empty) {
      if (made.has(part.id))
        made.get(part.id).panel.hidden = true;
      return;
    }
    if (!made.has(part.id))
      made.set(part.id, beginPart(part));
    const {panel, inside, old} = made.get(part.id);
    panel.hidden = false;
    inside.update(readings, about?.facts ?? null);
    const table = readings.find(part.groups[0] ?? '');
    const late = table && isOld(table, readings.ms);
    setText(old, table?.error ? table.error : late ? `No sample since ${time(table.ms, 'short')}` : '');
    old.classList.toggle('is-bad', Boolean(table?.error));
  }

  function beginPart (part) {
    const inside = part.make({catalog, link: context.link});
    const old = el('p', {'class': 'part-note'});
    const panel = el('section', {'class': `panel part part-${part.id}${WIDE.has(part.id) ? ' is-wide' : ''}`, 'aria-label': part.title}, el('h2', {}, part.title), old, inside.element);
    const behind = PARTS.slice(PARTS.indexOf(part) + 1).map(({id}) => made.get(id)?.panel).find(Boolean);
    parts.insertBefore(panel, behind ?? null);
    return {panel, inside, old};
  }

  /* ---- all groups: made when they are opened ---- */

  function paintGroups () {
    const tables = readings.all().concat(factTables());
    for (const table of tables) {
      const id = `${table.owner} ${table.group}`;
      if (!opened.has(id))
        opened.set(id, beginGroup(table));
      const one = opened.get(id);
      one.table = table;
      setText(one.note, table.error ? table.error : isOld(table, readings.ms) && table.period ? `no sample since ${time(table.ms, 'short')}` : '');
      if (one.details.open)
        one.show();
    }
    const kept = new Set(tables.map((table) => `${table.owner} ${table.group}`));
    for (const [id, {details}] of opened)
      if (!kept.has(id)) {
        details.remove();
        opened.delete(id);
      }
  }

  /* Facts come once a session, long ago: the aggregator keeps them. */
  function factTables () {
    return Object.entries(about?.facts ?? {}).filter(([group, value]) => value && typeof value === 'object' && !readings.find(group))
      .map(([group, value]) => ({owner: '', group, section: '', value, ms: readings.ms, period: null, error: value.error ?? ''}));
  }

  function beginGroup (table) {
    const note = el('span', {'class': 'dim'});
    const place = el('div', {'class': 'group-place'});
    const name = table.owner ? `${table.group} of ${table.section === 'job_data' ? 'job' : 'runtime'} ${table.owner}` : table.group;
    const details = el('details', {'class': 'group'}, el('summary', {}, el('span', {'class': 'group-name'}, name), ' ',
      el('span', {'class': 'dim'}, catalog.group(table.group)?.help ?? ''), ' ', note), place);
    const one = {
      details, note, table, inside: null,
      show () {
        if (one.inside) {
          one.inside.update(one.table);
        } else {
          one.inside = createGroupTable(one.table, catalog);
          replace(place, one.inside.element);
        }
        markCurves();
      },
    };
    details.addEventListener('toggle', () => details.open && one.show());
    const later = [...groups.children].find((other) => other.dataset.name > name);
    details.dataset.name = name;
    groups.insertBefore(details, later ?? null);
    return one;
  }

  /* ---- the head ---- */

  function paintHead () {
    const past = !context.instant.live;
    const age = (context.instant.time() - readings.ms) / 1000;
    const letter = past ? (age < 60 ? '' : 'silent') : about?.state ?? '';
    setText(state, letter);
    state.className = `state is-${letter || 'none'}`;
    setText(sample, Number.isNaN(readings.ms) ? 'No sample of this time.'
      : age > 10 ? `No sample since ${time(readings.ms, 'short')}, ${duration(age)} before` : `Sample of ${time(readings.ms, 'short')}`);
    parts.classList.toggle('is-old', age > 60);
    const hardware = about?.facts?.hardware_info;
    const clock = readings.clock;
    setText(facts, [
      hardware?.cpu_model && `${hardware.sockets > 1 ? `${hardware.sockets} × ` : ''}${hardware.cpu_model}`,
      hardware?.threads && `${hardware.cores ? `${hardware.cores} cores, ` : ''}${hardware.threads} threads`,
      hardware?.memory_total && format(hardware.memory_total, 'bytes'),
      hardware?.os, hardware?.kernel && `Linux ${hardware.kernel}`,
      about?.version && `agent ${about.version}`,
      clock && `clock ${offset(clock.wall_offset)}`,
    ].filter(Boolean).join(' · '));
  }

  async function askState () {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        const {nodes} = await context.get('nodes', {node: globOf(node)});
        about = nodes[0] ?? null;
        fail('state', about ? null : `No node ${node} is listed.`);
        if (about && about.state !== 'up' && readings === null)
          setText(sample, about.last_seen === null ? 'It was never heard.' : `Last heard ${duration(about.last_seen)} ago`);
        if (about)
          paintState();
        paint();
      } catch (error) {
        fail('state', error.message);
      }
    }
    if (!closed)
      timer = setTimeout(askState, STATE_EVERY);
  }

  function paintState () {
    if (readings)
      return;
    setText(state, about.state);
    state.className = `state is-${about.state}`;
  }

  /* One of them may end while the other one stands. */
  function fail (source, message) {
    problems[source] = message ?? '';
    const text = Object.values(problems).filter(Boolean).join(' ');
    problem.hidden = !text;
    setText(problem, text);
  }

  /* ---- curves ---- */

  function pick (event) {
    const button = event.target.closest('button[data-curve]');
    if (!button)
      return;
    const name = button.dataset.curve;
    const list = curves.curves.includes(name) ? curves.curves.filter((one) => one !== name) : [name, ...curves.curves];
    change({curves: joinCurves(list) || 'none'});
    if (list.includes(name) && curves.element.getBoundingClientRect().bottom < 0)
      curves.element.scrollIntoView({block: 'nearest'});
  }

  function markCurves () {
    const chosen = new Set(curves.curves);
    for (const button of root.querySelectorAll('button[data-curve]')) {
      const pressed = String(chosen.has(button.dataset.curve));
      if (button.getAttribute('aria-pressed') !== pressed)
        button.setAttribute('aria-pressed', pressed);
    }
  }

  root.addEventListener('click', pick);
  const stopFeed = createNodeFeed(context, node, (given) => {
    readings = given;
    paint();
  }, (message) => fail('lines', message));
  const begin = async () => {
    catalog = await loadCatalog(context);
    paint();
  };
  begin();
  askState();

  return {
    node,
    update,
    close () {
      closed = true;
      clearTimeout(timer);
      root.removeEventListener('click', pick);
      stopFeed();
      paint.cancel();
      curves.destroy();
      events.destroy();
      alerts.destroy();
    },
  };
}

function offset (seconds) {
  return seconds === null || seconds === undefined ? MISSING : `${format(Math.abs(seconds), 'seconds')} ${seconds < 0 ? 'behind' : 'ahead'}`;
}
