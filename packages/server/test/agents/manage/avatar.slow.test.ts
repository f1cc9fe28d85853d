import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { type Answer, assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import type { TestService } from '../../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { BLUE, colourAt, deflatedZeroes, halves, pngChunk, pngOf, RED } from './test-images.ts'
import { AGENTS, agentIn, showAgent, startWithAgent } from './with-agent.ts'

function put(
  { service, owner, did }: { service: TestService; owner: SignedInOwner; did: string },
  picture: Uint8Array,
  type = 'image/png',
  query = '',
): Promise<Answer> {
  const { origin } = service.settings.baseUrl
  return ask(service, `${AGENTS}/${did}/avatar${query}`, {
    method: 'PUT',
    headers: { cookie: owner.cookie, origin, 'content-type': type },
    body: new Uint8Array(picture),
  })
}

/** The bytes of an agent's avatar. */
async function pictureOf(service: TestService, did: string): Promise<Buffer> {
  const response = await fetch(`${service.url}/api/agents/${did}/avatar.webp`)
  assert.equal(response.status, 200)
  return Buffer.from(await response.arrayBuffer())
}

const redPng = () =>
  sharp({ create: { width: 64, height: 64, channels: 3, background: RED } })
    .png()
    .toBuffer()

test('an uploaded picture becomes a WebP of 512 pixels that the card links to, and can be removed', async (t) => {
  const start = await startWithAgent(t)
  const { service, owner, did } = start
  const { origin } = service.settings.baseUrl
  const drawn = `${origin}/api/agents/${did}/avatar.svg`
  const before = await showAgent(owner, did)
  assert.deepEqual([before.hasAvatar, before.avatarUrl], [false, drawn])
  assertRefused(await ask(service, `/api/agents/${did}/avatar.webp`), 404, 'NOT_FOUND')

  const agent = agentIn(await put(start, await redPng()))

  assert.equal(agent.hasAvatar, true)
  assert.ok(agent.avatarUrl.startsWith(`${origin}/api/agents/${did}/avatar.webp?v=`))
  const card = jsonOf(await ask(service, `/api/agents/${did}/card`))
  assert.equal(card.avatarUrl, agent.avatarUrl)
  const picture = await pictureOf(service, did)
  const { format, width, height } = await sharp(picture).metadata()
  assert.deepEqual([format, width, height], ['webp', 512, 512])
  assert.equal(await colourAt(picture, 256, 256), 'red')

  const without = agentIn(await owner.send('DELETE', `${AGENTS}/${did}/avatar`))
  assert.deepEqual([without.hasAvatar, without.avatarUrl], [false, drawn])
  assertRefused(await ask(service, `/api/agents/${did}/avatar.webp`), 404, 'NOT_FOUND')
  await unchanged(service, () => owner.send('DELETE', `${AGENTS}/${did}/avatar`))
})

test('PNG, JPEG and WebP are accepted, whichever of the three is declared', async (t) => {
  const start = await startWithAgent(t)
  const picture = halves(60, 40, RED, BLUE)
  const made = {
    'image/png': await picture.clone().png().toBuffer(),
    'image/jpeg': await picture.clone().jpeg().toBuffer(),
    'image/webp': await picture.clone().webp({ lossless: true }).toBuffer(),
  }
  for (const declared of Object.keys(made)) {
    for (const bytes of Object.values(made)) {
      agentIn(await put(start, bytes, declared))
      const shown = await pictureOf(start.service, start.did)
      assert.deepEqual(
        [await colourAt(shown, 5, 256), await colourAt(shown, 505, 256)],
        ['red', 'blue'],
      )
    }
  }
})

test('the avatar is served with a sandboxing policy and immutable caching', async (t) => {
  const start = await startWithAgent(t)
  const { service, did } = start
  const { avatarUrl } = agentIn(await put(start, await redPng()))
  const { pathname, search } = new URL(avatarUrl)
  const table: [string, string, string][] = [
    [pathname + search, 'image/webp', 'public, max-age=86400, immutable'],
    [pathname, 'image/webp', 'public, max-age=30'],
    [`${pathname}?v=another`, 'image/webp', 'public, max-age=30'],
    [`/api/agents/${did}/avatar.svg`, 'image/svg+xml', 'public, max-age=30'],
  ]
  for (const [target, type, cacheControl] of table) {
    const answer = await ask(service, target)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type')?.split(';')[0], type)
    assert.equal(answer.headers.get('cache-control'), cacheControl)
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(answer.headers.get('content-security-policy'), "default-src 'none'; sandbox")
    assert.equal(answer.headers.get('access-control-allow-origin'), '*')
    const etag = answer.headers.get('etag') as string
    const again = await ask(service, target, { headers: { 'if-none-match': etag } })
    assert.deepEqual([again.status, again.text], [304, ''])
    const head = await ask(service, target, { method: 'HEAD' })
    for (const name of ['content-length', 'content-type', 'etag', 'cache-control']) {
      assert.equal(head.headers.get(name), answer.headers.get(name), name)
    }
    assertRefused(await ask(service, target, { method: 'DELETE' }), 405, 'METHOD_NOT_ALLOWED')
  }
  assertRefused(await ask(service, `${pathname}?v=1&v=2`), 400, 'VALIDATION_ERROR')
})

test('another picture gets another URL; the same picture again changes nothing', async (t) => {
  const start = await startWithAgent(t)
  const first = agentIn(await put(start, await redPng()))
  const again = await unchanged(start.service, async () => put(start, await redPng()))
  assert.equal(agentIn(again).avatarUrl, first.avatarUrl)
  const other = agentIn(await put(start, await halves(8, 8, RED, BLUE).png().toBuffer()))
  assert.notEqual(other.avatarUrl, first.avatarUrl)
})

test('a revoked agent keeps its avatar, cannot get another, and its avatar can be removed', async (t) => {
  const start = await startWithAgent(t)
  const { service, owner, did } = start
  agentIn(await put(start, await redPng()))
  agentIn(await owner.post(`${AGENTS}/${did}/revoke`))
  await pictureOf(service, did)
  const blue = await halves(8, 8, BLUE, BLUE).png().toBuffer()
  const answer = await unchanged(service, () => put(start, blue))
  assertRefused(answer, 400, 'VALIDATION_ERROR', /revoked/)
  const agent = agentIn(await owner.send('DELETE', `${AGENTS}/${did}/avatar`))
  assert.equal(agent.hasAvatar, false)
})

test('the crop is in pixels after rotation', async (t) => {
  const start = await startWithAgent(t)
  const upright = await halves(80, 40, RED, BLUE).png().toBuffer()
  // Rotated by EXIF: stored with the red half on the left, displayed with it on top.
  const turned = await halves(80, 40, RED, BLUE)
    .withMetadata({ orientation: 6 })
    .jpeg({ quality: 100 })
    .toBuffer()
  const table: [Buffer, string, 'red' | 'blue'][] = [
    [upright, '0,0,40', 'red'],
    [upright, '40,0,40', 'blue'],
    [upright, '70,30,10', 'blue'],
    [turned, '0,0,40', 'red'],
    [turned, '0,40,40', 'blue'],
  ]
  for (const [picture, crop, colour] of table) {
    agentIn(await put(start, picture, 'image/png', `?crop=${crop}`))
    const shown = await pictureOf(start.service, start.did)
    for (const [x, y] of [
      [20, 20],
      [490, 20],
      [20, 490],
      [490, 490],
    ] as const) {
      assert.equal(await colourAt(shown, x, y), colour, `${crop} at ${x},${y}`)
    }
  }
  for (const crop of ['41,0,40', '0,1,40', '0,0,41', '0,0,0', '99999,0,1']) {
    const answer = await put(start, upright, 'image/png', `?crop=${crop}`)
    assertRefused(answer, 400, 'VALIDATION_ERROR', /square/)
  }
  assertRefused(await put(start, turned, 'image/jpeg', '?crop=40,0,40'), 400, 'VALIDATION_ERROR')
  for (const crop of ['', '0,0', '-1,0,5', '0.5,0,5', '0,0,5,5', 'a,b,c', '0,0,100000']) {
    const answer = await put(start, upright, 'image/png', `?crop=${crop}`)
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
})

test('a JPEG is rotated upright, and its location metadata is removed', async (t) => {
  const start = await startWithAgent(t)
  const jpeg = await halves(80, 40, RED, BLUE)
    .withExif({
      IFD0: { Artist: 'Ada Lovelace', Copyright: 'SECRET-IFD0' },
      IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 0/1' },
    })
    .withMetadata({ orientation: 6 })
    .withIccProfile('p3')
    .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf>SECRET-XMP</rdf></x:xmpmeta>')
    .jpeg()
    .toBuffer()
  const { exif, icc, xmp, orientation } = await sharp(jpeg).metadata()
  assert.ok(
    exif?.includes('Ada Lovelace') && icc && xmp?.includes('SECRET-XMP'),
    'all of it is there',
  )
  assert.equal(orientation, 6)

  agentIn(await put(start, jpeg, 'image/jpeg'))

  const shown = await pictureOf(start.service, start.did)
  assert.deepEqual(
    [await colourAt(shown, 256, 10), await colourAt(shown, 256, 500)],
    ['red', 'blue'],
  )
  const after = await sharp(shown).metadata()
  assert.deepEqual(
    [after.exif, after.icc, after.xmp, after.orientation, after.space],
    [undefined, undefined, undefined, undefined, 'srgb'],
  )
  for (const secret of ['Ada', 'SECRET', 'EXIF', 'Exif', 'XMP', 'ICCP']) {
    assert.equal(shown.includes(secret), false, secret)
  }
})

test('hidden and appended data are removed', async (t) => {
  const start = await startWithAgent(t)
  const page = Buffer.from('<html><script>alert(1)</script></html>*/=1;alert(1)//')
  const text = pngChunk('tEXt', Buffer.concat([Buffer.from('Comment\0'), page]))
  const png = await redPng()
  const gif = Buffer.concat([Buffer.from('GIF89a/*'), page])
  const jpeg = await halves(8, 8, RED, RED).jpeg().toBuffer()
  const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0, page.length + 2]), page])
  const polyglots = {
    'after the end of a PNG': Buffer.concat([png, page]),
    'in a text of a PNG': Buffer.concat([png.subarray(0, 33), text, png.subarray(33)]),
    'after the end of a PNG, another picture': Buffer.concat([png, gif]),
    'in a comment of a JPEG': Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2)]),
    'after the end of a JPEG': Buffer.concat([jpeg, page]),
  }
  for (const [name, bytes] of Object.entries(polyglots)) {
    assert.ok(bytes.includes('alert(1)'))
    agentIn(await put(start, bytes))
    const shown = await pictureOf(start.service, start.did)
    for (const part of ['alert', 'script', 'html', 'GIF']) {
      assert.equal(shown.includes(part), false, `${name}: ${part}`)
    }
    assert.equal((await sharp(shown).metadata()).format, 'webp')
  }
})

test('of an animation, the first frame is used', async (t) => {
  const start = await startWithAgent(t)
  const frames = await Promise.all(
    [RED, BLUE].map((colour) => halves(16, 16, colour, colour).png().toBuffer()),
  )
  const moving = await sharp(frames, { join: { animated: true } })
    .webp({ lossless: true, loop: 0, delay: [100, 100] })
    .toBuffer()
  assert.equal((await sharp(moving).metadata()).pages, 2)
  agentIn(await put(start, moving, 'image/webp'))
  const shown = await pictureOf(start.service, start.did)
  assert.equal(await colourAt(shown, 256, 256), 'red')
  const { pages = 1, height } = await sharp(shown).metadata()
  assert.deepEqual([pages, height], [1, 512])
})

test('other formats are rejected, whatever is declared', async (t) => {
  const start = await startWithAgent(t)
  const square = sharp({ create: { width: 8, height: 8, channels: 3, background: RED } })
  const svg = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>',
  )
  const others: Record<string, Buffer> = {
    SVG: svg,
    'SVG after a byte order mark': Buffer.concat([Buffer.from('\ufeff'), svg]),
    GIF: await square.clone().gif().toBuffer(),
    TIFF: await square.clone().tiff().toBuffer(),
    AVIF: await square.clone().avif().toBuffer(),
    PDF: Buffer.from('%PDF-1.7\n1 0 obj <</Type/Catalog>> endobj'),
    HTML: Buffer.from('<!doctype html><script>alert(1)</script>'),
    BMP: Buffer.concat([Buffer.from('BM'), Buffer.alloc(100)]),
    'a RIFF that is a sound': Buffer.from('RIFF\0\0\0\0WAVEfmt '),
    nothing: Buffer.alloc(0),
    'one byte': Buffer.alloc(1),
  }
  for (const [name, bytes] of Object.entries(others)) {
    await t.test(name, async () => {
      for (const type of ['image/png', 'image/jpeg', 'image/webp']) {
        const answer = await unchanged(start.service, () => put(start, bytes, type))
        assertRefused(answer, 415, 'UNSUPPORTED_MEDIA_TYPE', /picture/)
      }
    })
  }
})

test('a picture with another media type or a content encoding is rejected', async (t) => {
  const start = await startWithAgent(t)
  const { service, owner, did } = start
  const png = new Uint8Array(await redPng())
  const { origin } = service.settings.baseUrl
  const declared: Record<string, string>[] = [
    { 'content-type': 'image/svg+xml' },
    { 'content-type': 'image/gif' },
    { 'content-type': 'application/json' },
    { 'content-type': 'application/octet-stream' },
    { 'content-type': 'multipart/form-data; boundary=x' },
    { 'content-type': 'none' },
    {},
    { 'content-type': 'image/png', 'content-encoding': 'gzip' },
  ]
  for (const headers of declared) {
    const answer = await unchanged(service, () =>
      ask(service, `${AGENTS}/${did}/avatar`, {
        method: 'PUT',
        headers: { cookie: owner.cookie, origin, ...headers },
        body: png,
      }),
    )
    assertRefused(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
  }
  const none = await owner.send('PUT', `${AGENTS}/${did}/avatar`)
  assertRefused(none, 415, 'UNSUPPORTED_MEDIA_TYPE')
})

test('a damaged picture is rejected', async (t) => {
  const start = await startWithAgent(t)
  const noise = { type: 'gaussian' as const, mean: 128, sigma: 40 }
  const made = sharp({
    create: { width: 200, height: 200, channels: 3, background: RED, noise },
  })
  const png = await made.clone().png().toBuffer()
  const jpeg = await made.clone().jpeg().toBuffer()
  const webp = await made.clone().webp().toBuffer()
  const flipped = Buffer.from(png)
  flipped.writeUInt8((flipped.readUInt8(60) + 1) % 256, 60)
  const damaged: Record<string, Buffer> = {
    'a PNG cut off': png.subarray(0, png.length / 2),
    'a PNG without its data': pngOf(10, 10),
    'a PNG with a header only': png.subarray(0, 33),
    'a PNG with a byte changed': flipped,
    'a PNG of no width': pngOf(0, 10, pngChunk('IDAT', await deflatedZeroes(10))),
    'a PNG with too little data': pngOf(100, 100, pngChunk('IDAT', await deflatedZeroes(50))),
    'a JPEG cut off': jpeg.subarray(0, jpeg.length / 2),
    'the start of a JPEG': Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]),
    'a WebP cut off': webp.subarray(0, webp.length / 2),
    'the start of a WebP': webp.subarray(0, 12),
  }
  for (const [name, bytes] of Object.entries(damaged)) {
    await t.test(name, async () => {
      const answer = await unchanged(start.service, () => put(start, bytes))
      assertRefused(answer, 400, 'VALIDATION_ERROR', /damaged/)
    })
  }
})

test('a small file with huge dimensions is rejected before it is decoded', async (t) => {
  const start = await startWithAgent(t)
  const { service, did } = start
  const rows = pngChunk('IDAT', await deflatedZeroes(64 << 20))
  const sizes: [number, number][] = [
    [30_000, 30_000],
    [8000, 5001],
    [1, 40_000_001],
  ]
  for (const [width, height] of sizes) {
    const png = pngOf(width, height, rows)
    assert.ok(png.length < 1 << 20)
    const answer = await unchanged(service, () => put(start, png))
    assert.ok([400, 413].includes(answer.status), answer.text)
    if (height !== 40_000_001) {
      assertRefused(answer, 413, 'PAYLOAD_TOO_LARGE', /40 million pixels/)
    }
    assert.equal((await ask(service, `/api/v1/agent/${did}`)).status, 200)
  }
})

test('data beyond the declared dimensions is never decompressed', async (t) => {
  const start = await startWithAgent(t)
  const bomb = await deflatedZeroes(512 << 20)
  const keyword = Buffer.from('Comment\0\0')
  const profile = Buffer.from('icc\0\0')
  const data = pngChunk('IDAT', await deflatedZeroes(11 * 10))
  const before = process.resourceUsage().maxRSS
  for (const chunks of [
    [pngChunk('IDAT', bomb)],
    [pngChunk('zTXt', Buffer.concat([keyword, bomb])), data],
    [pngChunk('iCCP', Buffer.concat([profile, bomb])), data],
  ]) {
    const { status } = await put(start, pngOf(10, 10, ...chunks))
    assert.ok(status === 200 || status === 400, `${status}`)
  }
  const grown = (process.resourceUsage().maxRSS - before) / 1024
  assert.ok(grown < 256, `${grown} MiB more`)
})

test('a body over 5 MiB is rejected, and on other routes one over 16 KiB', async (t) => {
  const start = await startWithAgent(t)
  const { service, owner, did } = start
  const padding = pngChunk(
    'tEXt',
    Buffer.concat([Buffer.from('Comment\0'), Buffer.alloc((5 << 20) - 400, 'x')]),
  )
  const png = await redPng()
  const full = Buffer.concat([png.subarray(0, 33), padding, png.subarray(33)])
  assert.ok(full.length < 5 << 20 && full.length > (5 << 20) - 1000)
  agentIn(await put(start, full))
  const { origin } = service.settings.baseUrl
  const response = await fetch(`${service.url}${AGENTS}/${did}/avatar`, {
    method: 'PUT',
    headers: { cookie: owner.cookie, origin, 'content-type': 'image/png' },
    body: ReadableStream.from(Array.from({ length: 6 }, () => new Uint8Array(1 << 20))),
    duplex: 'half',
  } as RequestInit)
  const { status, headers } = response
  const tooLarge = { status, headers, text: await response.text() }
  assertRefused(tooLarge, 413, 'PAYLOAD_TOO_LARGE', /5 MiB/)
  const patch = await owner.send('PATCH', `${AGENTS}/${did}`, { description: 'x'.repeat(17_000) })
  assertRefused(patch, 413, 'PAYLOAD_TOO_LARGE', /16 KiB/)
})

test('concurrent uploads are processed one after another, and too many are rejected', async (t) => {
  const start = await startWithAgent(t)
  const noise = { type: 'gaussian' as const, mean: 128, sigma: 40 }
  const large = await sharp({
    create: { width: 1200, height: 1200, channels: 3, background: RED, noise },
  })
    .jpeg()
    .toBuffer()
  const { service, owner, did } = start
  const { origin } = service.settings.baseUrl
  const headers = { cookie: owner.cookie, origin, 'content-type': 'image/jpeg' }
  const url = `${service.url}${AGENTS}/${did}/avatar`
  const body = new Uint8Array(large)
  const statuses = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const response = await fetch(url, { method: 'PUT', headers, body })
      await response.arrayBuffer()
      return response.status
    }),
  )
  assert.ok(statuses.includes(200))
  assert.deepEqual(
    [...new Set(statuses)].sort().filter((each) => each !== 503),
    [200],
  )
  agentIn(await put(start, await redPng()))
})
