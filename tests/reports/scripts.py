"""What the tests ask of a document in the browser; each script returns plain values."""

from __future__ import annotations

TABLES = """
return [...document.querySelectorAll('table')].map(table => ({
    caption: table.caption.textContent,
    scopes: [...table.tHead.rows[0].cells].map(cell => cell.scope),
    rows: [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.innerText)),
    firsts: [...table.tBodies[0].rows].map(row => row.cells[0].scope),
}));
"""

OVERFLOW = """
const page = document.documentElement;
return page.scrollWidth - page.clientWidth;
"""
"""CSS pixels by which the document is wider than the viewport."""

STRAY_MARKS = """
const stray = [];
for (const svg of document.querySelectorAll('svg.strip, svg.lookup')) {
    const box = svg.getBoundingClientRect();
    const area = svg.closest('.strips, .scroll');
    const left = box.left - area.getBoundingClientRect().left + area.scrollLeft;
    if (box.width < 60 || box.height < 10) stray.push(['small plot', box.width, box.height]);
    if (left < 0 || left + box.width > area.scrollWidth + 1) stray.push(['outside', left]);
    for (const mark of svg.querySelectorAll('rect, circle, line, text')) {
        const at = mark.getBoundingClientRect();
        const thin = mark.tagName == 'line' || mark.matches('.part');
        const sized = thin ? at.width + at.height > 0 : at.width > 0 && at.height > 0;
        const inside = at.left > box.left - 6 && at.right < box.right + 6
            && at.top > box.top - 6 && at.bottom < box.bottom + 6;
        if (!sized || !inside) stray.push([mark.outerHTML, JSON.stringify(at)]);
    }
}
for (const label of document.querySelectorAll('.labels text')) {
    const [at, box] = [label, label.closest('svg')].map(one => one.getBoundingClientRect());
    if (at.left < box.left || at.top < box.top) stray.push(['cut label', label.textContent]);
}
return stray;
"""
"""Plots and marks that are too small to see, or not where their area can be scrolled to."""

HEIGHTS = """
const middle = mark => {
    const at = mark.getBoundingClientRect();
    return (at.top + at.bottom) / 2;
};
return [...document.querySelectorAll('svg.strip')].map(svg => {
    const lines = [...svg.querySelectorAll('.line')].map(middle);
    return [Math.min(...lines), ...[...svg.querySelectorAll('.dot')].map(middle)];
});
"""
"""Of every strip: of its highest line, then of its dots, CSS pixels downwards."""

CONTRASTS = """
const parse = text => {
    const numbers = text.match(/[\\d.]+/g).map(Number);
    return numbers.length < 4 ? [...numbers, 1] : numbers;
};
const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3]));
const linear = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const light = rgb => 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
const ratio = (ink, ground) => {
    const [dark, bright] = [light(over(parse(ink), ground)), light(ground)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
};
const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement)
        layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
};
const seen = [];
for (const element of document.querySelectorAll('body *:not(title, desc)')) {
    const style = getComputedStyle(element);
    const svg = element.closest('svg');
    if (svg && element.matches('.dot, .part, .none, .bad, .labels text')) {
        const kind = element.getAttribute('class') ?? 'label';
        seen.push([kind, ratio(style.fill, behind(svg.parentElement))]);
    }
    const has_text = [...element.childNodes].some(node => node.nodeType == 3 && node.data.trim());
    if (!svg && has_text) {
        seen.push([element.localName, ratio(style.color, behind(element))]);
    }
}
return seen;
"""
"""Pairs: the kind of a text or mark, and the contrast ratio of WCAG 2 to what is behind it."""
