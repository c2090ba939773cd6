(() => {
  const faults = [];
  const width = window.innerWidth;
  const page = document.documentElement;
  if (page.scrollWidth > width) faults.push(`the page is ${page.scrollWidth} wide`);
  const rgb = (text) => text.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const part = (it) => (it /= 255) <= 0.03928 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (element) => {
    for (let it = element; it; it = it.parentElement) {
      const color = rgb(getComputedStyle(it).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script")) continue;
    const what = node.data.trim().slice(0, 40);
    const style = getComputedStyle(element);
    const color = rgb(element.closest("svg") ? style.fill : style.color);
    const [one, other] = [light(color), light(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) faults.push(`${what}: contrast ${contrast.toFixed(2)}`);
    const size = parseFloat(style.fontSize);
    const least = matchMedia("print").matches ? 9 : 12;
    if (size < least) faults.push(`${what}: letters of ${size} px`);
    const scrolled = !matchMedia("print").matches && element.closest(".scroll");
    // A space at the end of a line hangs over it.
    const range = document.createRange();
    range.selectNodeContents(node);
    const { left, right } = range.getBoundingClientRect();
    if (!scrolled && (right > width + 6 || left < -1)) faults.push(`${what}: from ${left} to ${right}`);
  }
  const pictures = [...document.querySelectorAll("svg")];
  if (pictures.some((it) => it.getBoundingClientRect().width < 200)) faults.push("a picture is too small");
  for (const box of document.querySelectorAll(".scroll"))
    if (box.getBoundingClientRect().right > width + 1) faults.push("a table is wider than the page");
  return faults.slice(0, 9);
})()
