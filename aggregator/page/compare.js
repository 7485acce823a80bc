import {el} from './dom.js';

export const view = {
  name: 'compare',
  title: () => 'Compare',
  open (root) {
    root.append(el('h1', {}, 'Compare'));
    return {update () {}, close () {}};
  },
};
