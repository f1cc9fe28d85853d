/** Ordered, because many browsers also name the ones below them. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\/|\bEdgiOS\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bChrome\/|\bCriOS\/|\bHeadlessChrome\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'a Mac'],
  [/\bLinux\b/, 'Linux'],
]

/**
 * Describes a User-Agent header: `Firefox on Windows`. Only a hint, because clients choose the header freely. Contains no
 * text of the client but a program's name out of letters and digits, so that it cannot become a link in an e-mail.
 * @param userAgent the value of the header
 */
export function describeBrowser(userAgent: string): string {
  const browser = BROWSERS.find(([each]) => each.test(userAgent))?.[1]
  const system = SYSTEMS.find(([each]) => each.test(userAgent))?.[1]
  if (browser === undefined) {
    // Other programs put their own name first.
    return /^[A-Za-z][A-Za-z0-9_-]{0,31}(?=[\s/]|$)/.exec(userAgent)?.[0] ?? 'An unknown program'
  }
  return system === undefined ? browser : `${browser} on ${system}`
}
