/* Sets the chosen theme before anything is drawn; without one the browser's preference holds. Not a module: those run later. */
(() => {
  try {
    const theme = localStorage.getItem('synop.theme');
    if (theme === 'light' || theme === 'dark')
      document.documentElement.dataset.theme = theme;
  } catch {
    /* a browser that stores nothing */
  }
})();
