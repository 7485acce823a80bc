import {el} from './dom.js';

export const view = {
  name: 'jobs',
  title: () => 'Jobs',
  open (root) {
    root.append(el('h1', {}, 'Jobs'));
    return {update () {}, close () {}};
  },
};
