/* Curves, drawn by uPlot: lines and a band from lowest to highest over time, gaps as gaps, the page's instant as a line.
 *
 * chart (element, {label, unit, height, series, band, stacked, zero}) -> {set (data, range), destroy ()}
 *   label    what the curve shows, for those who do not see it
 *   series   [{label, colour, dash, width, hidden}]; without colour one of those that colour-blind people tell apart
 *   band     [high, low]: indices of the series (from 0) between which it is filled
 *   stacked  series are stacked on each other, the first at the bottom
 *   zero     false: the axis need not begin at 0
 *   data     [[seconds since 1970...], [values of the first series...], ...]; null is a gap
 *   range    {from, to} in seconds; else that of the data
 * A click sets the page's instant; arrows on a chart with focus move what is read, Enter sets the instant. */
import {lineColours} from './colours.js';
import {el, onFrame, setText} from './dom.js';
import {settings} from './settings.js';
import * as units from './units.js';

let loaded = null;
let loading = null;
const load = () => (loading ??= fetchPlot().then((found) => (loaded = found), () => null));

/* Neither is in the first picture's way. */
async function fetchPlot () {
  const module = await import('./uplot/uPlot.esm.js');
  const sheet = el('link', {rel: 'stylesheet', href: new URL('./uplot/uPlot.min.css', import.meta.url).href});
  await new Promise((done) => {
    sheet.onload = sheet.onerror = done;
    document.head.append(sheet);
  });
  return module.default;
}

export function createCharts (instant) {
  return (element, options) => makeChart(element, options, instant);
}

function makeChart (element, options, instant) {
  const {label = '', unit = '', height = 180, series = [], stacked = false} = options;
  const box = el('div', {'class': 'chart-box'});
  const reading = el('p', {'class': 'chart-reading', 'aria-live': 'off'}, '\u00a0');
  const figure = el('div', {'class': 'chart', tabindex: '0', role: 'img', 'aria-label': label}, box);
  element.append(reading, figure);

  let plot = null;
  let given = null;
  let range = null;
  let colours = [];
  let gone = false;

  const legend = legendOf(series, () => colours);
  if (series.filter((one) => !one.hidden && one.label).length > 1)
    element.append(legend.element);

  const build = async () => {
    const Plot = await load();
    if (gone)
      return;
    if (!Plot) {
      setText(reading, 'Curves need uPlot, which this installation lacks: npm or a network was missing when it was built.');
      return;
    }
    plot?.destroy();
    plot = null;
    if (!given || !box.clientWidth)
      return;
    colours = series.map((one, i) => one.colour?.(settings.dark) ?? lineColours(settings.dark)[i % 8]);
    legend.paint();
    plot = new Plot(plotOptions(), drawn(), box);
  };

  const plotOptions = () => {
    const style = getComputedStyle(element);
    const ink = style.getPropertyValue('--ink-3').trim();
    const line = style.getPropertyValue('--line').trim();
    const font = `11px ${style.fontFamily}`;
    return {
      width: box.clientWidth,
      height,
      tzDate: settings.zone === 'utc' ? (t) => loaded.tzDate(new Date(t * 1000), 'Etc/UTC') : undefined,
      legend: {show: false},
      cursor: {sync: {key: 'synop'}, drag: {x: false, y: false}, points: {size: 6}},
      scales: {x: {time: true, range: () => [range.from, range.to]}, y: {range: yRange}},
      axes: [
        {stroke: ink, font, grid: {stroke: line, width: 1}, ticks: {show: false}, size: 28, space: 90,
          values: (_, splits, __, ___, step) => splits.map((t) => timeLabel(t, step))},
        {stroke: ink, font, grid: {stroke: line, width: 1}, ticks: {show: false}, size: axisSize, space: 32,
          ...(unit.startsWith('bytes') ? {incrs: BINARY_STEPS} : {}), values: (_, splits) => valueLabels(splits, unit)},
      ],
      series: [{}, ...series.map((one, i) => ({
        stroke: one.hidden ? 'transparent' : colours[i],
        width: one.hidden ? 0 : (one.width ?? 1.5),
        dash: one.dash,
        fill: stacked ? alpha(colours[i], 0.55) : undefined,
        points: {show: false},
        spanGaps: false,
      }))],
      bands: bandsOf(options, colours),
      hooks: {
        draw: [drawInstant],
        setCursor: [(u) => setText(reading, u.cursor.idx === null || u.cursor.idx === undefined ? '\u00a0' : read(u.cursor.idx))],
      },
    };
  };

  const yRange = (_, low, high) => {
    if (low === null || !Number.isFinite(low))
      return [0, 1];
    const floor = options.zero === false ? low : Math.min(0, low);
    if ((unit === 'percent' || unit === '%') && options.zero !== false)
      return [floor, Math.max(high, stacked ? 100 : Math.min(100, high * 1.08), 1)];
    const room = (high - floor) * 0.08 || Math.abs(high) * 0.1 || 1;
    return [floor < 0 || options.zero === false ? floor - room : 0, high + room];
  };

  const drawInstant = (u) => {
    if (instant.live)
      return;
    const t = instant.time() / 1000;
    if (t < range.from || t > range.to)
      return;
    const x = Math.round(u.valToPos(t, 'x', true));
    u.ctx.save();
    u.ctx.fillStyle = getComputedStyle(element).getPropertyValue('--accent').trim();
    u.ctx.fillRect(x - 1, u.bbox.top, 2 * devicePixelRatio, u.bbox.height);
    u.ctx.restore();
  };

  const read = (index) => {
    const [times, ...columns] = given;
    const words = series.map((one, i) => (one.label ? `${one.label} ` : '') + units.format(columns[i][index], unit));
    return `${units.time(times[index], 'short')}  ${words.join('  ')}`;
  };

  /* What uPlot is given: stacks are sums. */
  const drawn = () => {
    if (!stacked)
      return given;
    const sums = new Array(given[0].length).fill(0);
    return [given[0], ...given.slice(1).map((column) => column.map((value, i) => (value === null ? null : (sums[i] += value))))];
  };

  const size = onFrame(() => {
    if (!box.clientWidth)
      return;
    if (!plot)
      build();
    else if (plot.width !== box.clientWidth)
      plot.setSize({width: box.clientWidth, height});
  });
  const watching = new ResizeObserver(size);
  watching.observe(box);
  box.style.setProperty('height', `${height}px`);

  const redraw = onFrame(() => plot?.redraw(false));
  const stops = [settings.onChange(build), instant.onChange(redraw)];

  const moveTo = (index) => {
    const left = plot.valToPos(given[0][index], 'x');
    plot.setCursor({left, top: plot.over.clientHeight / 2});
    setText(reading, read(index));
  };
  figure.addEventListener('click', () => {
    const index = plot?.cursor.idx;
    if (index !== null && index !== undefined)
      instant.set(given[0][index] * 1000);
  });
  figure.addEventListener('focus', () => reading.setAttribute('aria-live', 'polite'));
  figure.addEventListener('blur', () => reading.setAttribute('aria-live', 'off'));
  figure.addEventListener('keydown', (event) => {
    if (!plot || !given[0].length)
      return;
    const last = given[0].length - 1;
    const index = plot.cursor.idx ?? last;
    const next = {ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: last}[event.key];
    if (next !== undefined)
      moveTo(Math.min(last, Math.max(0, next)));
    else if (event.key === 'Enter')
      instant.set(given[0][index] * 1000);
    else
      return;
    event.preventDefault();
  });

  return {
    set (data, wanted = null) {
      given = data;
      const times = data[0];
      range = wanted ?? {from: times[0] ?? 0, to: Math.max(times.at(-1) ?? 1, (times[0] ?? 0) + 1)};
      if (plot)
        plot.setData(drawn());
      else
        build();
    },
    destroy () {
      gone = true;
      watching.disconnect();
      size.cancel();
      redraw.cancel();
      stops.forEach((stop) => stop());
      plot?.destroy();
      figure.remove();
      reading.remove();
      legend.element.remove();
    },
  };
}

function bandsOf ({band, series = [], stacked}, colours) {
  if (band)
    return [{series: [band[0] + 1, band[1] + 1], fill: alpha(colours[band[0]], 0.22)}];
  return stacked ? series.slice(1).map((_, i) => ({series: [i + 2, i + 1], fill: alpha(colours[i + 1], 0.55)})) : [];
}

const alpha = (colour, share) => `${colour}${Math.round(share * 255).toString(16).padStart(2, '0')}`;

function legendOf (series, colours) {
  const marks = series.map(() => el('span', {'class': 'legend-mark', 'aria-hidden': 'true'}));
  const element = el('ul', {'class': 'legend'}, series.map((one, i) => (one.hidden ? null : el('li', {}, marks[i], one.label ?? ''))));
  return {
    element,
    paint: () => marks.forEach((mark, i) => mark.style.setProperty('background', colours()[i])),
  };
}

function axisSize (plot, values) {
  const longest = Math.max(...(values ?? ['']).map((text) => text.length));
  return Math.max(34, longest * 6.4 + 12);
}

/* Between the lines of an axis of bytes: 200 MiB rather than 191. */
const BINARY_STEPS = [0, 1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5, 10, 20, 50, 100, 200, 500].map((times) => times * 1024 ** power));

function valueLabels (splits, unit) {
  const most = Math.max(...splits.map(Math.abs));
  const {factor, unit: name} = units.scale(most, unit);
  const step = splits.length > 1 ? Math.abs(splits[1] - splits[0]) / factor : 1;
  const places = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9)));
  return splits.map((value) => `${(value / factor).toFixed(places)}${name ? `\u00a0${name}` : ''}`);
}

function timeLabel (seconds, step) {
  const full = units.time(seconds, 'full');
  if (step >= 86400)
    return full.slice(0, 10);
  if (step < 60)
    return full.slice(11, 19);
  return full.slice(11, 16) === '00:00' ? full.slice(5, 10) : full.slice(11, 16);
}
