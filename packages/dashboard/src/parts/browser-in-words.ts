/** In this order: each of the later ones is named by the earlier ones too. */
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
 * What a browser says of itself, for people: `Firefox on Windows`. It may say what it likes, so that it is a hint for
 * its owner and nothing more.
 * @param userAgent User-Agent, as it came
 */
export function browserInWords(userAgent: string): string {
  const browser = BROWSERS.find(([each]) => each.test(userAgent))?.[1]
  const system = SYSTEMS.find(([each]) => each.test(userAgent))?.[1]
  if (browser === undefined) {
    // No browser: a program, whose name comes first.
    return userAgent.split(/[\s/]/, 1)[0] || 'A program without a name'
  }
  return system === undefined ? browser : `${browser} on ${system}`
}
