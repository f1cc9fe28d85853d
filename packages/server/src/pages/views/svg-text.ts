/** Characters that XML 1.0 forbids, even escaped (section 2.2). */
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu

/** Removes characters that would make an SVG invalid. */
export function xmlText(text: string): string {
  return text.replaceAll(NOT_XML, '')
}

/** Cuts a text to a number of characters, ending in an ellipsis if it was longer. */
export function clipped(text: string, most: number): string {
  const characters = [...new Intl.Segmenter('en').segment(text)].map(({ segment }) => segment)
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`
}

const NARROW = /[ilj.,:;'|!·() ]/
const WIDE = /[MWmw@%—…]|[\u0530-\u{10ffff}]/u

/**
 * Estimates the width of a text in pixels, in a semi-bold sans serif. The SVG also sets `textLength`, because the
 * reader's font is unknown.
 */
export function textWidth(text: string, fontSize: number): number {
  let ems = 0
  for (const character of text) ems += emsOf(character)
  return Math.ceil(ems * fontSize)
}

function emsOf(character: string): number {
  if (NARROW.test(character)) return 0.34
  if (WIDE.test(character)) return 0.98
  return /[A-ZÀ-ÞΑ-ΩА-Я]/.test(character) ? 0.7 : 0.6
}
