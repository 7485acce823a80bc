/* A bar of parts that make up a whole, with a legend whose values are buttons for curves. */
import {lineColours} from './colours.js';
import {el, setText} from './dom.js';
import {settings} from './settings.js';
import {MISSING} from './units.js';

/* parts: [{label, curve, quiet, small}]; quiet: what is left over, without a colour; small: shown only while there is some.
 * set (values, whole, text (value)) */
export function createStack (label, parts) {
  const bars = parts.map((part) => el('span', {'class': `stack-part${part.quiet ? ' is-quiet' : ''}`}));
  const marks = parts.map((part) => el('span', {'class': `stack-mark${part.quiet ? ' is-quiet' : ''}`, 'aria-hidden': 'true'}));
  const values = parts.map((part) => (part.curve ? el('button', {type: 'button', 'class': 'value', 'data-curve': part.curve}) : el('span')));
  const items = parts.map((part, i) => el('li', {}, marks[i], `${part.label} `, values[i]));
  const bar = el('div', {'class': 'stack', 'aria-hidden': 'true'}, bars);
  const element = el('figure', {'class': 'stack-box', 'aria-label': label}, bar, el('ul', {'class': 'stack-legend'}, items));

  const paint = () => {
    const colours = lineColours(settings.dark);
    let next = 0;
    parts.forEach((part, i) => {
      const colour = part.quiet ? '' : colours[next++ % colours.length];
      bars[i].style.setProperty('background', colour);
      marks[i].style.setProperty('background', colour);
    });
  };
  paint();
  const stop = settings.onChange(() => (element.isConnected ? paint() : stop()));

  return {
    element,
    set (numbers, whole, text) {
      parts.forEach((part, i) => {
        const value = numbers[i];
        const share = Number.isFinite(value) && whole > 0 ? Math.max(0, value / whole) : 0;
        bars[i].hidden = share === 0;
        bars[i].style.setProperty('width', `${(share * 100).toFixed(2)}%`);
        setText(values[i], value === null || value === undefined ? MISSING : text(value));
        items[i].hidden = Boolean(part.small) && !(share > 0.001);
      });
    },
  };
}
