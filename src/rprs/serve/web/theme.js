// A classic script that runs before the first paint, so that the wrong theme never flashes. Its button is #theme.
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const other = () => (root.dataset.theme === "dark" ? "light" : "dark");
  let chosen = read();

  function read() {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null; // storage may be disabled; the system's theme then applies
    }
  }

  function store(theme) {
    chosen = theme;
    try {
      localStorage.setItem("theme", theme);
    } catch {
      return;
    }
  }

  function apply() {
    root.dataset.theme = ["light", "dark"].includes(chosen) ? chosen : dark.matches ? "dark" : "light";
  }

  function label() {
    const button = document.getElementById("theme");
    button.setAttribute("aria-label", `Use the ${other()} theme`);
    button.title = `Use the ${other()} theme`;
  }

  apply();
  document.addEventListener("DOMContentLoaded", () => {
    const redraw = () => (apply(), label());
    label();
    dark.addEventListener("change", redraw);
    document.getElementById("theme").addEventListener("click", () => {
      store(other());
      redraw();
    });
  });
})();
