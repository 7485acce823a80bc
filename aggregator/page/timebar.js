/* The page's time: live, or an instant of the history; one slider, a field, play and speed. Its state is in the address. */
import {el, onFrame, replace, setText} from './dom.js';
import {SPEEDS} from './instant.js';
import {settings} from './settings.js';
import {instantOf, parseTime, time} from './units.js';

/* What the slider spans: seconds; 0 is all that the history has. */
const SPANS = [[900, '15 minutes'], [3600, '1 hour'], [21600, '6 hours'], [86400, '1 day'], [604800, '7 days'],
  [2592000, '30 days'], [31536000, '1 year'], [0, 'All']];
const LIVE_TICKS = 1000; /* the slider has so many positions; the last one is live */

export function createTimebar (root, context, address) {
  const {instant, keys} = context;
  let span = 3600;
  let begin = null; /* of the history, once somebody asks for all of it */
  let end = instant.latest(); /* of the slider: now, or where it was when an instant was chosen */

  const live = el('button', {type: 'button', 'class': 'live', 'aria-pressed': 'true', on: {click: instant.goLive}}, 'Live');
  const play = el('button', {type: 'button', 'class': 'button play', on: {click: () => (instant.playing ? instant.pause() : instant.play())}});
  const back = el('button', {type: 'button', 'class': 'button step', 'aria-label': 'One step back', title: 'One step back (←)', on: {click: () => step(-1)}}, '−');
  const on = el('button', {type: 'button', 'class': 'button step', 'aria-label': 'One step on', title: 'One step on (→)', on: {click: () => step(1)}}, '+');
  const speed = el('select', {'aria-label': 'Speed', on: {change: () => instant.setSpeed(Number(speed.value))}},
    SPEEDS.map((times) => el('option', {value: String(times)}, `${times}×`)));
  const spans = el('select', {'aria-label': 'The slider spans', on: {change: () => setSpan(Number(spans.value))}},
    SPANS.map(([seconds, text]) => el('option', {value: String(seconds)}, text)));
  const slider = el('input', {type: 'range', min: '0', max: String(LIVE_TICKS), step: '1', 'aria-label': 'Instant', on: {input: slide}});
  const left = el('span', {'class': 'edge'});
  const right = el('span', {'class': 'edge'});
  const field = el('input', {type: 'text', size: '19', spellcheck: 'false', autocomplete: 'off', 'aria-label': 'Date and time',
    title: 'A time: 2026-11-23 04:00, 04:00, -90m', on: {change: enter, focus: () => field.select()}});
  const zone = el('span', {'class': 'zone'});

  replace(root,
    el('div', {'class': 'time-state'}, live, play, back, on, speed),
    el('div', {'class': 'time-slide'}, slider, el('div', {'class': 'edges', 'aria-hidden': 'true'}, left, right)),
    el('div', {'class': 'time-at'}, field, zone, spans));

  const length = () => (span || Math.max(60, (instant.latest() - (begin ?? instant.latest() - 3600000)) / 1000)) * 1000;

  function setSpan (seconds) {
    span = SPANS.some(([one]) => one === seconds) ? seconds : 3600;
    spans.value = String(span);
    end = instant.latest();
    address.change({span: span === 3600 ? null : span});
    if (span === 0 && begin === null)
      findBegin(context).then((ms) => {
        begin = ms;
        paint();
      }, () => {});
    paint();
  }

  /* The window moves on with time, and goes to where the instant is when that lies outside of it. */
  function place () {
    const now = instant.latest();
    const t = instant.time();
    if (instant.live || t > end || now - end < length() * 0.2)
      end = now;
    if (t < end - length())
      end = Math.min(now, t + length() / 2);
  }

  function slide () {
    const position = Number(slider.value);
    if (position >= LIVE_TICKS && end >= instant.latest() - length() * 0.2)
      instant.goLive();
    else
      instant.set(Math.round((end - length() * (1 - position / LIVE_TICKS)) / 1000) * 1000);
  }

  function step (direction) {
    instant.step(direction * Math.max(1000, Math.round(length() / 360000) * 1000));
  }

  function enter () {
    const ms = parseTime(field.value, instant.latest());
    field.setAttribute('aria-invalid', String(!Number.isFinite(ms)));
    if (Number.isFinite(ms))
      instant.set(ms);
  }

  function paint () {
    place();
    const t = instant.time();
    root.classList.toggle('is-past', !instant.live);
    live.setAttribute('aria-pressed', String(instant.live));
    live.setAttribute('title', instant.live ? 'Live' : 'Go on live (l)');
    setText(play, instant.playing ? 'Pause' : 'Play');
    play.setAttribute('title', `${instant.playing ? 'Pause' : 'Play'} (Space)`);
    speed.value = String(instant.speed);
    slider.value = String(instant.live ? LIVE_TICKS : Math.round(LIVE_TICKS * (1 - (end - t) / length())));
    slider.setAttribute('aria-valuetext', instant.live ? `Live, ${time(t, 'full')}` : time(t, 'full'));
    slider.style.setProperty('--at', `${Number(slider.value) / LIVE_TICKS * 100}%`);
    setText(left, time(end - length(), length() > 86400000 ? 'full' : 'short'));
    setText(right, end >= instant.latest() - 2000 ? 'now' : time(end, 'short'));
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
    });
  });

  function arrive ({params}) {
    if (params.span !== undefined && Number(params.span) !== span)
      setSpan(Number(params.span));
    const ms = instantOf(params.at);
    if (Number.isFinite(ms) ? Math.abs(ms - instant.time()) >= 1000 || instant.live : !instant.live)
      instant.set(ms);
    if (params.speed && !instant.live && !instant.playing) {
      instant.setSpeed(Number(params.speed));
      instant.play();
    }
  }
  address.onChange(arrive);
  spans.value = String(span);
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
