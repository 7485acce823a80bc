/* Under the picture: what the colours mean, and what the patterns do, with how many nodes have each. */
import {RAMP} from './colours.js';
import {el, setText} from './dom.js';
import {STATES} from './levels.js';
import {paintPattern, patternColours} from './patterns.js';
import {settings} from './settings.js';
import {counted, format} from './units.js';

const BAR = 220;
const SWATCH = 12;

export function createLegend () {
  const bar = el('canvas', {'class': 'legend-bar', width: String(BAR), height: '10', 'aria-hidden': 'true'});
  const low = el('span');
  const middle = el('span');
  const high = el('span');
  const scale = el('div', {'class': 'legend-scale'}, bar, el('div', {'class': 'legend-ends'}, low, middle, high));
  const keys = Object.entries(STATES).filter(([letter]) => letter !== 'u').map(([letter, name]) => {
    const swatch = el('canvas', {width: String(SWATCH * 2), height: String(SWATCH * 2), 'class': 'swatch', 'aria-hidden': 'true'});
    const text = el('span', {}, name);
    return {letter, name, swatch, text, item: el('li', {hidden: true}, swatch, text)};
  });
  const alertText = el('span');
  const alert = el('li', {hidden: true}, el('span', {'class': 'swatch alert-mark', 'aria-hidden': 'true'}), alertText);
  const element = el('div', {'class': 'picture-legend'}, scale, el('ul', {'class': 'pattern-keys'}, keys.map(({item}) => item), alert));

  const context = bar.getContext('2d');
  const image = context.createImageData(BAR, 10);
  for (let x = 0; x < BAR; x++)
    for (let y = 0; y < 10; y++)
      image.data.set([...RAMP[Math.round(x / (BAR - 1) * (RAMP.length - 1))], 255], (y * BAR + x) * 4);
  context.putImageData(image, 0, 0);

  function paint () {
    const colours = patternColours(element);
    for (const {letter, swatch} of keys) {
      const brush = swatch.getContext('2d');
      const picture = brush.createImageData(SWATCH * 2, SWATCH * 2);
      paintPattern(new Uint32Array(picture.data.buffer), SWATCH * 2, 0, 0, SWATCH * 2, SWATCH * 2, letter, colours, 2);
      brush.putImageData(picture, 0, 0);
    }
  }
  const stop = settings.onChange(paint);

  return {
    element,
    paint,
    show (counts, alerts, from, to, unit) {
      [low, middle, high].forEach((place, i) => setText(place, format(from + (to - from) * i / 2, unit).replace(/\.0(?=\D|$)/, '')));
      for (const {letter, name, text, item} of keys) {
        item.hidden = !counts[letter];
        setText(text, `${counted(counts[letter] ?? 0)} ${name}`);
      }
      alert.hidden = !alerts;
      setText(alertText, `${counted(alerts)} with an alert`);
    },
    close: stop,
  };
}
