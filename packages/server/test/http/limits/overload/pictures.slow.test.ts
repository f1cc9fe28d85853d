import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../../test/support/service.ts'
import { signIn } from '../../../../../../test/support/signed-in.ts'
import { scraping } from '../../metrics/support/scrape.ts'
import { answerOf, assertShed, PATIENT } from './support.ts'

/** The responses with status 200. Asserts that all others are 503 of load shedding. */
async function servedOf(responses: readonly Response[]): Promise<Response[]> {
  const served = responses.filter(({ status }) => status === 200)
  for (const response of responses) {
    if (response.status !== 200) assertShed(await answerOf(response))
    else await response.arrayBuffer()
  }
  return served
}

test('previews past the limit are rejected and counted; slots are free again once the others are drawn', async (t) => {
  const { env, scrape } = await scraping()
  const service = await startTestService(t, { ...env, ...PATIENT })
  const owner = await service.operator.addVerifiedOwner()
  const urls: string[] = []
  for (let i = 0; i < 60; i++)
    urls.push(`${service.url}/agent/${await claimAgent(service, owner)}/preview.png`)
  assert.equal((await scrape()).get('countersign_refused_total{reason="previews"}'), 0)

  const responses = await Promise.all(urls.map((url) => fetch(url)))

  const refused = urls.filter((_, i) => responses[i]?.status !== 200)
  assert.equal((await servedOf(responses)).length, urls.length - refused.length)
  assert.ok(refused.length > 0 && refused.length <= 20, `${refused.length} were refused`)
  const after = await scrape()
  assert.equal(after.get('countersign_refused_total{reason="previews"}'), refused.length)
  assert.equal(after.get('countersign_inside{limiter="previews"}'), 0)
  const again = await Promise.all(refused.map((url) => fetch(url)))
  assert.equal((await servedOf(again)).length, refused.length)
})

test('uploads past the limit are rejected and counted; each finished or rejected upload frees its slot', async (t) => {
  const { env, scrape } = await scraping()
  const service = await startTestService(t, { ...env, ...PATIENT })
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const did = await claimAgent(service, owner.ownerId)
  const put = putter(service, did, owner.cookie)
  // Large enough that the others arrive while it is being decoded.
  const colour = { width: 4000, height: 4000, channels: 3, background: '#0f6b3a' } as const
  const png = await sharp({ create: colour }).png().toBuffer()

  const responses = await Promise.all(Array.from({ length: 20 }, () => put(png)))

  const served = await servedOf(responses)
  assert.ok(served.length >= 8 && served.length < 20, `${served.length} were taken`)
  const after = await scrape()
  assert.equal(
    after.get('countersign_refused_total{reason="pictures"}'),
    responses.length - served.length,
  )
  for (let i = 0; i < 10; i++) assert.equal((await put(Buffer.from('no picture'))).status, 415)
  assert.equal((await scrape()).get('countersign_inside{limiter="pictures"}'), 0)
  const small = await sharp(png).resize(8).png().toBuffer()
  const eight = await Promise.all(Array.from({ length: 8 }, () => put(small)))
  assert.equal((await servedOf(eight)).length, 8)
})

function putter({ url, settings }: TestService, did: string, cookie: string) {
  const { origin } = settings.baseUrl
  return (picture: Buffer) =>
    fetch(`${url}/api/account/agents/${did}/avatar`, {
      method: 'PUT',
      headers: { cookie, origin, 'content-type': 'image/png' },
      body: new Uint8Array(picture),
    })
}
