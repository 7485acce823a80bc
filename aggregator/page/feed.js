/* Pictures of a metric at the page's instant: as they come while it is live, else of the history. Both are the same to whoever
 * takes them.
 *
 * createFeed (context, {metric, node}, {take (picture), fail (message), busy (yes)}) -> stop () */
import {pictureOf} from './levels.js';
import {createReplay, stepOfSpan, stepOfSpeed} from './replay.js';
import {recall, remember} from './settings.js';

const CROWD = 1000; /* nodes above which values come as levels */
const AGAIN = 5000;
const SOON = 1000; /* no node has come yet */
const SETTLED = 300; /* ms that the slider has to rest */

export function createFeed (context, {metric, node}, {take, fail, busy}) {
  const {instant} = context;
  let stopLive = null;
  let replay = null;
  let timer = 0;

  const retune = () => {
    if (instant.live) {
      closePast();
      stopLive ??= openLive(context, {metric, node}, take, fail);
    } else {
      stopLive?.();
      stopLive = null;
      replay ??= openPast();
      follow();
    }
  };

  function openPast () {
    const ask = ({from, to, step}, signal) => context.get('query', {
      metric, node, format: 'levels', step: `${step}s`, from: new Date(from).toISOString(), to: new Date(to).toISOString(),
    }, {signal});
    return createReplay(ask, instant.latest, show, (error) => fail(error.message));
  }

  function closePast () {
    clearTimeout(timer);
    replay?.close();
    replay = null;
  }

  /* While it is played, windows of its speed; while the slider moves, coarse ones; where it rests, the second itself. */
  function follow () {
    clearTimeout(timer);
    const t = instant.time();
    const {from, to} = instant.window();
    if (instant.playing) {
      replay.prefetch(t, stepOfSpeed(instant.speed));
    } else {
      replay.want(t, stepOfSpan((to - from) / 1000));
      timer = setTimeout(() => replay?.want(t, 1), SETTLED);
    }
    show();
  }

  function show () {
    if (!replay)
      return;
    const {from, to} = instant.window();
    const most = Math.max(stepOfSpan((to - from) / 1000), stepOfSpeed(instant.speed));
    const picture = replay.near(instant.time(), most);
    busy(replay.busy);
    if (picture)
      take(picture);
  }

  const stopChange = instant.onChange(retune);
  retune();
  return () => {
    stopChange();
    stopLive?.();
    closePast();
  };
}

const hasNodes = ({nodes, states}) => nodes.length > states.length || states.includes('u');

/* One answer at once, for the first picture, then a line each tick. */
function openLive ({get, watch, instant}, {metric, node}, take, fail) {
  let stopped = false;
  let nodes = null;
  let stop = null;
  let encoding = recall('crowd') ? 'levels' : 'values';

  const receive = (line) => {
    const picture = pictureOf(line, nodes);
    if (stopped || !picture)
      return;
    nodes = picture.nodes;
    instant.heard(picture.time);
    const fits = nodes.length > CROWD ? 'levels' : 'values';
    if (fits !== encoding) {
      encoding = fits;
      remember('crowd', fits === 'levels' ? 'yes' : null);
      stop?.();
      stop = null;
    }
    take(picture);
    if (hasNodes(picture))
      stop ??= watch({metrics: [metric], node, encoding}, receive, (message) => message && fail(message));
    else
      timer = setTimeout(begin, SOON);
  };

  /* Just after the aggregator's start no node has come yet, and no metric is known: what is wrong now may be right soon. */
  let timer = 0;
  const begin = () => get('now', {metric, node, encoding}).then(receive, (error) => {
    if (stopped)
      return;
    if (error.status)
      fail(error.message);
    if (error.status >= 400 && error.status < 500)
      timer = setTimeout(begin, AGAIN);
    else
      stop ??= watch({metrics: [metric], node, encoding}, receive, (message) => message && fail(message));
  });
  begin();
  return () => {
    stopped = true;
    clearTimeout(timer);
    stop?.();
  };
}
