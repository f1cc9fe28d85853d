import assert from 'node:assert/strict'
import { createServer, get, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { newPage, openBrowser } from '../../../../test/support/browser.ts'
import { giveProfile } from '../../../../test/support/profile.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { BROWSER_MATRIX } from '../../../../test/support/tools.ts'

const PATHS = ['/', '/agent/the-active', '/check?agent=the-active', '/docs/operating', '/nowhere']

for (const width of [1280, 360]) {
  test(
    `no page shifts its layout after the first paint, at ${width} pixels`,
    BROWSER_MATRIX,
    async (t) => {
      const url = await startServiceWithProfile(t)
      const { page } = await newPage(await openBrowser(t), { width })
      for (const path of PATHS) {
        assert.deepEqual(await movesWhileLoading(page, url + path), [], path)
      }
    },
  )

  test(
    `no page shifts its layout while it arrives in parts, at ${width} pixels`,
    BROWSER_MATRIX,
    async (t) => {
      const url = await startSlowLine(t, await startServiceWithProfile(t))
      const { page } = await newPage(await openBrowser(t), { width })
      for (const path of PATHS) {
        assert.deepEqual(await movesWhileLoading(page, url + path), [], path)
      }
    },
  )
}

async function startServiceWithProfile(t: TestContext): Promise<string> {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada', 'high')
  await giveProfile(service, await claimAgent(service, owner), {
    username: 'the-active',
    displayName: 'Donaudampfschiffahrtselektrizitätenhauptbetriebswerk',
    description: 'w'.repeat(160),
    channels: [{ kind: 'domain', handleOrDomain: `${'long-'.repeat(12)}name.example`, tier: 2 }],
  })
  return service.url
}

/** Layout shifts above 0.001, each with the elements that moved. */
async function movesWhileLoading(page: Page, url: string): Promise<string[]> {
  await page.addInitScript(`globalThis.moves = []
    const note = (entries) => {
      for (const { value, sources } of entries) {
        if (value < 0.001) continue
        const what = sources.map(({ node }) => (node?.outerHTML ?? node?.textContent ?? '').slice(0, 60))
        globalThis.moves.push(value.toFixed(3) + ': ' + what.join(', '))
      }
    }
    globalThis.observer = new PerformanceObserver((list) => note(list.getEntries()))
    globalThis.rest = () => note(globalThis.observer.takeRecords())
    globalThis.observer.observe({ type: 'layout-shift', buffered: true })`)
  await page.goto(url, { waitUntil: 'load' })
  // The observer reports a shift one frame after the paint.
  await page.evaluate(`new Promise((done) => {
    requestAnimationFrame(() => requestAnimationFrame(done))
  }).then(() => globalThis.rest())`)
  return page.evaluate<string[]>('globalThis.moves')
}

/** A proxy that sends each page in twenty parts with time to paint in between. */
async function startSlowLine(t: TestContext, service: string): Promise<string> {
  const line = createServer(({ url = '/', headers }, reply) => {
    const plain = { ...headers, 'accept-encoding': 'identity' }
    get(service + url, { headers: plain }, async (answer) => {
      const { 'content-length': _, ...rest } = answer.headers
      reply.writeHead(answer.statusCode ?? 502, rest)
      const body = Buffer.concat(await answer.toArray())
      if (rest['content-type']?.startsWith('text/html')) await sendInParts(reply, body)
      else reply.end(body)
    })
  })
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    line.closeAllConnections()
    line.close()
  })
  return `http://127.0.0.1:${(line.address() as AddressInfo).port}`
}

async function sendInParts(reply: ServerResponse, body: Buffer): Promise<void> {
  const size = Math.ceil(body.length / 20)
  for (let from = 0; from < body.length; from += size) {
    reply.write(body.subarray(from, from + size))
    await pause(40)
  }
  reply.end()
}
