// Returns what is wrong with the present page for people who use a keyboard, a screen reader or a
// small difference of colours. Each complaint is one line: the rule, then the element.
// The rules follow WCAG 2.2, levels A and AA, as far as a program can judge them.

const complaints = [];
const seen = new Set();
const complain = (rule, element) => {
  const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
  const line = `${rule}: <${element.tagName.toLowerCase()} class="${element.getAttribute("class") ?? ""}"> ${text}`;
  if (!seen.has(line)) complaints.push(line);
  seen.add(line);
};
const all = (selector) => [...document.querySelectorAll(selector)];
const isShown = (element) =>
  element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && element.getClientRects().length > 0;

// The name that a screen reader tells, in the order of the accessible name computation.
function nameOf(element) {
  const by = element.getAttribute("aria-labelledby");
  if (by) return by.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();
  const label = element.getAttribute("aria-label");
  if (label?.trim()) return label.trim();
  if (element.labels?.length) return [...element.labels].map((one) => one.textContent).join(" ").trim();
  if (element.tagName === "IMG") return (element.getAttribute("alt") ?? "").trim();
  const images = [...element.querySelectorAll("img")].map((image) => image.alt).join(" ");
  return `${element.textContent ?? ""} ${images}`.trim() || (element.getAttribute("title") ?? "").trim();
}

const INTERACTIVE = "a[href], button, input, select, textarea, summary, [tabindex]:not([tabindex='-1'])";

function names() {
  for (const element of all(INTERACTIVE)) {
    if (isShown(element) && !nameOf(element)) complain("no name", element);
  }
  for (const image of all("img")) if (!image.hasAttribute("alt")) complain("image without alt", image);
  for (const canvas of all("canvas")) {
    const told = canvas.closest("[aria-hidden='true'], [role='img'], [role='application']");
    if (!told) complain("canvas that is not told", canvas);
  }
  for (const region of all("[role='region'], section[aria-labelledby], nav, [role='application'], dialog[open]")) {
    if (!nameOf(region) || (region.tagName === "NAV" && !region.getAttribute("aria-label"))) complain("region without name", region);
  }
}

const ROLES = new Set([
  "alert", "application", "cell", "columnheader", "combobox", "img", "listbox", "option", "region", "row", "rowgroup",
  "search", "status", "table",
]);
const INSIDE = { cell: "row", columnheader: "row", row: "table", rowgroup: "table", option: "listbox" };

function roles() {
  for (const element of all("[role]")) {
    const role = element.getAttribute("role");
    if (!ROLES.has(role)) complain(`unknown role ${role}`, element);
    const outer = INSIDE[role];
    if (outer && !element.parentElement?.closest(`[role='${outer}']`)) complain(`role ${role} outside of ${outer}`, element);
  }
  const ids = new Map();
  for (const element of all("[id]")) ids.set(element.id, (ids.get(element.id) ?? 0) + 1);
  for (const [id, count] of ids) if (count > 1) complain(`id ${id} ${count} times`, document.getElementById(id));
  for (const attribute of ["aria-labelledby", "aria-controls", "aria-activedescendant", "for"]) {
    for (const element of all(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(/\s+/)) {
        if (!document.getElementById(id)) complain(`${attribute} names no element (${id})`, element);
      }
    }
  }
  for (const item of all("li")) if (!/^(UL|OL)$/.test(item.parentElement.tagName)) complain("li outside of a list", item);
  for (const head of all("table th")) if (!head.hasAttribute("scope")) complain("th without scope", head);
  for (const inner of all("a[href] a, a[href] button, button a, button button, label button")) complain("nested control", inner);
}

function structure() {
  const root = document.documentElement;
  if (!root.lang) complain("page without lang", root);
  if (!document.title.trim()) complain("page without title", root);
  for (const [selector, what] of [["main", "main"], ["h1", "h1"]]) {
    if (all(selector).length !== 1) complain(`${all(selector).length} elements ${what}, want 1`, root);
  }
  let before = 0;
  for (const head of all("h1, h2, h3, h4")) {
    if (!isShown(head) || head.closest("dialog")) continue;
    const level = Number(head.tagName[1]);
    if (before && level > before + 1) complain(`heading of level ${level} after ${before}`, head);
    before = level;
  }
}

function parse(colour) {
  const found = /rgba?\(([^)]+)\)/.exec(colour);
  if (!found) return [0, 0, 0, 0];
  const [r, g, b, a = 1] = found[1].split(/[ ,/]+/).map(Number);
  return [r, g, b, a];
}

const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);

function groundOf(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
}

function luminance(colour) {
  const [r, g, b] = colour.slice(0, 3).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast() {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !isShown(element) || /^(SCRIPT|STYLE|OPTION|NOSCRIPT)$/.test(element.tagName)) continue;
    if (element.closest(".unseen")) continue;
    const style = getComputedStyle(element);
    const ground = groundOf(element);
    const [a, b] = [luminance(over(parse(style.color), ground)), luminance(ground)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5) - 0.005) complain(`contrast ${ratio.toFixed(2)}`, element);
  }
}

function focus() {
  for (const element of all("[tabindex]")) if (element.tabIndex > 0) complain("tabindex above 0", element);
  for (const hidden of all("[aria-hidden='true']")) {
    for (const inner of hidden.querySelectorAll(INTERACTIVE)) complain("focus inside of a hidden part", inner);
  }
  // Controls are at least 24 pixels high and wide; links within text are excepted.
  for (const control of all("button, input, select, nav a")) {
    if (!isShown(control)) continue;
    const box = control.getBoundingClientRect();
    const label = control.closest("label")?.getBoundingClientRect();
    if (Math.max(box.height, label?.height ?? 0) < 23.5 || Math.max(box.width, label?.width ?? 0) < 23.5) {
      complain(`control of ${Math.round(box.width)} x ${Math.round(box.height)} pixels`, control);
    }
  }
  // What overflows can be scrolled by keyboard.
  for (const box of all("main *")) {
    const style = getComputedStyle(box);
    if (!/auto|scroll/.test(style.overflowX + style.overflowY)) continue;
    const scrolls = box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1;
    if (scrolls && box.tabIndex < 0 && !box.querySelector(INTERACTIVE)) complain("scrolls by mouse only", box);
  }
}

for (const rule of [names, roles, structure, contrast, focus]) rule();
return complaints;
