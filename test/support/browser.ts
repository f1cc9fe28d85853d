import assert from 'node:assert/strict'
import { after } from 'node:test'
import axe, { type AxeResults } from 'axe-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchBrowser } from './chromium.ts'
import type { Cleanup } from './service.ts'
import { until } from './until.ts'

let shared: Promise<Browser> | null = null

/**
 * The browser that all tests of this process share. What a test opens in it closes when the test ends.
 * @throws Error where Chromium does not run here
 */
export async function openBrowser(t: Cleanup): Promise<Browser> {
  shared ??= launchBrowser()
  const browser = await shared
  t.after(() => Promise.all(browser.contexts().map(closeContext)))
  return browser
}

/** Closes the pages of a context. Requests that a test holds or answers itself may be under way. */
export async function closeContext(context: BrowserContext): Promise<void> {
  await Promise.all(context.pages().map((page) => page.unrouteAll({ behavior: 'ignoreErrors' })))
  await context.close()
}

after(async () => {
  await (await shared)?.close()
})

export interface PageOptions {
  readonly colorScheme?: 'light' | 'dark'
  /** In CSS pixels. */
  readonly width?: number
  /** Device pixels for each CSS pixel. */
  readonly scale?: number
  readonly javaScript?: boolean
}

/** A page in a context of its own, and what went wrong on it. */
export interface WatchedPage {
  readonly page: Page
  /** Errors on the console, exceptions, violations of the policy, and whatever could not be loaded. */
  readonly problems: readonly string[]
}

export async function newPage(
  browser: Browser,
  { colorScheme = 'light', width = 1280, scale = 1, javaScript = true }: PageOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    colorScheme,
    viewport: { width, height: 900 },
    deviceScaleFactor: scale,
    javaScriptEnabled: javaScript,
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  return { page, problems: await watch(page) }
}

async function watch(page: Page): Promise<string[]> {
  const problems: string[] = []
  page.on('console', (message) => {
    // That something could not be loaded is told below, with its address.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      problems.push(message.text())
    }
  })
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText
    if (why !== 'net::ERR_ABORTED') problems.push(`${request.url()}: ${why}`)
  })
  page.on('response', (response) => {
    const { status, url } = { status: response.status(), url: response.url() }
    if (status >= 400 && !response.request().isNavigationRequest())
      problems.push(`${url}: ${status}`)
  })
  await page.addInitScript(`addEventListener('securitypolicyviolation', (event) => {
    console.error('policy violated: ' + event.violatedDirective + ' by ' + event.blockedURI)
  })`)
  return problems
}

/**
 * Waits until all animations and transitions have ended: until then, colors and lengths are those of before, and the end of one may
 * begin others.
 */
const SETTLED = `(async () => {
  const isFinite = ({ effect }) => effect.getComputedTiming().endTime < Infinity
  for (let quiet = 0; quiet < 2; ) {
    await new Promise(requestAnimationFrame)
    const running = document.getAnimations().filter(isFinite)
    quiet = running.length === 0 ? quiet + 1 : 0
    await Promise.allSettled(running.map(({ finished }) => finished))
  }
})()`

/** Asserts that axe finds nothing on a page as it stands. */
export async function assertAccessible(page: Page): Promise<void> {
  await page.evaluate(SETTLED)
  // Once a document: reading it takes as long as looking at a page.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source)
  const violations = await page.evaluate<AxeResults['violations']>(
    "axe.run(document, { resultTypes: ['violations'] }).then((results) => results.violations)",
  )
  const told = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html}\n  ${failureSummary}`).join('\n')}`,
  )
  assert.deepEqual(told, [], page.url())
}

/** Asserts that nothing is wider than the window. */
export async function assertNoSidewaysScroll(page: Page): Promise<void> {
  const width = await page.evaluate<number>('document.documentElement.scrollWidth')
  const window = page.viewportSize()?.width ?? 0
  assert.ok(width <= window, `${page.url()} is ${width} pixels wide in a window of ${window}`)
}

const UNFOLD = "for (const each of document.querySelectorAll('details')) each.open = true"

/** Asserts that a page, unfolded, fits in narrow windows and with text at twice its size, also with both: more than WCAG asks. */
export async function assertFitsScaled(page: Page, url: string): Promise<void> {
  for (const [width, size] of [
    [320, '100%'],
    [320, '200%'],
    [1280, '200%'],
  ] as const) {
    await page.setViewportSize({ width, height: 900 })
    await page.goto(url)
    await page.evaluate(`document.documentElement.style.fontSize = '${size}'`)
    await page.evaluate(UNFOLD)
    await assertNoSidewaysScroll(page)
  }
}

/**
 * Asserts that text at twice its size (WCAG 1.4.4) and a window of 320 pixels (WCAG 1.4.10) neither cut anything off nor push it out of
 * the window. Unfolds what is folded.
 */
export async function assertReflows(page: Page): Promise<void> {
  const before = page.viewportSize() ?? { width: 1280, height: 900 }
  await page.evaluate(UNFOLD)
  for (const { width, fontSize } of [
    { width: 320, fontSize: '100%' },
    { width: 1280, fontSize: '200%' },
    { width: 640, fontSize: '200%' },
  ]) {
    await page.setViewportSize({ width, height: 900 })
    // The page may learn of its new window a moment later. `waitForFunction` would evaluate text in it, which its policy forbids.
    await until(() => page.evaluate<boolean>(`matchMedia('(width: ${width}px)').matches`))
    await page.evaluate(`document.documentElement.style.fontSize = '${fontSize}'`)
    await page.evaluate(SETTLED)
    await assertNoSidewaysScroll(page)
    const outside = await page.evaluate<string[]>(OUTSIDE)
    assert.deepEqual(outside, [], `${page.url()} at ${width} pixels, text at ${fontSize}`)
  }
  await page.evaluate("document.documentElement.style.fontSize = ''")
  await page.setViewportSize(before)
}

/**
 * What is beyond the sides of the window, or cut off, and cannot be scrolled to. Texts may end in an ellipsis, if some of them is left.
 * What is one pixel wide is for screen readers alone.
 */
const OUTSIDE = `(() => {
  const scrolls = (element) =>
    element !== null &&
    (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement))
  const cuts = (element) => {
    const { overflowX, textOverflow, fontSize } = getComputedStyle(element)
    if (!/hidden|clip/.test(overflowX) || element.scrollWidth <= element.clientWidth + 1) return false
    return textOverflow !== 'ellipsis' || element.clientWidth < 3 * parseFloat(fontSize)
  }
  return [...document.body.querySelectorAll('*:not(svg, svg *, input, textarea, select)')]
    .filter((each) => {
      if (!each.checkVisibility()) return false
      const { left, right, width, height } = each.getBoundingClientRect()
      if (width <= 1 || height <= 1) return each.classList.contains('truncate') && height > 1
      const isOutside = left < -1 || right > innerWidth + 1
      return cuts(each) || (isOutside && !scrolls(each.parentElement))
    })
    .map((each) => {
      const widths = []
      for (let box = each; box !== document.body; box = box.parentElement) widths.push(box.clientWidth)
      return [each.outerHTML.slice(0, 120), each.scrollWidth, ...widths].join(' in ')
    })
})()`

/** Arrives at a page in the light and wide, then in the dark and narrow, and looks at it each time. */
export async function assertFit(page: Page, arrive: () => Promise<void>): Promise<void> {
  for (const { colorScheme, width } of [
    { colorScheme: 'light', width: 1280 },
    { colorScheme: 'dark', width: 360 },
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 900 })
    await arrive()
    await assertAccessible(page)
    await assertNoSidewaysScroll(page)
  }
  await assertReflows(page)
}

/** Presses Tab until the focus is on something of that name, which may come after the page. */
export async function tabTo(page: Page, name: RegExp): Promise<void> {
  const deadline = performance.now() + 30_000
  for (let presses = 0; presses < 80 || performance.now() < deadline; presses++) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate<string>(
      "(document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '').trim()",
    )
    if (name.test(focused)) return
  }
  assert.fail(`the keyboard does not reach ${name}`)
}
