// The search in the bar above each page: over search.json, which .ci/site/finish writes. All words of the query must occur.
// A title or a page's heading that is the query comes first, then titles that begin with it, contain it, descriptions,
// texts.
(() => {
  const form = document.querySelector("#site-bar form");
  const field = form.elements.q;
  const list = document.getElementById("site-results");
  const base = form.dataset.base;
  const most = 12;
  let index;
  let selected = -1;

  // Fetched with the first search.
  const load = () => (index ??= fetch(`${base}/search.json`).then((answer) => answer.json()));

  function rank(entry, words) {
    const title = entry.t.toLowerCase();
    const about = entry.a.toLowerCase();
    const text = (entry.x ?? "").toLowerCase();
    const headings = (entry.h ?? []).map((heading) => heading.toLowerCase());
    let sum = 0;
    for (const word of words) {
      if (title === word || headings.includes(word)) sum += 100;
      else if (title.startsWith(word)) sum += 40;
      else if (title.includes(word)) sum += 20;
      else if (about.includes(word)) sum += 8;
      else if (text.includes(word)) sum += 4;
      else return 0;
    }
    // Pages before symbols, above all for several words, and short names before long ones that contain them.
    const isPage = entry.x !== undefined;
    return sum + (isPage ? 10 * words.length ** 2 : 0) - Math.min(title.length, 90) / 20;
  }

  // The text around the first word, where the description does not have it.
  function excerpt(entry, word) {
    const place = (entry.x ?? "").toLowerCase().indexOf(word);
    if (place < 0 || entry.a.toLowerCase().includes(word)) return entry.a;
    const start = Math.max(0, place - 50);
    return `${start > 0 ? "…" : ""}${entry.x.slice(start, place + 90)}…`;
  }

  function row(entry, word, number) {
    const item = document.createElement("li");
    item.role = "option";
    item.id = `site-result-${number}`;
    const link = document.createElement("a");
    link.href = `${base}/${entry.p}`;
    link.tabIndex = -1;
    const title = document.createElement("b");
    title.textContent = entry.t;
    const kind = document.createElement("span");
    kind.textContent = [entry.k, entry.m].filter(Boolean).join(" · ");
    const about = document.createElement("small");
    about.textContent = excerpt(entry, word);
    link.append(title, kind, about);
    item.append(link);
    return item;
  }

  function close() {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  function select(number) {
    const rows = [...list.querySelectorAll('[role="option"]')];
    if (!rows.length) return;
    selected = (number + rows.length) % rows.length;
    rows.forEach((item, place) => item.setAttribute("aria-selected", String(place === selected)));
    rows[selected].scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", rows[selected].id);
  }

  async function search() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return close();
    const asked = field.value;
    const entries = await load();
    // The answer to an older query is not shown.
    if (asked !== field.value) return;
    const best = entries
      .map((entry) => [rank(entry, words), entry])
      .filter(([points]) => points > 0)
      .sort((one, other) => other[0] - one[0])
      .slice(0, most);
    list.replaceChildren(...best.map(([, entry], number) => row(entry, words[0], number)));
    if (!best.length) {
      const none = document.createElement("li");
      none.textContent = "Nothing found";
      list.append(none);
    }
    selected = -1;
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
    select(0);
  }

  field.addEventListener("input", search);
  field.addEventListener("focus", () => field.value && search());
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (list.hidden) return;
    if (event.key === "ArrowDown") select(selected + 1);
    else if (event.key === "ArrowUp") select(selected - 1);
    else return;
    event.preventDefault();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelectorAll("a")[Math.max(selected, 0)]?.click();
  });
  document.addEventListener("click", (event) => form.contains(event.target) || close());

  // A link to a search: /?q=words
  const query = new URLSearchParams(location.search).get("q");
  if (query) {
    field.value = query;
    field.focus();
  }
})();
