// Runs in the page: counts what can be used, and notes what the keyboard reaches.
const usable = "a[href], button:enabled, input:enabled:not([type=hidden]), select:enabled, textarea:enabled, summary, [tabindex='0']";
const controls = new Set([...document.querySelectorAll(usable)].filter((element) => element.checkVisibility({ visibilityProperty: true })));
const count = controls.size;
controls.delete(document.activeElement);
document.addEventListener("focusin", (event) => controls.delete(event.target));
window.left = () => [...controls].map((element) => element.outerHTML.slice(0, 120));
return count;
