/* The roofline of a job: how many operations it does for each byte, and how many a second, below what the nodes can do. */
import {el, replace, svg} from './dom.js';
import {format} from './units.js';

const WIDTH = 640;
const HEIGHT = 300;
const LEFT = 76;
const BOTTOM = 40;

/* False: the report has none. */
export function drawRoofline (place, report) {
  const points = [{name: 'job', ...report.counters}, ...report.nodes.map(({node, counters}) => ({name: node, ...counters}))]
    .filter(({intensity, flops}) => intensity > 0 && flops > 0);
  const peaks = report.counters?.peaks;
  const peak = Math.max(peaks?.flops_double ?? 0, peaks?.flops_single ?? 0);
  if (!points.length || !(peak > 0) || !(peaks?.memory_bandwidth > 0))
    return false;
  const ridge = peak / peaks.memory_bandwidth;
  const x = scaleOf([...points.map(({intensity}) => intensity), ridge], LEFT, WIDTH - 16);
  const y = scaleOf([...points.map(({flops}) => flops), peak], HEIGHT - BOTTOM, 16);
  const roof = (intensity) => Math.min(peak, intensity * peaks.memory_bandwidth);
  const picture = svg('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': 'Roofline', 'class': 'roofline'},
    x.decades.map((value) => [svg('line', {x1: x.of(value), x2: x.of(value), y1: 16, y2: HEIGHT - BOTTOM, 'class': 'grid'}),
      svg('text', {x: x.of(value), y: HEIGHT - BOTTOM + 16, 'text-anchor': 'middle'}, format(value))]),
    y.decades.map((value) => [svg('line', {x1: LEFT, x2: WIDTH - 16, y1: y.of(value), y2: y.of(value), 'class': 'grid'}),
      svg('text', {x: LEFT - 8, y: y.of(value) + 4, 'text-anchor': 'end'}, format(value, 'FLOP/s'))]),
    svg('path', {d: `M${x.of(x.low)},${y.of(roof(x.low))}L${x.of(ridge)},${y.of(peak)}L${x.of(x.high)},${y.of(peak)}`, 'class': 'roof'}),
    points.toReversed().map(({name, intensity, flops}) => svg('circle', {cx: x.of(intensity), cy: y.of(flops), r: name === 'job' ? 6 : 4, 'class': name === 'job' ? 'of-job' : 'of-node'},
      svg('title', {}, `${name}: ${format(intensity)} operations a byte, ${format(flops, 'FLOP/s')}`))),
    svg('text', {x: (LEFT + WIDTH) / 2, y: HEIGHT - 6, 'text-anchor': 'middle'}, 'Operations a byte'));
  const share = Math.max(report.counters.flops_share ?? 0, report.counters.memory_bandwidth_share ?? 0);
  replace(place, el('h2', {}, 'Roofline'), picture,
    el('p', {'class': 'note'}, `The large point is the job, the others are its nodes; the line is what a mean node can do. It is at ${format(share, 'percent')} of that.`));
  return true;
}

/* Logarithmic, in whole powers of ten. */
function scaleOf (values, from, to) {
  const low = 10 ** Math.floor(Math.log10(Math.min(...values)) - 0.3);
  const high = 10 ** Math.ceil(Math.log10(Math.max(...values)) + 0.1);
  const of = (value) => from + (to - from) * Math.log10(Math.min(high, Math.max(low, value)) / low) / Math.log10(high / low);
  const decades = [];
  for (let value = low; value <= high * 1.001; value *= 10)
    decades.push(value);
  return {low, high, of: (value) => Number(of(value).toFixed(1)), decades};
}
