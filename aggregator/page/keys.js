/* Keys of the whole page, and the list of them. Views add theirs while they are open. */
import {el, replace} from './dom.js';

export function createKeys () {
  const all = new Map();

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || takes(event.target, event.key))
      return;
    const key = all.get(event.key);
    if (key && !document.querySelector('dialog[open]')) {
      event.preventDefault();
      key.act(event);
    }
  });

  return {
    /* add ({'/': ['Search a metric', f]}) -> a function that takes them away */
    add (keys) {
      for (const [key, [help, act]] of Object.entries(keys))
        all.set(key, {help, act});
      return () => {
        for (const [key, [, act]] of Object.entries(keys))
          if (all.get(key)?.act === act)
            all.delete(key);
      };
    },
    help: () => showHelp(all),
  };
}

/* Keys belong to whoever types, arrows to the slider they move, Space and Enter to what they press. */
function takes (target, key) {
  const own = key === ' ' || key === 'Enter' ? 'button, a, summary, ' : '';
  return target instanceof Element && target.closest(`${own}input, textarea, select, [contenteditable]`) !== null;
}

const NAMES = {' ': 'Space', 'ArrowLeft': '←', 'ArrowRight': '→'};

function showHelp (all) {
  const dialog = el('dialog', {'class': 'help', 'aria-labelledby': 'help-title'});
  const rows = [...all].map(([key, {help}]) => el('tr', {}, el('th', {scope: 'row'}, el('kbd', {}, NAMES[key] ?? key)), el('td', {}, help)));
  replace(dialog,
    el('h2', {id: 'help-title'}, 'Keys'),
    el('table', {'class': 'keys'}, el('tbody', {}, rows)),
    el('button', {'class': 'button', type: 'button', autofocus: true, on: {click: () => dialog.close()}}, 'Close'));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
