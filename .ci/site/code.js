// Keeps words of code in one line. Browsers break lines behind hyphens, too: of `--queue` they leave `--` in one line
// and put `queue` into the next one.
(() => {
  // Longer words may break, so that they fit the narrowest screen.
  const longest = 30;

  function keepWords(code) {
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    for (const text of texts) {
      if (text.parentElement.className === "site-word") continue;
      // Every second part is a word with a hyphen.
      const parts = text.data.split(/(\S*-\S*)/);
      const isKept = (part, place) => place % 2 === 1 && part.length <= longest;
      // A change without need would call the observer without end.
      if (!parts.some(isKept)) continue;
      const next = text.nextSibling;
      const words = parts.map((part, place) => {
        if (!isKept(part, place)) return part;
        const word = document.createElement("span");
        word.className = "site-word";
        word.textContent = part;
        return word;
      }).filter((part) => part !== "");
      text.replaceWith(...words);
      // DocC colours the `set` of `--set` as a word of bash, in an element of its own.
      const last = words[words.length - 1];
      if (last.className && last.textContent.endsWith("-") && next?.children && !/\s/.test(next.textContent)) {
        last.append(next);
      }
    }
  }

  const keepAll = () => document.querySelectorAll(".code-line, .site-page pre code").forEach(keepWords);
  keepAll();
  // DocC makes its pages by JavaScript, and the next one when somebody follows a link.
  new MutationObserver(keepAll).observe(document.body, { childList: true, subtree: true });
})();
