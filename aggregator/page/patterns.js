/* Why a cell has no value, as a pattern: down is striped, stale is dotted, never heard is an empty frame, without a value is plain. */
import {pixelOf, rgbOf} from './colours.js';

/* The colours of this theme, as CSS and as pixels. */
export function patternColours (root) {
  const style = getComputedStyle(root);
  const token = (name) => style.getPropertyValue(name).trim();
  const pixel = (name) => pixelOf(rgbOf(token(name)));
  return {
    font: style.fontFamily,
    ink: token('--ink'),
    label: token('--ink-3'),
    surface: token('--surface'),
    plate: token('--surface'),
    alert: token('--alert'),
    none: pixel('--cell-none'),
    mark: pixel('--cell-mark'),
    bad: pixel('--bad'),
    warn: pixel('--warn'),
    ground: pixel('--surface'),
  };
}

/* Fills left..right, top..bottom of the pixels. ratio: pixels of the screen to one of CSS. */
export function paintPattern (pixels, width, left, top, right, bottom, state, colours, ratio) {
  const small = right - left < 6 * ratio;
  const unit = small ? 1 : Math.max(1, Math.round(2 * ratio));
  for (let y = top; y < bottom; y++)
    for (let x = left; x < right; x++)
      pixels[y * width + x] = pixelFor(state, x - left, y - top, right - left, bottom - top, unit, colours);
}

function pixelFor (state, x, y, w, h, unit, {none, mark, bad, warn, ground}) {
  switch (state) {
  case 'd':
    return Math.floor((x + y) / unit) % 3 === 0 ? bad : none;
  case 's':
    return Math.floor(x / unit) % 2 === 0 && Math.floor(y / unit) % 2 === 0 ? warn : none;
  case 'n':
    return x < 1 || y < 1 || x >= w - 1 || y >= h - 1 ? mark : ground;
  default:
    return none;
  }
}
