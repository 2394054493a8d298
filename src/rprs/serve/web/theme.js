// A classic script, run before the first paint so that a chosen theme does not flash. Its button is #theme.
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const current = () => root.dataset.theme || (dark.matches ? "dark" : "light");

  function read() {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null; // storage may be switched off; the system's theme then counts
    }
  }

  function keep(theme) {
    try {
      localStorage.setItem("theme", theme);
    } catch {
      return;
    }
  }

  function label() {
    const button = document.getElementById("theme");
    const other = current() === "dark" ? "light" : "dark";
    button.setAttribute("aria-label", `Use the ${other} theme`);
    button.title = `Use the ${other} theme`;
  }

  const chosen = read();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  dark.addEventListener("change", label);
  document.addEventListener("DOMContentLoaded", () => {
    label();
    document.getElementById("theme").addEventListener("click", () => {
      root.dataset.theme = current() === "dark" ? "light" : "dark";
      keep(root.dataset.theme);
      label();
    });
  });
})();
