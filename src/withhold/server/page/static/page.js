// The page works without this file. It adds: dropping a file, live progress, a live slider.
"use strict";

const drop = document.querySelector("[data-drop]");
if (drop) {
  const input = drop.querySelector("input[type=file]");
  const over = (on) => (event) => { event.preventDefault(); drop.classList.toggle("over", on); };
  drop.addEventListener("dragenter", over(true));
  drop.addEventListener("dragover", over(true));
  drop.addEventListener("dragleave", over(false));
  drop.addEventListener("drop", (event) => {
    over(false)(event);
    if (event.dataTransfer.files.length) { input.files = event.dataTransfer.files; send(); }
  });
  input.addEventListener("change", () => { if (input.files.length) send(); });
  const send = () => {
    drop.querySelector("[role=status]").textContent = "Sending " + input.files[0].name + " …";
    drop.requestSubmit();
  };
}

const running = document.querySelector("[data-events]");
if (running) {
  const clock = (s) => s >= 60 ? Math.floor(s / 60) + " min " + Math.round(s % 60) + " s" : Math.round(s) + " s";
  const stages = running.querySelector("[data-stages]");
  const spoken = running.querySelector("[role=status]");
  const source = new EventSource(running.dataset.events);
  const line = (tag, text, kind) => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  source.addEventListener("progress", (event) => {
    const job = JSON.parse(event.data);
    stages.replaceChildren(...job.progress.map((stage) => {
      const box = line("div", "", "stage");
      const head = line("p", "");
      const left = stage.left === null ? "" : "about " + clock(stage.left) + " left";
      const done = stage.total ? stage.done.toLocaleString("en") + " of " + stage.total.toLocaleString("en") : "";
      head.append(line("b", stage.name), line("span", done), line("span", left, "soft"));
      const bar = document.createElement("progress");
      bar.setAttribute("aria-label", stage.name);
      if (stage.total) { bar.max = stage.total; bar.value = stage.done; }
      box.append(head, bar);
      return box;
    }));
    const now = job.state === "queued" ? "Waiting for its turn." : job.progress.length ? "Working: " + job.progress[0].name + "." : "Starting.";
    if (spoken.textContent !== now) spoken.textContent = now;
  });
  source.addEventListener("end", () => { source.close(); location.reload(); });
}

const slider = document.querySelector("[data-budget]");
if (slider) {
  const points = JSON.parse(slider.dataset.points);
  const part = document.querySelector("[data-part]");
  const output = slider.closest("form").querySelector("output");
  slider.closest("form").querySelector("button").hidden = true;
  let wanted = 0;
  slider.addEventListener("input", async () => {
    const mine = ++wanted;
    output.textContent = points[slider.value];
    slider.setAttribute("aria-valuetext", points[slider.value] + " points above guessing");
    const answer = await fetch(slider.dataset.budget + "?budget=" + slider.value);
    const text = await answer.text();
    if (answer.ok && mine === wanted) part.innerHTML = text;
  });
}
