/* What a viewer chooses for himself, kept in his browser and in no address: theme, time zone. */
import {listeners} from './dom.js';

const changed = listeners();

export function recall (key, otherwise = null) {
  try {
    return localStorage.getItem(`synop.${key}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function remember (key, value) {
  try {
    if (value === null)
      localStorage.removeItem(`synop.${key}`);
    else
      localStorage.setItem(`synop.${key}`, value);
  } catch {
    /* nothing is stored: it holds until the page is closed */
  }
}

export const settings = {
  zone: recall('zone', 'local') === 'utc' ? 'utc' : 'local',
  onChange: changed.add,

  get dark () {
    const {theme} = document.documentElement.dataset;
    return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  },
  setTheme (theme) {
    document.documentElement.dataset.theme = theme;
    remember('theme', theme);
    changed.call('theme');
  },
  setZone (zone) {
    settings.zone = zone;
    remember('zone', zone);
    changed.call('zone');
  },
};

if (typeof matchMedia === 'function')
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => changed.call('theme'));
