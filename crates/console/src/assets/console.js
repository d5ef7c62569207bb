// What moves in the console. Every page works without it.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  root.classList.add("has-script");

  // The theme, without a turn to the server.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.hasAttribute("data-theme-switch") || !event.submitter) return;
    event.preventDefault();
    const theme = event.submitter.value;
    root.dataset.theme = theme;
    document.cookie = `theme=${theme}; path=/; max-age=31536000; samesite=strict`;
    for (const button of all("[data-theme-switch] button")) {
      button.setAttribute("aria-pressed", button.value === theme);
    }
  });

  // Parts that are kept up to date: the page is asked for again, and its marked parts are put in place of those here.
  const page = async (url) => {
    const answer = await fetch(url, { headers: { accept: "text/html" }, credentials: "same-origin" });
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };
  const path = (element, within) => {
    const steps = [];
    for (let at = element; at && at !== within; at = at.parentElement) {
      steps.unshift([...at.parentElement.children].indexOf(at));
    }
    return steps;
  };
  const follow = (steps, within) => steps.reduce((at, step) => at && at.children[step], within);
  const replace = (old, fresh) => {
    if (!fresh || old.innerHTML === fresh.innerHTML) return;
    // Nobody is disturbed: not who types, not who chooses, not who reads a form that was opened.
    if (old.querySelector("dialog[open], .action[open], input:focus, select:focus, textarea:focus")) return;
    const open = all("details[open]", old).map((details) => path(details, old));
    const focus = old.contains(document.activeElement) ? path(document.activeElement, old) : null;
    const scrolled = all(".scroll", old).map((box) => [box.scrollLeft, box.scrollTop]);
    old.replaceChildren(...fresh.childNodes);
    for (const steps of open) {
      const details = follow(steps, old);
      if (details && details.tagName === "DETAILS") details.open = true;
    }
    all(".scroll", old).forEach((box, i) => {
      if (scrolled[i]) box.scrollTo(...scrolled[i]);
    });
    const focused = focus && follow(focus, old);
    if (focused && focused.focus) focused.focus({ preventScroll: true });
    dress(old);
  };
  const EVERY_MS = 2000;
  let failures = 0;
  const refresh = async () => {
    const parts = all("[data-live]");
    if (!document.hidden && parts.length > 0) {
      for (const url of new Set(parts.map((part) => part.dataset.live))) {
        try {
          const fresh = await page(url);
          for (const part of parts) {
            if (part.dataset.live === url) replace(part, fresh.getElementById(part.id));
          }
          failures = 0;
        } catch {
          failures = Math.min(failures + 1, 5);
        }
      }
    }
    // A server that does not answer is asked less and less often.
    setTimeout(refresh, EVERY_MS * 2 ** failures);
  };
  setTimeout(refresh, EVERY_MS);

  const later = (milliseconds, act) => {
    let timer;
    return (...given) => {
      clearTimeout(timer);
      timer = setTimeout(() => act(...given), milliseconds);
    };
  };

  // Answers while one types into a search.
  const find = later(200, async (form) => {
    const url = new URL(form.action);
    url.search = new URLSearchParams(new FormData(form)).toString();
    try {
      const fresh = await page(url);
      const results = document.getElementById("results");
      const found = fresh.getElementById("results");
      if (!results || !found) return;
      results.dataset.live = found.dataset.live;
      replace(results, found);
      history.replaceState(null, "", url);
    } catch {
      // The button still works.
    }
  });
  // Complaints while one types into a form.
  const check = later(300, async (form) => {
    try {
      const answer = await fetch(form.dataset.check, { method: "POST", body: new URLSearchParams(new FormData(form)), credentials: "same-origin" });
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const place = form.querySelector("[data-messages]");
      if (place) place.replaceChildren(...fresh.body.childNodes);
    } catch {
      // Saving complains just as well.
    }
  });
  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (!form) return;
    if (form.hasAttribute("data-search")) find(form);
    if (form.dataset.check) check(form);
  });

  // Fields of the algorithm and the coordination that are chosen, and those that say something.
  document.addEventListener("change", (event) => {
    const form = event.target.form;
    if (!form || !form.classList.contains("editor")) return;
    const value = (selector, within, usual) => within.querySelector(selector)?.value || usual;
    const agreed = value('[name="coordination"]', form, "local");
    for (const field of all("[data-for]", form)) {
      const policy = field.closest(".policy");
      const chosen = policy ? [value('[name$=".algorithm"]', policy, "token-bucket").replace("gcra", "token-bucket"), value('[name$=".coordination"]', policy, agreed), value('[name$=".on_limit"]', policy, "deny")] : [agreed];
      const isChosen = field.dataset.for.split(" ").some((choice) => chosen.includes(choice));
      field.hidden = !isChosen && !value("input, select", field);
    }
  });

  // What is refused is said in the dialog, where it was typed.
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const dialog = form.closest("dialog");
    if (!dialog || form.method !== "post") return;
    event.preventDefault();
    const button = event.submitter;
    button.disabled = true;
    try {
      const answer = await fetch(form.action, { method: "POST", headers: { accept: "text/html" }, body: new URLSearchParams(new FormData(form)), credentials: "same-origin" });
      if (answer.redirected) return location.assign(answer.url);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const complaint = fresh.querySelector("[data-complaint]");
      if (complaint) {
        const place = form.querySelector(".messages") || document.createElement("p");
        place.className = "messages banner bad";
        place.setAttribute("role", "alert");
        place.textContent = complaint.textContent;
        form.querySelector(".buttons").before(place);
        button.disabled = false;
      } else {
        dialog.close();
        document.querySelector("main").replaceChildren(...fresh.querySelector("main").childNodes);
        dress(document);
      }
    } catch {
      form.submit();
    }
  });

  // Actions that unfold are shown as dialogs.
  document.addEventListener("click", (event) => {
    const summary = event.target.closest("[data-dialog] > summary");
    if (!summary) return;
    event.preventDefault();
    const details = summary.parentElement;
    const form = details.querySelector("form");
    const dialog = document.createElement("dialog");
    const title = document.createElement("h2");
    const close = document.createElement("button");
    title.textContent = summary.textContent;
    close.type = "button";
    close.className = "quiet";
    close.textContent = "Cancel";
    close.addEventListener("click", () => dialog.close());
    form.querySelector(".buttons").append(close);
    dialog.setAttribute("aria-label", summary.textContent);
    dialog.append(title, form);
    dialog.addEventListener("close", () => {
      close.remove();
      details.append(form);
      dialog.remove();
      summary.focus();
    });
    details.parentElement.append(dialog);
    dialog.showModal();
  });

  // One cursor through all charts of the same time. What it says stands in the table behind each.
  const point = (share, from, until) => {
    for (const chart of all(".chart[data-from]")) {
      const drawing = chart.querySelector(".drawing");
      const readout = chart.querySelector(".readout");
      let line = drawing.querySelector(".cursor");
      const isSame = share !== null && chart.dataset.from === from && chart.dataset.until === until;
      if (!isSame) {
        if (line) line.remove();
        readout.textContent = "";
        continue;
      }
      if (!line) {
        line = drawing.querySelector(".base").cloneNode();
        line.setAttribute("class", "cursor");
        line.setAttribute("y1", "0");
        drawing.append(line);
      }
      const rows = all("tbody tr", chart);
      const row = rows[Math.round(share * (rows.length - 1))];
      const names = all("thead th", chart).map((head) => head.textContent.toLowerCase());
      const at = `${(100 * rows.indexOf(row)) / Math.max(rows.length - 1, 1)}%`;
      line.setAttribute("x1", at);
      line.setAttribute("x2", at);
      readout.textContent = row ? [...row.children].map((cell, i) => (i === 0 ? cell.textContent : `${names[i]} ${cell.textContent}`)).join(" · ") : "";
    }
  };
  document.addEventListener("pointermove", (event) => {
    const drawing = event.target.closest && event.target.closest(".drawing");
    if (!drawing) return point(null);
    const box = drawing.getBoundingClientRect();
    const chart = drawing.closest(".chart");
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    point(share, chart.dataset.from, chart.dataset.until);
  });

  // Buttons that need a script are shown by it.
  const dress = (within) => {
    for (const button of all("[data-copy]", within)) button.hidden = !navigator.clipboard;
  };
  dress(document);
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });

  // Keys.
  let leader = false;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
    const keys = document.getElementById("keys");
    if (event.key === "/") {
      const search = document.querySelector("[type=search]");
      if (search) {
        event.preventDefault();
        search.focus();
        search.select();
      } else {
        const link = document.querySelector('[data-key="i"]');
        if (link) location.assign(link.href);
      }
    } else if (event.key === "?" && keys) {
      keys.showModal();
    } else if (leader) {
      const link = all("[data-key]").find((link) => link.dataset.key === event.key);
      if (link) location.assign(link.href);
    }
    leader = event.key === "g" && !leader;
  });
})();
