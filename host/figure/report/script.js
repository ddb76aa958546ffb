"use strict";
(() => {
  // What a point is, beside the pointer or, for the keyboard, beside the point.
  const tip = document.getElementById("tip");
  const show = (target, x, y) => {
    tip.textContent = target.dataset.tip;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - width - 4)) + "px";
    tip.style.top = Math.max(4, y + 12 + height > innerHeight ? y - height - 12 : y + 12) + "px";
  };
  const hide = () => { tip.hidden = true; };
  document.addEventListener("pointermove", (event) => {
    const target = event.target.closest("[data-tip]");
    if (target) show(target, event.clientX, event.clientY); else hide();
  });
  document.addEventListener("focusin", (event) => {
    const target = event.target.closest("[data-tip]");
    if (!target) return;
    const box = target.getBoundingClientRect();
    show(target, box.right, box.bottom);
  });
  document.addEventListener("focusout", hide);

  // Zoom with the buttons or Ctrl and the wheel; drag to move what is zoomed.
  for (const figure of document.querySelectorAll("figure")) {
    const svg = figure.querySelector("svg");
    const whole = svg.viewBox.baseVal;
    const [width, height] = [whole.width, whole.height];
    let view = { x: 0, y: 0, scale: 1 };
    const apply = () => {
      const [w, h] = [width / view.scale, height / view.scale];
      view.x = Math.max(0, Math.min(view.x, width - w));
      view.y = Math.max(0, Math.min(view.y, height - h));
      svg.setAttribute("viewBox", `${view.x} ${view.y} ${w} ${h}`);
      svg.style.cursor = view.scale > 1 ? "grab" : "";
    };
    const zoom = (factor, u = 0.5, v = 0.5) => {
      const scale = Math.max(1, Math.min(view.scale * factor, 40));
      view.x += u * (width / view.scale - width / scale);
      view.y += v * (height / view.scale - height / scale);
      view.scale = scale;
      apply();
    };
    figure.addEventListener("click", (event) => {
      const kind = event.target.dataset.zoom;
      if (kind === "in") zoom(1.6);
      if (kind === "out") zoom(1 / 1.6);
      if (kind === "reset") { view = { x: 0, y: 0, scale: 1 }; apply(); }
    });
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      const [u, v] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
      zoom(Math.exp(-event.deltaY / 300), u, v);
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      if (view.scale > 1 && event.button === 0) svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!svg.hasPointerCapture(event.pointerId)) return;
      const box = svg.getBoundingClientRect();
      view.x -= event.movementX * width / view.scale / box.width;
      view.y -= event.movementY * height / view.scale / box.height;
      apply();
    });
  }
})();
