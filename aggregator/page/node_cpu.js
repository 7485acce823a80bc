/* The CPUs of a node: what their time goes to, and each as a cell of a heat strip, in the rows of its NUMA nodes. */
import {RAMP_CSS, RAMP_INK, stepOf} from './colours.js';
import {el, replace, setText} from './dom.js';
import {curveOf} from './metrics.js';
import {anatomy} from './readings.js';
import {createStack} from './stack.js';
import {format, MISSING} from './units.js';

const BIG = 32; /* up to so many cells have their number in them */
const COUNTED = [['user', 'User'], ['nice', 'Nice'], ['system', 'System'], ['irq', 'Interrupts'], ['soft_irq', 'Soft interrupts'],
  ['io_wait', 'Waiting for I/O'], ['steal', 'Stolen'], ['idle', 'Idle']];

export function createCpus ({catalog}) {
  const meta = catalog.group('cpu_usage');
  const stack = createStack('What the CPUs’ time goes to', COUNTED.map(([name, label]) => ({label, curve: curveOf('cpu_usage', name), quiet: name === 'idle', small: !['user', 'system', 'io_wait', 'idle'].includes(name)})));
  const strip = el('div', {'class': 'cpus', role: 'group', 'aria-label': 'Each CPU'});
  const cells = new Map();
  const element = el('div', {}, stack.element, strip, legend());
  let built = '';

  strip.addEventListener('keydown', (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity}[event.key];
    const all = [...cells.values()];
    const at = all.indexOf(event.target);
    if (step === undefined || at < 0)
      return;
    event.preventDefault();
    const next = all[Math.min(all.length - 1, Math.max(0, at + step))];
    event.target.setAttribute('tabindex', '-1');
    next.setAttribute('tabindex', '0');
    next.focus();
  });

  function build (labels, places) {
    cells.clear();
    const rooms = new Map();
    for (const label of labels) {
      const room = places?.[label]?.numa_node ?? null;
      const cell = el('button', {type: 'button', 'class': 'cpu', tabindex: cells.size ? '-1' : '0', 'data-curve': curveOf('cpu_usage', 'busy', label)});
      cells.set(label, cell);
      (rooms.get(room) ?? rooms.set(room, []).get(room)).push(cell);
    }
    strip.classList.toggle('is-big', labels.length <= BIG);
    replace(strip, [...rooms].map(([room, list]) => el('div', {'class': 'cpu-room'},
      rooms.size > 1 ? el('span', {'class': 'cpu-name'}, `NUMA ${room ?? '?'}`) : null, el('div', {'class': 'cpu-row'}, list))));
  }

  return {
    element,
    update (readings, facts) {
      const table = readings.find('cpu_usage');
      if (!table)
        return;
      const {fold, rows} = anatomy(table, meta);
      stack.set(COUNTED.map(([name]) => fold?.[name] ?? null), 100, (value) => format(value, 'percent'));
      const labels = (rows ?? []).map(([label]) => label);
      const places = facts?.cpu_info?.cpus;
      const shape = labels.join() + Boolean(places);
      if (shape !== built)
        build(labels, places);
      built = shape;
      for (const [label, values] of rows ?? [])
        paint(cells.get(label), label, values.busy ?? null);
    },
  };
}

function paint (cell, label, busy) {
  const step = busy === null ? null : stepOf(busy, 0, 100);
  const text = `CPU ${label}: ${busy === null ? 'not known' : `${Math.round(busy)} %`}`;
  if (cell.title === text)
    return;
  cell.title = text;
  cell.setAttribute('aria-label', text);
  cell.classList.toggle('is-none', busy === null);
  cell.style.setProperty('background', step === null ? '' : RAMP_CSS[step]);
  cell.style.setProperty('color', step === null ? '' : RAMP_INK[step]);
  setText(cell, cell.closest('.is-big') ? (busy === null ? MISSING : String(Math.round(busy))) : '');
}

function legend () {
  return el('p', {'class': 'cpu-legend', 'aria-hidden': 'true'}, 'Busy ', [0, 25, 50, 75, 100].map((share) => {
    const mark = el('span', {'class': 'cpu-key'});
    mark.style.setProperty('background', RAMP_CSS[stepOf(share, 0, 100)]);
    return [mark, `${share} % `];
  }));
}
