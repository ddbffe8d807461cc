// Keeps the page up to date by server-sent events. Without this file the pages work all the same.
"use strict";

// Shows times in the time zone of the browser: whole ones in their text, ages in their hint.
function localize(root) {
  const digits = (number, count) => String(number).padStart(count, "0");
  for (const time of root.querySelectorAll("time[datetime]")) {
    const date = new Date(time.dateTime);
    if (isNaN(date)) continue;
    const zone = date.toLocaleTimeString("en", { timeZoneName: "short" }).split(" ").pop();
    const day = [date.getFullYear(), digits(date.getMonth() + 1, 2), digits(date.getDate(), 2)].join("-");
    let clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => digits(part, 2)).join(":");
    if (time.dateTime.includes(".")) clock += "." + digits(date.getMilliseconds(), 3);
    const text = `${day} ${clock} ${zone}`;
    if (time.classList.contains("moment")) time.textContent = text;
    else time.title = text;
  }
  // The fields of times: the server writes and reads UTC.
  for (const field of root.querySelectorAll("input[type=datetime-local]")) {
    const zone = field.parentElement.querySelector("span");
    zone.textContent = zone.textContent.replace(" (UTC)", "");
    const date = new Date(field.getAttribute("value") + "Z");
    if (isNaN(date)) continue;
    field.setAttribute("value", local(date));
  }
}

// A time as such a field has it, in the time zone of the browser.
function local(date) {
  return new Date(date - date.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}
localize(document);

document.addEventListener("formdata", ({ target, formData }) => {
  if (!target.querySelector("input[type=datetime-local]")) return;
  for (const name of ["from", "to"]) {
    const date = new Date(formData.get(name) || "");
    if (!isNaN(date)) formData.set(name, date.toISOString().replace(".000Z", "Z"));
  }
});

(() => {
  const main = document.querySelector("main[data-live]");
  if (!main) return;
  const sign = document.getElementById("live");
  let events = null;
  // A button that changed between its press and its release would get no click, so what comes meanwhile waits.
  let isPressed = false;
  let latest = null;

  // Makes one tree like another, and leaves alone what is equal, what a person types and opens, and where the focus is.
  function update(old, fresh) {
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) return old.replaceWith(fresh.cloneNode(true));
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    if (old.isEqualNode(fresh)) return;
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    const wanted = [...fresh.childNodes];
    const keyed = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
    wanted.forEach((child, index) => {
      const known = child.id ? keyed.get(child.id) : null;
      let present = old.childNodes[index];
      if (known && known !== present) {
        old.insertBefore(known, present || null);
        present = known;
      }
      if (!present) old.append(child.cloneNode(true));
      else if (!known && (child.id || present.id) && child.id !== present.id) old.insertBefore(child.cloneNode(true), present);
      else update(present, child);
    });
    while (old.childNodes.length > wanted.length) old.lastChild.remove();
  }

  function say(text, isTrouble) {
    sign.textContent = text;
    sign.classList.toggle("trouble", isTrouble);
  }

  function listen() {
    if (events) return;
    const page = location.pathname + location.search;
    events = new EventSource("/events?page=" + encodeURIComponent(page));
    events.addEventListener("open", () => say("live", false));
    // The browser tries again by itself, unless the server has refused the stream.
    events.addEventListener("error", ({ target }) => {
      if (target !== events) return;
      if (target.readyState === EventSource.CLOSED) ask(target.url);
      else say("not live: workerpool web does not answer", true);
    });
    events.addEventListener("page", (event) => {
      latest = event.data;
      show();
    });
  }

  // Asks why the stream was refused, says so, and listens again when it is not refused any more.
  function ask(address) {
    const refused = events;
    const stop = new AbortController();
    const later = (text, seconds) => {
      if (events !== refused) return;
      say(text, true);
      setTimeout(() => events === refused && ask(address), seconds * 1000);
    };
    fetch(address, { cache: "no-store", signal: stop.signal }).then(({ ok, status }) => {
      stop.abort();
      if (events !== refused) return;
      if (ok) {
        rest();
        listen();
      } else if (status === 401) later("not live: logged out; load the page to log in", 10);
      else if (status === 503) later("not live: workerpool web is busy", 3);
      else later(`not live: workerpool web answers ${status}`, 10);
    }, () => later("not live: workerpool web does not answer", 3));
  }

  // Shows the latest page, unless the mouse or a finger is down.
  function show() {
    if (isPressed || latest === null) return;
    const fresh = new DOMParser().parseFromString(latest, "text/html");
    latest = null;
    localize(fresh);
    for (const id of ["main", "pool-line"]) {
      const part = fresh.getElementById(id);
      const old = document.getElementById(id);
      if (part && old) update(old, part);
    }
    main.dispatchEvent(new CustomEvent("updated"));
  }

  function press(isDown) {
    isPressed = isDown;
    // The click comes after the release.
    if (!isDown) setTimeout(show);
  }

  function rest() {
    if (events) events.close();
    events = null;
  }

  // Only the main button clicks; the release of another one may go to a menu of the browser.
  addEventListener("pointerdown", ({ button }) => press(button === 0), true);
  for (const end of ["pointerup", "pointercancel", "dragend"]) addEventListener(end, () => press(false), true);
  // That of the window. A press also takes the focus from other elements, whose events the window sees only if it
  // captures them.
  addEventListener("blur", ({ target }) => target === window && press(false));
  document.addEventListener("visibilitychange", () => (document.hidden ? rest() : listen()));
  addEventListener("pagehide", rest);
  addEventListener("pageshow", () => document.hidden || listen());
  if (!document.hidden) listen();
})();
