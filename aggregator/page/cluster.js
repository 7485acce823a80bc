import {el} from './dom.js';

export const view = {
  name: 'cluster',
  title: () => 'Cluster',
  open (root) {
    root.append(el('h1', {}, 'Cluster'));
    return {update () {}, close () {}};
  },
};
