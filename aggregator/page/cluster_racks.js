/* The dialog in which a viewer says which rack each node is in. It is kept in his browser, and in the address while short. */
import {el, replace, setText} from './dom.js';
import {parseRacks} from './racks.js';
import {recall, remember} from './settings.js';

const ADDRESS_MOST = 1500; /* characters that a link may have for it */

export function racksOf (params) {
  const text = params.racks ?? recall('racks') ?? '';
  return {text, ...parseRacks(text)};
}

export function editRacks (context, nodes, done) {
  const area = el('textarea', {id: 'racks-text', rows: '9', spellcheck: 'false', 'class': 'mono', 'aria-describedby': 'racks-help racks-said'});
  area.value = racksOf(context.params).text;
  const said = el('p', {id: 'racks-said', role: 'status', 'class': 'small'});
  const file = el('input', {type: 'file', id: 'racks-file', 'class': 'unseen', tabindex: '-1', accept: '.txt,.csv,.tsv,text/*', on: {change: async () => {
    area.value = (await file.files[0]?.text() ?? area.value).slice(0, 2000000);
    check();
  }}});
  file.setAttribute('aria-label', 'A file of racks');

  function check () {
    const {errors, rackOf} = parseRacks(area.value);
    const names = new Set();
    let without = 0;
    for (const node of nodes) {
      const rack = rackOf(node);
      if (rack === null)
        without++;
      else
        names.add(rack);
    }
    setText(said, errors[0] ?? `${names.size} racks; ${without} of ${nodes.length} nodes in none.`);
    said.classList.toggle('is-bad', errors.length > 0);
    area.setAttribute('aria-invalid', String(errors.length > 0));
    return errors.length === 0;
  }

  function take () {
    if (!check()) {
      area.focus();
      return;
    }
    const text = area.value.trim();
    remember('racks', text || null);
    context.change({racks: text && text.length <= ADDRESS_MOST ? text : null});
    dialog.close();
    done();
  }

  const button = (text, act) => el('button', {type: 'button', 'class': 'button', on: {click: act}}, text);
  const dialog = el('dialog', {'aria-labelledby': 'racks-title', on: {close: () => dialog.remove()}});
  area.addEventListener('input', check);
  replace(dialog,
    el('h2', {id: 'racks-title'}, 'Racks'),
    el('div', {'class': 'field'}, el('label', {'for': 'racks-text'}, 'Which nodes are in which rack, a line each'), area),
    el('dl', {id: 'racks-help', 'class': 'racks-help small'},
      el('div', {}, el('dt', {'class': 'mono'}, 'rack1: n[1-32],login*'), el('dd', {}, 'the nodes of a rack')),
      el('div', {}, el('dt', {'class': 'mono'}, 'n17 rack2'), el('dd', {}, 'a node and its rack, as tables have it')),
      el('div', {}, el('dt', {'class': 'mono'}, '{r*}n*'), el('dd', {}, 'the rack is a part of the node’s name'))),
    said, file,
    el('div', {'class': 'actions'}, button('Show', take), button('Load a file', () => file.click()), button('Cancel', () => dialog.close())));
  document.body.append(dialog);
  check();
  dialog.showModal();
  area.focus();
}
