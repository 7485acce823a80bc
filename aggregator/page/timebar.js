/* The page's time: live, or an instant of the history; one slider, a field, play and speed. Its state is in the address. */
import {el, onFrame, replace, setText} from './dom.js';
import {SPEEDS} from './instant.js';
import {settings} from './settings.js';
import {instantOf, parseTime, time} from './units.js';

/* What the slider spans: seconds; 0 is all that the history has. */
const SPANS = [[900, '15 minutes'], [3600, '1 hour'], [21600, '6 hours'], [86400, '1 day'], [604800, '7 days'],
  [2592000, '30 days'], [31536000, '1 year'], [0, 'All']];
const POSITIONS = 1000; /* of the slider; the last one is live */

export function createTimebar (root, context, address) {
  const {instant, keys} = context;
  let asked = false; /* when the history begins, once somebody wants all of it */

  const live = el('button', {type: 'button', 'class': 'live', 'aria-pressed': 'true', on: {click: instant.goLive}}, 'Live');
  const play = el('button', {type: 'button', 'class': 'button play', on: {click: () => (instant.playing ? instant.pause() : instant.play())}});
  const back = el('button', {type: 'button', 'class': 'button step', 'aria-label': 'One step back', title: 'One step back (←)', on: {click: () => step(-1)}}, '−');
  const on = el('button', {type: 'button', 'class': 'button step', 'aria-label': 'One step on', title: 'One step on (→)', on: {click: () => step(1)}}, '+');
  const speed = el('select', {'aria-label': 'Speed', on: {change: () => instant.setSpeed(Number(speed.value))}},
    SPEEDS.map((times) => el('option', {value: String(times)}, `${times}×`)));
  const spans = el('select', {'aria-label': 'The slider spans', on: {change: () => setSpan(Number(spans.value))}},
    SPANS.map(([seconds, text]) => el('option', {value: String(seconds)}, text)));
  const slider = el('input', {type: 'range', min: '0', max: String(POSITIONS), step: '1', 'aria-label': 'Instant', on: {input: slide}});
  const left = el('span', {'class': 'edge'});
  const right = el('span', {'class': 'edge'});
  const field = el('input', {type: 'text', size: '19', spellcheck: 'false', autocomplete: 'off', 'aria-label': 'Date and time',
    title: 'A time: 2026-11-23 04:00, 04:00, -90m', on: {change: enter, focus: () => field.select()}});
  const zone = el('span', {'class': 'zone'});

  replace(root,
    el('div', {'class': 'time-state'}, live, play, back, on, speed),
    el('div', {'class': 'time-slide'}, slider, el('div', {'class': 'edges', 'aria-hidden': 'true'}, left, right)),
    el('div', {'class': 'time-at'}, field, zone, spans));

  function setSpan (seconds) {
    const span = SPANS.some(([one]) => one === seconds) ? seconds : 3600;
    instant.setSpan(span);
    if (span === 0 && !asked) {
      asked = true;
      findBegin(context).then(instant.setBegin, () => (asked = false));
    }
  }

  function slide () {
    const {from, to} = instant.window();
    const position = Number(slider.value);
    if (position >= POSITIONS && to >= instant.latest() - 1000)
      instant.goLive();
    else
      instant.set(Math.round((from + (to - from) * position / POSITIONS) / 1000) * 1000);
  }

  function step (direction) {
    const {from, to} = instant.window();
    instant.step(direction * Math.max(1000, Math.round((to - from) / 360000) * 1000));
  }

  function enter () {
    const ms = parseTime(field.value, instant.latest());
    field.setAttribute('aria-invalid', String(!Number.isFinite(ms)));
    if (Number.isFinite(ms))
      instant.set(ms);
  }

  function paint () {
    const {from, to} = instant.window();
    const t = instant.time();
    root.classList.toggle('is-past', !instant.live);
    live.setAttribute('aria-pressed', String(instant.live));
    live.setAttribute('title', instant.live ? 'Live' : 'Go on live (l)');
    setText(play, instant.playing ? 'Pause' : 'Play');
    play.setAttribute('title', `${instant.playing ? 'Pause' : 'Play'} (Space)`);
    speed.value = String(instant.speed);
    spans.value = String(instant.span);
    slider.value = String(instant.live ? POSITIONS : Math.round(POSITIONS * (t - from) / (to - from)));
    slider.setAttribute('aria-valuetext', instant.live ? `Live, ${time(t, 'full')}` : time(t, 'full'));
    slider.style.setProperty('--at', `${Number(slider.value) / POSITIONS * 100}%`);
    setText(left, time(from, 'short'));
    setText(right, to >= instant.latest() - 2000 ? 'now' : time(to, 'short'));
    setText(zone, settings.zone === 'utc' ? 'UTC' : '');
    if (document.activeElement !== field)
      field.value = time(t, 'full').slice(0, 19);
  }
  const repaint = onFrame(paint);

  instant.onChange(() => {
    repaint();
    address.change({
      at: instant.live ? null : new Date(instant.time()).toISOString().replace(/\.\d+Z$/, 'Z'),
      speed: instant.playing ? instant.speed : null,
      span: instant.span === 3600 ? null : instant.span,
    });
  });

  function arrive ({params}) {
    if (Number(params.span ?? 3600) !== instant.span)
      setSpan(Number(params.span ?? 3600));
    const ms = instantOf(params.at);
    if (Number.isFinite(ms) ? Math.abs(ms - instant.time()) >= 1000 || instant.live : !instant.live)
      instant.set(ms);
    if (params.speed && !instant.live && !instant.playing) {
      instant.setSpeed(Number(params.speed));
      instant.play();
    }
  }
  address.onChange(arrive);
  arrive(address);

  setInterval(() => {
    if (!document.hidden)
      repaint();
  }, 1000);
  settings.onChange(repaint);

  keys.add({
    'l': ['Live', instant.goLive],
    ' ': ['Play, pause', () => (instant.playing ? instant.pause() : instant.play())],
    'ArrowLeft': ['One step back', () => step(-1)],
    'ArrowRight': ['One step on', () => step(1)],
    '<': ['Slower', () => instant.setSpeed(SPEEDS[SPEEDS.indexOf(instant.speed) - 1] ?? SPEEDS[0])],
    '>': ['Faster', () => instant.setSpeed(SPEEDS[SPEEDS.indexOf(instant.speed) + 1] ?? SPEEDS.at(-1))],
  });
  paint();
}

/* When the history begins: the first step of ten years that has a value, and within it again, to some minutes. */
async function findBegin ({get, instant}) {
  let from = instant.latest() - 87600 * 3600000;
  let to = instant.latest();
  for (let look = 0; look < 4; look++) {
    const answer = await get('query', {metric: 'load.load_1', combined: true, from: iso(from), to: iso(to)});
    const first = answer.series.flatMap((one) => one.points).filter((point) => point[1] !== null)
      .reduce((least, point) => Math.min(least, point[0]), Infinity);
    if (!Number.isFinite(first))
      break;
    from = first * 1000;
    to = Math.min(instant.latest(), from + answer.step * 1000);
    if (answer.step <= 60)
      break;
  }
  return from;
}

const iso = (ms) => new Date(ms).toISOString();
