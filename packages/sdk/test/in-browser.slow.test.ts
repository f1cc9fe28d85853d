import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newPage, openBrowser } from '../../../test/support/browser.ts'
import { installPacked } from '../../../test/support/published.ts'
import { startTestService } from '../../../test/support/service.ts'
import { BROWSER_MATRIX } from '../../../test/support/tools.ts'
import { certifiedAgent } from './support/certified.ts'
import { startPackagePage } from './support/package-page.ts'

const SCRIPT = `async ({ service, pem, did }) => {
  const { Agent, isSignedChallenge, keyFromPem, newKey, Registry, verifyCertificate } =
    await import('@countersign/sdk')
  const registry = new Registry(service)
  const agent = new Agent({ registry, signer: await keyFromPem(pem) })
  const audience = location.origin
  const challenge = 'svc-challenge-v1:' + audience + ':' + 'n'.repeat(22)
  const answer = await agent.answer(challenge, { audience })
  const first = await registry.lookup(did)
  return {
    self: (await agent.whoami()).did,
    signed: await isSignedChallenge(answer),
    verified: (await registry.verify(answer)).verified,
    status: first.certificate.status,
    certified: (await verifyCertificate(await registry.certificate(did), { issuers: [service] })).did,
    revalidated: (await registry.lookup(did)) === first,
    made: (await newKey()).publicKey.length,
    moved: await new Registry(audience, { retries: 0 }).lookup(did).catch((error) => error.code),
  }
}`

test('the published form runs in Chromium, from another origin', BROWSER_MATRIX, async (t) => {
  const service = await startTestService(t)
  const { key, did } = await certifiedAgent(service)
  const { dir } = await installPacked(t, 'sdk')
  const site = await startPackagePage(t, dir, ({ url = '' }, response) => {
    const isMoved = url.startsWith('/api/')
    if (isMoved) response.writeHead(302, { location: service.url + url }).end()
    return isMoved
  })
  const { page, problems } = await newPage(await openBrowser(t))
  await page.goto(site)
  const answers = await page.evaluate(
    `(${SCRIPT})(${JSON.stringify({ service: service.url, pem: key.pem, did })})`,
  )
  assert.deepEqual(answers, {
    self: did,
    signed: true,
    verified: true,
    status: 'active',
    certified: did,
    revalidated: true,
    made: 32,
    moved: 'PROTOCOL',
  })
  assert.deepEqual(problems, [])
})
