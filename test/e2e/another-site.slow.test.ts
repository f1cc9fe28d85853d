import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { openBrowser } from '../support/browser.ts'
import { openAsOwner, untilHeading } from '../support/dashboard.ts'
import { digestOf } from '../support/database-digest.ts'
import { type Cleanup, claimAgent, startTestService } from '../support/service.ts'
import { BROWSER_MATRIX } from '../support/tools.ts'

/**
 * Serves a page on another origin.
 * @returns its URL
 */
async function startEvilSite(t: Cleanup, html: string): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(html)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

test('a page of another site can use no session of an owner', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const did = await claimAgent(service, owner)
  const { page } = await openAsOwner(await openBrowser(t), service, owner)
  await page.goto(`${service.url}/dashboard/agents`)
  await untilHeading(page, 'Agents')
  const before = await digestOf(service)
  const targets = ['/api/agents/token', `/api/account/agents/${did}/revoke`, '/api/session/end']
  const forms = targets.map(
    (path, i) =>
      `<form id="f${i}" method="post" enctype="text/plain" action="${service.url}${path}"><input name='{"a":"' value='"}'></form>`,
  )
  const evil = await startEvilSite(
    t,
    `<!doctype html><title>evil</title>${forms.join('')}<iframe src="${service.url}/dashboard/agents"></iframe>`,
  )
  await page.goto(evil)

  for (const path of targets) {
    const tries = await page.evaluate<string[]>(`Promise.all([
      ['no-cors', 'text/plain'], ['cors', 'application/json'],
    ].map(([mode, type]) => fetch('${service.url}${path}', {
      method: 'POST', mode, credentials: 'include', body: '{}', headers: { 'content-type': type },
    }).then((r) => r.type + r.status, () => 'blocked')))`)
    assert.deepEqual(tries, ['opaque0', 'blocked'], path)
  }
  const read = await page.evaluate<string>(
    `fetch('${service.url}/api/account', { credentials: 'include' }).then((r) => r.text(), () => 'blocked')`,
  )
  assert.equal(read, 'blocked')
  const framed = page.frames().find((frame) => frame !== page.mainFrame())
  assert.doesNotMatch((await framed?.content()) ?? '', /id="root"/, 'the dashboard is in no frame')
  for (let i = 0; i < targets.length; i++) {
    await page.goto(evil)
    const [answer] = await Promise.all([
      page.waitForResponse((each) => each.url() === service.url + targets[i]),
      page.evaluate(`document.getElementById('f${i}').submit()`),
    ])
    assert.ok([403, 415].includes(answer.status()), `${answer.status()}`)
    await page.waitForURL(service.url + targets[i])
  }
  assert.deepEqual(await digestOf(service), before)
  await page.goto(`${service.url}/dashboard/agents`)
  await untilHeading(page, 'Agents')
})
