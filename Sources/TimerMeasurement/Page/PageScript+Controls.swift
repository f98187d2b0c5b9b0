/// What the reader does.
extension PageScript {
    static let controls = #"""
        const pictures = { overview, curves, time: overTime, drift: overDrift, price: overPrice };
        const places = [...document.querySelectorAll(".picture")];
        const tip = document.getElementById("tip");
        const drawn = new Map();

        // Hidden pictures are drawn as wide as the one that is always in sight: paper shows them all.
        const draw = () => {
          const width = Math.max(280, Math.round(places[0].clientWidth));
          hideTip();
          for (const place of places) {
            const { root, spots, height, weight, label } = pictures[place.dataset.picture](width, place.dataset.load);
            const names = [...new Set(spots.map(spot => spot.entry.name))];
            const view = svg("svg", { viewBox: `0 0 ${width} ${Math.max(60, height)}`, role: "img", tabindex: 0,
              "aria-label": label + ": " + (names.join(", ") || "no row is chosen") + ". Arrow keys read the values." }, root);
            if (!names.length) view.append(text(0, 40, "No row is chosen, or none has such values."));
            const cursor = svg("circle", { r: 7, class: "cursor", visibility: "hidden" });
            view.append(cursor);
            place.replaceChildren(view);
            drawn.set(place, { view, spots, weight, cursor, width, at: -1 });
            listen(place);
          }
        };

        function hideTip() {
          tip.classList.remove("shown");
          for (const [place, picture] of drawn) {
            place.classList.remove("lit");
            picture.cursor.setAttribute("visibility", "hidden");
            for (const group of picture.view.querySelectorAll(".lit")) group.classList.remove("lit");
          }
        }

        const show = (place, spot) => {
          hideTip();
          const { view, cursor, width } = drawn.get(place), box = view.getBoundingClientRect(), scale = box.width / width;
          place.classList.add("lit");
          for (const group of view.querySelectorAll(".series")) {
            group.classList.toggle("lit", group.dataset.case === spot.entry.name);
          }
          cursor.setAttribute("cx", spot.x);
          cursor.setAttribute("cy", spot.y);
          cursor.setAttribute("visibility", "visible");
          const name = document.createElement("b");
          name.textContent = spot.entry.name;
          tip.replaceChildren(name, ...spot.lines.map(string => {
            const part = document.createElement("div");
            part.textContent = string;
            return part;
          }));
          const x = box.left + spot.x * scale, y = box.top + spot.y * scale;
          const right = x + 16 + tip.offsetWidth <= innerWidth;
          tip.style.left = Math.max(4, right ? x + 16 : x - 16 - tip.offsetWidth) + "px";
          tip.style.top = Math.max(4, Math.min(innerHeight - tip.offsetHeight - 4, y - tip.offsetHeight / 2)) + "px";
          tip.classList.add("shown");
        };

        function listen(place) {
          const picture = drawn.get(place), { view, spots } = picture;
          const near = event => {
            const box = view.getBoundingClientRect(), scale = box.width / picture.width;
            const x = (event.clientX - box.left) / scale, y = (event.clientY - box.top) / scale;
            let best = -1, least = Infinity;
            spots.forEach((spot, i) => {
              const distance = (spot.x - x) ** 2 + (picture.weight * (spot.y - y)) ** 2;
              if (distance < least) [best, least] = [i, distance];
            });
            if (best < 0) return;
            picture.at = best;
            show(place, spots[best]);
          };
          view.addEventListener("pointermove", near);
          view.addEventListener("pointerdown", near);
          view.addEventListener("pointerleave", hideTip);
          view.addEventListener("blur", hideTip);
          view.addEventListener("keydown", event => {
            if (event.key === "Escape") return hideTip();
            const along = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            const across = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (!spots.length || !(along || across)) return;
            event.preventDefault();
            if (picture.at < 0) picture.at = 0;
            else if (along) picture.at = Math.max(0, Math.min(spots.length - 1, picture.at + along));
            else {
              // The next case, as far along as this one.
              const cases = [...new Set(spots.map(spot => spot.entry))];
              const from = cases.indexOf(spots[picture.at].entry);
              const to = cases[(from + across + cases.length) % cases.length];
              const first = entry => spots.findIndex(spot => spot.entry === entry);
              const count = spots.filter(spot => spot.entry === to).length;
              picture.at = first(to) + Math.min(count - 1, picture.at - first(cases[from]));
            }
            show(place, spots[picture.at]);
          });
        }

        const press = (button, on) => button.setAttribute("aria-pressed", String(on));
        const legend = document.getElementById("legend");
        const kinds = { backend: "backends", peer: "peers", reference: "references" };
        const present = Object.keys(kinds).filter(kind => data.rows.some(row => row.kind === kind));
        const legendButton = (string, action) => {
          const button = document.createElement("button");
          button.type = "button";
          button.append(string);
          button.addEventListener("click", () => { action(); refresh(); });
          legend.append(button);
          return button;
        };
        for (const row of data.rows) {
          const button = legendButton(row.name, () => state.rows.delete(row.name) || state.rows.add(row.name));
          button.dataset.row = row.name;
          const sample = svg("svg", { width: 26, height: 14, viewBox: "0 0 26 14", class: look(row), "aria-hidden": "true" },
            svg("path", { d: "M0 7H26", class: "line" }), marker(row, 13, 7, 4));
          button.prepend(sample);
        }
        if (present.length > 1) {
          for (const kind of present) {
            const names = data.rows.filter(row => row.kind === kind).map(row => row.name);
            legendButton("all " + kinds[kind], () => {
              const all = names.every(name => state.rows.has(name));
              for (const name of names) all ? state.rows.delete(name) : state.rows.add(name);
            }).dataset.kind = kind;
          }
        }
        const refresh = () => {
          for (const button of legend.children) {
            if (button.dataset.row !== undefined) press(button, state.rows.has(button.dataset.row));
            else press(button, data.rows.every(row => row.kind !== button.dataset.kind || state.rows.has(row.name)));
          }
          for (const button of document.querySelectorAll("[data-curve]")) press(button, button.dataset.curve === state.curve);
          for (const button of document.querySelectorAll("[data-show-load]")) {
            press(button, button.dataset.showLoad === state.load);
          }
          for (const section of document.querySelectorAll("section.load")) {
            section.classList.toggle("off", state.load !== "" && section.dataset.load !== state.load);
          }
          draw();
        };
        for (const button of document.querySelectorAll("[data-curve]")) {
          button.addEventListener("click", () => { state.curve = button.dataset.curve; refresh(); });
        }
        for (const button of document.querySelectorAll("[data-show-load]")) {
          button.addEventListener("click", () => { state.load = button.dataset.showLoad; refresh(); });
        }
        document.getElementById("theme").addEventListener("click", () => {
          const root = document.documentElement;
          const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
          root.dataset.theme = now === "dark" ? "light" : "dark";
        });
        let lastWidth = 0;
        addEventListener("resize", () => {
          const width = places[0].clientWidth;
          if (width === lastWidth) return;
          lastWidth = width;
          draw();
        });
        addEventListener("scroll", hideTip, { passive: true });
        refresh();
        document.documentElement.dataset.ready = "true";
        window.pageReady = true;
        """#
}
