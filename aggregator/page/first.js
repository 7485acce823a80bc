/* What waits for no module: the chosen theme, before anything is drawn (without one the browser's preference holds); and the
 * question of the first picture, whose answer comes while the modules do. It is api.js that takes it. */
(() => {
  const recall = (key) => {
    try {
      return localStorage.getItem(`synop.${key}`);
    } catch {
      return null; /* a browser that stores nothing */
    }
  };

  const theme = recall('theme');
  if (theme === 'light' || theme === 'dark')
    document.documentElement.dataset.theme = theme;

  const [view, query] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const params = new URLSearchParams(query);
  if ((view !== '' && view !== 'cluster') || params.has('at'))
    return;
  const words = new URLSearchParams({metric: params.get('metric') || 'cpu_usage.busy'});
  if (params.get('nodes'))
    words.set('node', params.get('nodes'));
  words.set('encoding', recall('crowd') ? 'levels' : 'values');
  const address = `api/v1/now?${words}`;
  const response = fetch(address);
  response.catch(() => {}); /* who takes it is told */
  window.firstAnswer = {address, response};
})();
