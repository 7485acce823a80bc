/* The past of a metric, as pictures: windows of steps, asked for before they are needed, the last dozen of them kept. */
import {pictureOfStep} from './levels.js';
import {instantOf} from './units.js';

const STEPS = 30; /* in a window */
const WINDOWS = 16; /* kept */
const AT_ONCE = 2;
const REST = 10000; /* after a failure, before the same is asked again */
const UNFINISHED = 15000; /* what is younger than this still changes */

/* The steps in which a speed is played: a step of a second is read from frames, one of a minute from what is kept for years. */
export const stepOfSpeed = (speed) => (speed <= 10 ? 1 : speed <= 30 ? 5 : speed <= 60 ? 10 : 60);

/* While the slider is moved: steps of minutes at least, about 120 of them in what it spans. */
export const stepOfSpan = (seconds) => Math.max(60, Math.ceil(seconds / 120 / 60) * 60);

/* ask ({from, to, step}) -> Promise of an answer with format=levels. arrived () is called when one has come. */
export function createReplay (ask, latest, arrived, failed) {
  const windows = new Map(); /* `${step}:${begin}` -> {answer, asking, control, pictures} */

  /* The picture at an instant, or null: not there (yet). */
  function find (ms, step) {
    const length = step * STEPS * 1000;
    const window = windows.get(`${step}:${Math.floor(ms / length) * length}`);
    if (!window?.answer)
      return null;
    const {answer} = window;
    const index = Math.floor((ms - instantOf(answer.from)) / (answer.step * 1000));
    if (index < 0 || index >= answer.steps.length)
      return null;
    return (window.pictures[index] ??= pictureOfStep(answer, index));
  }

  function want (ms, step) {
    const length = step * STEPS * 1000;
    const begin = Math.floor(ms / length) * length;
    const key = `${step}:${begin}`;
    const had = windows.get(key);
    if (had && (had.asking || had.until > latest())) {
      windows.delete(key);
      windows.set(key, had); /* used last */
      return;
    }
    const asking = [...windows.values()].filter((window) => window.asking);
    if (asking.length >= AT_ONCE)
      asking[0].control.abort();
    if (begin > latest())
      return;
    const control = new AbortController();
    const window = {answer: had?.answer ?? null, pictures: [], asking: true, control, until: Infinity};
    windows.delete(key);
    windows.set(key, window);
    for (const [old, {asking: busy}] of windows)
      if (windows.size > WINDOWS && !busy)
        windows.delete(old);
    ask({from: begin, to: Math.min(begin + length, Math.max(latest(), begin + step * 1000)), step}, control.signal).then((answer) => {
      window.answer = answer;
      window.pictures = [];
      window.asking = false;
      /* The last steps of now are asked for again when they are over. */
      window.until = begin + length > latest() - UNFINISHED ? latest() + 2000 : Infinity;
      arrived();
    }, (error) => {
      window.asking = false;
      window.until = error.name === 'AbortError' ? 0 : latest() + REST;
      if (error.name !== 'AbortError')
        failed(error);
    });
  }

  return {
    find,
    want,
    /* The best that is there at once: of any step, the one nearest to the instant. */
    near (ms, most) {
      let best = null;
      for (const key of windows.keys()) {
        const step = Number(key.split(':')[0]);
        const picture = find(ms, step);
        if (picture && step <= most && (!best || picture.until - picture.time < best.until - best.time))
          best = picture;
      }
      return best;
    },
    prefetch (ms, step) {
      want(ms, step);
      const length = step * STEPS * 1000;
      const left = (Math.floor(ms / length) + 1) * length - ms;
      if (left < length / 2)
        want(ms + length, step);
    },
    get busy () {
      return [...windows.values()].some((window) => window.asking);
    },
    close () {
      for (const window of windows.values())
        if (window.asking)
          window.control.abort();
      windows.clear();
    },
  };
}
