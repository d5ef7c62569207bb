// Runs in the page: texts whose contrast is below AA, and what is wider than the page.
const parse = (colour) => {
  const numbers = colour.match(/[\d.]+/g).map(Number);
  return { rgb: numbers.slice(0, 3), alpha: numbers.length > 3 ? numbers[3] : 1 };
};
const over = (top, bottom) => top.rgb.map((part, i) => part * top.alpha + bottom[i] * (1 - top.alpha));
const ground = (element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const layer = parse(getComputedStyle(at).backgroundColor);
    layers.push(layer);
    if (layer.alpha === 1) break;
  }
  return layers.reverse().reduce((bottom, layer) => over(layer, bottom), [255, 255, 255]);
};
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const faint = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const element = node.parentElement;
  if (!node.textContent.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
  if (element.closest(".unseen, .skip, :disabled")) continue;
  const style = getComputedStyle(element);
  const colour = element.namespaceURI.endsWith("svg") ? style.fill : style.color;
  const below = ground(element);
  const size = parseFloat(style.fontSize);
  const needed = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
  const has = contrast(over(parse(colour), below), below);
  if (has < needed) faint.push(`${element.tagName}.${element.className.baseVal ?? element.className} "${node.textContent.trim().slice(0, 30)}" ${has.toFixed(2)}`);
}
const wide = [];
// A phone shows a page that is too wide smaller, so that its own width grows; this one does not.
const width = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth > width) {
  for (const element of document.querySelectorAll("body *")) {
    if (!element.closest(".scroll") && element.getBoundingClientRect().right > width + 1) wide.push(`${element.tagName}.${element.className.baseVal ?? element.className}`);
  }
  wide.push(`${document.documentElement.scrollWidth} of ${width}`);
}
return { faint, wide };
