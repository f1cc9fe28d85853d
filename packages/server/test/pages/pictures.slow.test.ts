import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { assertRefused } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { giveProfile } from '../../../../test/support/profile.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'

const RED = '#a8201a'
const AMBER = '#8a5200'
const GREEN = '#0f6b3a'

async function pictureOf(service: TestService, target: string): Promise<Buffer> {
  const response = await fetch(service.url + target)
  assert.equal(response.status, 200)
  return Buffer.from(await response.arrayBuffer())
}

test('a badge shows the certificate status in text and colour, and follows a change within its cache time', async (t) => {
  const service = await startTestService(t, { SERVICE_NAME: 'Guild & Co' })
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  await giveProfile(service, did, { username: 'shopper', displayName: 'Shopper' })
  const badge = async (style: string) => {
    const answer = await ask(service, `/agent/${did}/badge.svg${style}`)
    assert.equal(answer.headers.get('content-type'), 'image/svg+xml')
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=30')
    assert.match(
      answer.headers.get('content-security-policy') ?? '',
      /^default-src 'none'.*sandbox$/,
    )
    assert.equal(answer.headers.get('access-control-allow-origin'), '*')
    return answer.text
  }
  assert.match(await badge(''), /Guild &amp; Co.*active · C/)
  assert.equal(await badge('?style=flat'), await badge(''))
  assert.match(await badge('?style=seal'), /Shopper.*Active · Guild &amp; Co/)
  for (const style of ['', '?style=seal']) assert.ok((await badge(style)).includes(GREEN))

  for (const [status, colour] of [
    ['suspended', AMBER],
    ['revoked', RED],
  ] as const) {
    await setStatus(service, did, status)
    for (const style of ['?style=flat', '?style=seal']) {
      const svg = await badge(style)
      assert.match(svg, new RegExp(status, 'i'))
      assert.ok(svg.includes(colour) && !svg.includes(GREEN), svg)
      assert.doesNotMatch(svg, /\bactive\b/i)
    }
  }
})

test('a badge is self-contained, and an unknown style is refused', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  for (const style of ['flat', 'seal']) {
    const { text: svg } = await ask(service, `/agent/${did}/badge.svg?style=${style}`)
    assert.doesNotMatch(
      svg.replace('xmlns="http://www.w3.org/2000/svg"', ''),
      /https?:|url\(|href|<script|<style/,
    )
    const { format, width = 0 } = await sharp(Buffer.from(svg)).metadata()
    assert.equal(format, 'svg')
    assert.ok(width > 60)
  }
  const answer = await ask(service, `/agent/${did}/badge.svg?style=round`)
  assertRefused(answer, 400, 'VALIDATION_ERROR', /flat or seal/)
  assertRefused(await ask(service, `/agent/${'1'.repeat(24)}/badge.svg`), 404, 'NOT_FOUND')
})

test('a preview image has 1200 by 630 pixels and differs by status', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const first = await ask(service, `/agent/${did}/preview.png`)
  assert.equal(first.headers.get('content-type'), 'image/png')
  const headers = { 'if-none-match': first.headers.get('etag') as string }
  assert.equal((await ask(service, `/agent/${did}/preview.png`, { headers })).status, 304)

  const edges: number[][] = []
  for (const status of ['active', 'suspended', 'revoked'] as const) {
    if (status !== 'active') await setStatus(service, did, status)
    const png = await pictureOf(service, `/agent/${did}/preview.png`)
    const { width, height, format } = await sharp(png).metadata()
    assert.deepEqual([format, width, height], ['png', 1200, 630])
    edges.push([
      ...(await sharp(png).extract({ left: 4, top: 4, width: 1, height: 1 }).raw().toBuffer()),
    ])
  }
  assert.deepEqual(
    edges.map((rgb) => rgb.slice(0, 3)),
    [
      [0xf6, 0xf5, 0xf1],
      [0xfc, 0xef, 0xd9],
      [0xa8, 0x20, 0x1a],
    ],
  )
})

test('a preview image is rendered for names in any script', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const plain = await pictureOf(service, `/agent/${did}/preview.png`)
  const names = [
    '東京の代理人',
    'وكيل',
    '🤖',
    '🤖🤖🤖 Shopper',
    'Счётчик',
    'Ďábel 你好',
    'a\u0301\u0301\u0301\u0301',
    '</span><script>x</script>',
    '\u200b.\u200b',
    'W'.repeat(64),
    'ffi ﬁ ǆ ẞ',
  ]
  for (const displayName of names) {
    await t.test(displayName, async () => {
      await giveProfile(service, did, { displayName })
      const png = await pictureOf(service, `/agent/${did}/preview.png`)
      assert.equal((await sharp(png).metadata()).width, 1200)
    })
  }
  await giveProfile(service, did, { displayName: '東京の代理人' })
  const fallback = await pictureOf(service, `/agent/${did}/preview.png`)
  assert.ok(fallback.equals(plain), 'the name that the agent would have without one')
})

test('concurrent requests render each preview image once or are refused with 503', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const dids: string[] = []
  for (let i = 0; i < 20; i++) dids.push(await claimAgent(service, owner))
  const targets = dids.map((did) => `${service.url}/agent/${did}/preview.png`)
  const answers = await Promise.all(targets.map(async (url) => (await fetch(url)).status))
  assert.ok(answers.includes(200))
  assert.ok(
    answers.every((status) => status === 200 || status === 503),
    answers.join(),
  )
  const [did = ''] = dids
  const same = Array.from({ length: 100 }, () => pictureOf(service, `/agent/${did}/preview.png`))
  const [one, ...others] = await Promise.all(same)
  assert.ok(others.every((each) => one?.equals(each)))
})

test('a QR code is an inert SVG with the URL of the certificate', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const before = await ask(service, `/agent/${did}/qr.svg`)
  assert.equal(before.headers.get('content-type'), 'image/svg+xml')
  assert.match(before.text, /^<svg/)
  await giveProfile(service, did, { username: 'shopper' })
  const after = await ask(service, `/agent/${did}/qr.svg`)
  assert.equal(after.text, before.text, 'the DID, whatever the username')
})
